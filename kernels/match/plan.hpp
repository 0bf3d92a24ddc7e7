// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Everything a matcher needs for frames of one size: the templates in groups, the memory that
// the groups share, and their results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/match.hpp>

#include "match/edges.hpp"
#include "match/frame_reader.hpp"
#include "match/group.hpp"
#include "match/similarity.hpp"
#include "match/widener.hpp"
#include "match/window_reader.hpp"

namespace xcorr {

/// Planes of a picture that settings read, and that they compare.
constexpr int planes_read(const MatchSettings& settings) {
  return is_in_color(settings.match_on) ? color_planes : 1;
}
constexpr int planes_of(const MatchSettings& settings) {
  return is_on_edges(settings.match_on) ? edge_planes : planes_read(settings);
}
/// What they are compared by. Which contrast edges have is written into them.
constexpr Method method_of(const MatchSettings& settings) {
  return is_on_edges(settings.match_on) ? Method::orientation : settings.method;
}
constexpr ContrastRule contrast_of(const MatchSettings& settings) {
  if (is_on_edges(settings.match_on)) return {};
  return {settings.polarity, settings.min_contrast};
}

/// Names of kernels.
using KernelOfGroup = std::map<GroupKey, std::string>;

/// `count` templates of a group as a problem for the stages.
MatchProblem problem_of_group(ElementType type, Size region, const GroupKey& group, int count,
                              const MatchSettings& settings);

/// What a plan writes for the device itself to read, of each slot.
struct TemplateResults {
  const RefinedPeak* peaks;  ///< max_peaks
  const std::uint32_t* peak_counts;
  // Of a coarse search instead, see stage::SelectCandidates; else null.
  const CoarseKey* best;
  const std::uint8_t* searched;
};

/// Where a template of that size can lie in the region.
Rect places_in(const Rect& region, Size size);

class MatchPlan {
 public:
  /// Groups that are not in `kernels` use the kernel in the settings.
  /// \param memory  of the results; on the device, only what is enqueued behind reads them
  /// \param is_coarse  the best places of cells are wanted, not peaks, if all groups can
  /// \param pruning_bound  of each group's peaks
  /// \param overhang  the share of a template's pixels that count which may lie outside the frame;
  /// below 0: matches lie inside as they are, with what does not count
  /// \param has_edges  what is compared is edges already, of bank and frames: the latter as Rows
  static Result<MatchPlan> make(const Device& device, const std::vector<BankTemplate>& bank,
                                ElementType type, Size frame, const MatchSettings& settings,
                                Stream stream, const KernelOfGroup& kernels = {},
                                Memory memory = Memory::host, bool is_coarse = false,
                                const stage::Search::PruningBound& pruning_bound = {},
                                double overhang = -1, bool has_edges = false);
  /// How far the searched region is extended to each side for it.
  Size padding() const { return padding_; }

  /// For windows of the size of the settings' search region, each with one template of the bank,
  /// which all have one size and mask. Errors: as of make(); unsupported where only windows one by
  /// one can be searched.
  static Result<MatchPlan> make_for_windows(const Device& device,
                                            const std::vector<BankTemplate>& bank, Size frame,
                                            const MatchSettings& settings, Stream stream);

  /// Adopts settings that need no new plan; false if others differ, too.
  bool adopt(const MatchSettings& settings);

  /// Uses the current state of the live templates. After an error nothing reads the frame.
  Status enqueue(const MatrixView& frame, Stream stream);
  /// The same for what is compared, of the searched region.
  Status enqueue(const Rows& rows, Stream stream);

  /// The same for the windows that begin there, inside the frame: the first one's template is the
  /// bank's first. For plans for windows.
  Status enqueue(const MatrixView& frame, std::span<const PartCorner> corners, Stream stream);

  /// Enqueues that from now on only those templates of the bank are searched, the others have no
  /// peaks. For plans whose results are in device memory.
  Status select(const std::vector<bool>& wanted, Stream stream);

  /// Whether it makes a coarse search instead of peaks.
  bool is_coarse_search() const { return best_.data(); }
  /// Of a coarse search, the same by marks alone, which what reads the coarse search goes by: all
  /// are searched, so what is enqueued stays the same.
  Status mark(const std::vector<bool>& wanted, Stream stream);

  /// A template in the order of the results.
  struct Slot {
    std::uint32_t index;  ///< in the bank
    Size size;
  };
  std::vector<Slot> slots() const;
  TemplateResults results() const;

  /// An estimate of how long a frame takes.
  double seconds() const { return seconds_; }

  /// Call after waiting for the stream.
  void collect(std::vector<Peak>& peaks) const;

  /// Enqueues a frame's scores, one for each position, instead of a match. For plans of one
  /// template whose kernel is of the correlate stage: others keep no scores. After an error nothing
  /// reads the frame.
  Status score(const MatrixView& frame, const ScoreMap& scores, Stream stream);
  /// Call after waiting for the stream: converts such scores to similarity.
  void to_similarity(std::vector<float>& scores) const;

  const MatchSettings& settings() const { return settings_; }
  /// Where a template of that size can lie in the frame.
  Rect places(Size size) const;
  /// Whether that one fits into the searched region.
  bool fits(std::uint32_t index) const;
  const char* kernel() const { return groups_.empty() ? "" : groups_.front().kernel(); }
  ElementType type() const { return type_; }
  Size frame() const { return frame_; }
  Size region() const { return region_.size(); }

