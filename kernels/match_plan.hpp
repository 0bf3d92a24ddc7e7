// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Everything a matcher needs for frames of one size: the templates grouped by size, each group a
// one-to-many problem with its variants and plan, and the memory they share.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

#include "bank.hpp"
#include "prefilter.hpp"
#include "runtime.hpp"

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

  Status enqueue(const MatrixView& frame, Stream stream);

  /// After waiting for the stream.
  void collect(const std::vector<BankTemplate>& bank, std::vector<Peak>& peaks) const;

  const char* kernel() const { return groups_.empty() ? "" : groups_.front().correlate->name; }
  ElementType type() const { return type_; }
  Size frame() const { return frame_; }

 private:
  /// Templates of one size.
  struct Group {
    MatchProblem problem;
    const Variant *correlate, *window_sums, *normalise, *peaks, *refine;
    std::unique_ptr<PlanState> state;
    std::vector<std::uint32_t> members;  ///< positions in the bank
    Block rights, templates, right_sums;
    std::size_t first;  ///< its first template's place in the results
  };

  Status add_group(const std::vector<BankTemplate>& bank, std::vector<std::uint32_t> members,
                   const std::string& kernel, Stream stream);
  Status allocate();
  Status run(Group& group, Buffers buffers);
  /// Template `index`'s peaks, whose results lie at `place`.
  void append_peaks(std::uint32_t index, const BankTemplate& t, std::size_t place,
                    std::vector<Peak>& peaks) const;
  Size most_read() const;             ///< pixels of a frame, for any place of the region
  std::int64_t upload_pitch() const;  ///< bytes from row to row of upload_
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
  Block upload_;     ///< what is read of a frame in host memory
  std::optional<Prefilter> prefilter_;
  Block products_, scores_, window_sums_, window_squares_, candidates_;
  Block workspace_, side_workspace_;
  /// The results in one block, so that one copy brings them: peaks, then their counts.
  struct Results {
    std::size_t peaks = 0;
    std::size_t bytes(std::size_t counts) const {
      return peaks * sizeof(RefinedPeak) + counts * sizeof(std::uint32_t);
    }
    RefinedPeak* peaks_in(const Block& block) const { return block.as<RefinedPeak>(); }
    std::uint32_t* counts_in(const Block& block) const {
      return reinterpret_cast<std::uint32_t*>(peaks_in(block) + peaks);
    }
  };
  Results results_;
  Block device_results_, host_results_;
};

}  // namespace xcorr
