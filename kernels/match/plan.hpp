// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Everything a matcher needs for frames of one size: the templates grouped by size, each group a
// one-to-many problem with its variants and plan, and the memory they share.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

#include "device/runtime.hpp"
#include "match/bank.hpp"
#include "match/frame_reader.hpp"
#include "match/prefilter.hpp"
#include "stages/score.hpp"

namespace xcorr {

/// Correlate variants' names by size of the templates: width, height.
using KernelOfSize = std::map<std::pair<int, int>, std::string>;

/// What `count` templates of a size are to the stages.
MatchProblem problem_of_group(ElementType type, Size region, Size size, int count,
                              const MatchSettings& settings);

class MatchPlan {
 public:
  /// Sizes that `kernels` does not name go by the settings.
  static Result<MatchPlan> make(const Device& device, const std::vector<BankTemplate>& bank,
                                ElementType type, Size frame, const MatchSettings& settings,
                                Stream stream, const KernelOfSize& kernels = {});

  /// Takes over what needs no new plan; false when the settings differ in more.
  bool adopt(const MatchSettings& settings);

  /// Takes the live templates as they are by now.
  Status enqueue(const MatrixView& frame, Stream stream);

  /// After waiting for the stream.
  void collect(std::vector<Peak>& peaks) const;

  /// Enqueues reading what the last frame scored, a value for each place, row by row. For plans of
  /// one template whose kernel is of the correlate stage: others keep no scores.
  Status read_scores(std::vector<float>& scores, Stream stream) const;
  /// After waiting for the stream: the scores as closeness.
  void to_closeness(std::vector<float>& scores) const;

  const MatchSettings& settings() const { return settings_; }
  /// Where a template of that size can lie in the frame.
  Rect places(Size size) const;
  const char* kernel() const { return groups_.empty() ? "" : groups_.front().kernel->name; }
  ElementType type() const { return type_; }
  Size frame() const { return frame_; }

 private:
  /// Templates of one size.
  struct Group {
    MatchProblem problem;
    const Variant* kernel;  ///< of the search stage, or of correlate: then the next ones follow it
    const Variant *normalise = nullptr, *peaks = nullptr;
    const Variant *window_sums, *refine, *right_sums;
    std::unique_ptr<PlanState> state, refine_state;
    /// A template of the group.
    struct Member {
      std::uint32_t index;  ///< in the bank
      std::shared_ptr<const LiveTemplate> live;
      std::uint64_t version = 0;  ///< of it, that `templates` has
    };
    std::vector<Member> members;
    Block rights, templates, sums;
    std::optional<Prefilter> prefilter;  ///< of a template
    std::size_t first;                   ///< its first template's place in the results

    /// What is multiplied with, see Buffers::rights.
    const void* operands() const {
      return (problem.correlate.type == ElementType::f32 ? rights : templates).data();
    }
    bool is_fused() const { return kernel->stage == Stage::search; }
    bool kernel_refines() const { return kernel->refines && kernel->refines(problem); }
    /// The stages beside the kernel's.
    std::vector<std::pair<Stage, const Variant**>> stages() {
      std::vector<std::pair<Stage, const Variant**>> all = {{Stage::window_sums, &window_sums},
                                                            {Stage::refine, &refine},
                                                            {Stage::right_sums, &right_sums}};
      if (!is_fused()) {
        all.push_back({Stage::normalise, &normalise});
        all.push_back({Stage::peaks, &peaks});
      }
      return all;
    }
    /// Calls f for each batch of rights, with `buffers` for it.
    template <class F>
    Status for_batches(Buffers& buffers, F f) const {
      const int count = problem.correlate.rights;
      for (int first = 0; first < count; first += problem.batch) {
        buffers.first_right = first;
        buffers.right_count = std::min(problem.batch, count - first);
        buffers.new_left = first == 0;
        if (Status s = f(); !s.ok()) return s;
      }
      return {};
    }
  };

  Status add_group(const std::vector<BankTemplate>& bank, std::span<const std::uint32_t> members,
                   const std::string& kernel);
  /// Enqueues what a group needs of its templates: all that it has, or what has changed since.
  Status load(Group& group, const std::vector<BankTemplate>& bank, Stream stream);
  Status refresh(Group& group, Stream stream);
  Status load_live(Group& group, int member, Stream stream);
  Status load_pixels(Group& group, int member, const void* pixels, Memory memory, Stream stream);
  /// After their pixels.
  Status sum_up(Group& group, int first, int count, Stream stream);
  Status allocate();
  Status run(Group& group, Buffers buffers);
  /// Both leave candidates, the first one also peaks where the kernel refines.
  Status search(Group& group, Buffers buffers);
  Status search_in_stages(Group& group, Buffers buffers);
  const RightSums& sums_of(const Group& group, std::size_t member) const;
  Closeness closeness_of(const Group& group, std::size_t member) const;
  void append_peaks(const Group& group, std::size_t member, std::vector<Peak>& peaks) const;
  Result<Buffers> left_buffers(const MatrixView& frame, Stream stream, std::int64_t& pitch);

  Device device_;
  const Runtime* runtime_ = nullptr;
  ElementType type_ = ElementType::u8;
  Size frame_;
  MatchSettings settings_;
  Rect region_;  ///< searched, clipped to the frame
  std::vector<Group> groups_;
  std::size_t matched_ = 0;  ///< templates in all groups

  SideStream side_;  ///< window sums run beside the correlation
  FrameReader reader_;
  std::optional<Prefilter> prefilter_;
  Block products_, scores_, window_sums_, window_squares_, candidates_, counts_;
  Block workspace_, side_workspace_;
  /// The results, in host memory that the device writes: peaks, then sums and counts of peaks of
  /// each template.
  struct Results {
    std::size_t peaks = 0, templates = 0;
    std::size_t bytes() const {
      return peaks * sizeof(RefinedPeak) + templates * (sizeof(RightSums) + sizeof(std::uint32_t));
    }
    RefinedPeak* peaks_in(const Block& block) const { return block.as<RefinedPeak>(); }
    RightSums* sums_in(const Block& block) const {
      return reinterpret_cast<RightSums*>(peaks_in(block) + peaks);
    }
    std::uint32_t* counts_in(const Block& block) const {
      return reinterpret_cast<std::uint32_t*>(sums_in(block) + templates);
    }
  };
  Results results_;
  Block host_results_;
};

}  // namespace xcorr