 private:
  MatchPlan(const Device& device, ElementType type, Size frame, const MatchSettings& settings);
  Status add_group(const std::vector<BankTemplate>& bank, const std::vector<std::uint32_t>& members,
                   const MatchProblem& problem, const std::string& kernel);
  /// Allocates what all groups share, and loads the templates.
  Status finish(const std::vector<BankTemplate>& bank, Stream stream, Memory memory = Memory::host);
  Status allocate(Memory memory);
  /// Of the templates, and what makes those of frames.
  Status make_edges(const std::vector<BankTemplate>& bank, Stream stream);
  Status make_lanes();
  /// Where all groups can be searched coarsely, makes the memory for it.
  Status prepare_coarse_search(Stream stream);
  /// Enqueues the making of templates' edges that have changed.
  Status refresh(Stream stream);
  Status enqueue_groups(const Result<Rows>& rows, Stream stream);
  Status enqueue_windows(const MatrixView& frame, Stream stream);
  Status enqueue_packed_windows(Stream stream);
  Status enqueue_scores(const MatrixView& frame, const ScoreMap& scores, Stream stream);
  Status enqueue_lanes(const MatchFrame& frame, Stream stream);
  /// Waits after an error: the device may still be reading the frame.
  Status settled(Status status, Stream stream);
  TemplateSums sums_of(std::size_t group, std::size_t member) const;
  Similarity similarity_of(std::size_t group, std::size_t member) const;
  /// Those that are confirmed, in any order.
  std::vector<RefinedPeak> refined_peaks(std::size_t group, std::size_t member) const;
  void append_peaks(std::size_t group, std::size_t member, std::vector<Peak>& peaks) const;
  /// The searched part of a frame where kernels read it.
  Result<Rows> read(const MatrixView& frame, Stream stream);
  Size padded_region() const {
    return {region_.width + 2 * padding_.width, region_.height + 2 * padding_.height};
  }
  Status make_padding(Stream stream);
  /// Where a group needs it.
  Status make_widener();
  /// Copies what has been read to where zeros lie round it.
  Result<Rows> pad(const Rows& rows, Stream stream);
  /// Of the padded region.
  Overhang overhang() const;
  /// With the settings that what has been read is matched by; enqueues its widening.
  Result<MatchFrame> searched(const Rows& rows, Stream stream);
  /// Where the region begins that a template is searched in.
  PartCorner origin_of(std::size_t member) const;
  MatchResults results_of(std::size_t group) const;

  Device device_;
  const Runtime* runtime_ = nullptr;
  ElementType type_ = ElementType::u8;
  Size frame_;
  MatchSettings settings_;
  Rect region_;  ///< searched, clipped to the frame
  double overhang_ = -1;
  Size padding_;
  Block padded_;
  std::vector<TemplateGroup> groups_;
  std::vector<std::size_t> firsts_;  ///< of each group, its first template in the results
  std::size_t matched_ = 0;          ///< templates in all groups
  double seconds_ = 0;

  /// Groups of a lane run one after the other, lanes side by side: the kernels of small groups
  /// leave most of a GPU idle.
  struct Lane {
    SideStream own;   ///< not of the first lane, which is the caller's stream
    SideStream side;  ///< window sums run beside the correlation
    MatchScratch scratch;
  };
  std::vector<Lane> lanes_;
  FrameReader reader_;
  std::optional<WindowReader> windows_;  ///< instead
  std::vector<PartCorner> corners_;      ///< of the windows enqueued
  /// What is enqueued for packed windows, recorded, and what that depends on.
  struct RecordedWindows {
    struct Key {
      std::size_t windows = 0;
      std::vector<WindowPlane> packed;
      MatchSettings settings;
      bool operator==(const Key&) const = default;
    } key;
    Recording recording;
  };
  RecordedWindows recorded_[2];  ///< of templates as they are loaded, and with loading them
  bool can_be_recorded_ = true;
  std::optional<Prefilter> prefilter_;
  std::optional<Widener> widener_;
  std::optional<EdgeMaker> edges_;
  std::optional<EdgeBank> edge_bank_;
  Block candidates_, counts_;
  Block best_,
      wanted_;  ///< of a coarse search: the best of cells, and which templates are searched
  /// In memory that the device writes: peaks and their places by least squares, then sums and
  /// counts of peaks of each template, then the differences of peaks that are confirmed, and what
  /// of each template a lead plane left open.
  struct Results {
    std::size_t peaks = 0, templates = 0, planes = 1;
    std::size_t bytes() const {
      return peaks * (sizeof(RefinedPeak) + sizeof(FittedPlace) + sizeof(float)) +
             templates * (planes * sizeof(TemplateSums) + sizeof(std::uint32_t) + sizeof(float));
    }
    RefinedPeak* peaks_in(const Block& block) const { return block.as<RefinedPeak>(); }
    FittedPlace* fits_in(const Block& block) const {
      return reinterpret_cast<FittedPlace*>(peaks_in(block) + peaks);
    }
    TemplateSums* sums_in(const Block& block) const {
      return reinterpret_cast<TemplateSums*>(fits_in(block) + peaks);
    }
    std::uint32_t* counts_in(const Block& block) const {
      return reinterpret_cast<std::uint32_t*>(sums_in(block) + planes * templates);
    }
    float* differences_in(const Block& block) const {
      return reinterpret_cast<float*>(counts_in(block) + templates);
    }
    float* open_shares_in(const Block& block) const { return differences_in(block) + peaks; }
  };
  Results sizes_;
  Block results_;
};

}  // namespace xcorr
