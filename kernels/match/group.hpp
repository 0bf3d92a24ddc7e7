// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The templates of one size and mask in a plan: a one-to-many match with its variants, their state,
// and the templates themselves where kernels read them.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/runtime.hpp"
#include "match/bank.hpp"
#include "match/cost.hpp"
#include "match/lead.hpp"
#include "match/prefilter.hpp"
#include "select/select.hpp"
#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr {

/// Memory that groups use in turn.
struct MatchScratch {
  Block products, scores, window_sums, window_squares, workspace, side_workspace;
};

/// Bytes of each.
struct MatchScratchSizes {
  std::size_t products = 0, scores = 0, window_sums = 0, window_squares = 0, workspace = 0,
              side_workspace = 0;

  std::size_t bytes() const {
    return products + scores + window_sums + window_squares + workspace + side_workspace;
  }
};

/// Where a group's results go, starting with its first template.
struct MatchResults {
  RefinedPeak* peaks;
  FittedPlace* fits;
  float* differences;  ///< of peaks that are confirmed
  std::uint32_t* peak_counts;
  TemplateSums* template_sums;
  Candidate* candidates;
  std::uint32_t* counts;
  CoarseKey* best;     ///< null: peaks are wanted
  float* open_shares;  ///< see stage::Search::Buffers; null where the host cannot read them
};

/// The searched part of a frame, and what may change from frame to frame.
struct MatchFrame {
  Rows pixels;
  Rows words;  ///< the same as words, for weighted groups; else empty
  Method method;
  double threshold;
  Subpixel subpixel;
  double subpixel_threshold;
  Overhang overhang = {};
};

class TemplateGroup {
 public:
  /// A template of the group.
  struct Member {
    std::uint32_t index;  ///< in the bank
    std::shared_ptr<const TemplatePixels> pixels;
    Rect reported;                              ///< of what is searched, from its corner
    std::optional<std::uint64_t> version = {};  ///< of them, that is loaded
  };

  /// `problem`: that of the group; its products and layout are still to be chosen.
  static Result<TemplateGroup> make(const Device& device, const std::vector<BankTemplate>& bank,
                                    std::span<const std::uint32_t> members,
                                    const MatchProblem& problem, const std::string& kernel,
                                    double prefilter_sigma);

  const MatchProblem& problem() const { return problem_; }
  /// Whether products are made of the frame's words.
  bool is_weighted() const { return problem_.masking.weighted; }
  /// Its kernel's name.
  const char* kernel() const { return cells_ ? cells_->name : kernel_->name; }
  const std::vector<Member>& members() const { return members_; }
  /// An estimate of how long a frame takes.
  double seconds() const;
  /// Whether it can be searched coarsely instead of searched for peaks. `first`: the place of its
  /// first template among all.
  bool can_search_coarsely(int first) const;
  /// From now on it is; call before load(). `one_kernel`: by one that does all, if there is one.
  Status prepare_coarse_search(int first, bool one_kernel);
  /// Increases the sizes to what this group needs.
  void add_needs(MatchScratchSizes& sizes) const;

  /// Enqueues loading the group's templates: all at first, with the mask, then only what has
  /// changed.
  Status load(const std::vector<BankTemplate>& bank, const MatchResults& results, Stream stream);
  Status refresh(const MatchResults& results, Stream stream);

  /// The same in steps, of which what the second enqueues is always the same: first, whether
  /// anything has changed, then all live templates, then what is loaded with that.
  bool has_changed() const;
  Status order_after_changes(Stream stream) const;
  Status reload(const MatchResults& results, Stream stream);
  void note_loaded();

  /// Searches only those templates of the bank from now on; whether that changes anything.
  bool select(const std::vector<bool>& wanted);
  /// Searches only its first ones from now on.
  void search_first(int count) { searched_ = {{0, count}}; }

  /// Enqueues the match of a frame. \param loads_aside  reload() has been enqueued on the side
  /// stream
  Status run(const MatchFrame& frame, const MatchScratch& scratch, const MatchResults& results,
             SideStream& side, Stream stream, bool loads_aside = false);
  /// Enqueues the scores of all shifts, dense, instead. For a group of one template and a kernel
  /// of the correlate stage.
  Status score(const MatchFrame& frame, const MatchScratch& scratch, float* scores,
               SideStream& side, Stream stream);

 private:
  Status choose(const std::string& kernel);
  stage::FusedCoarseSearch::Problem fused_coarse_searching() const;
  Status allocate();
  Status load_mask(const std::vector<std::uint8_t>& mask, Stream stream);
  /// \param plane  of the picture
  Status load_pixels(int member, int plane, const MatrixView& pixels, Stream stream);
  Status load_planes(int member, const MatrixView& pixels, Stream stream);
  /// Call after loading their pixels.
  Status sum_up(int first, int count, const MatchResults& results, Stream stream);

  // In group_run.cpp.
  void adopt(const MatchFrame& frame);
  /// What products are made of.
  const Rows& left(const MatchFrame& frame) const {
    return is_weighted() ? frame.words : frame.pixels;
  }
  /// How many of the first templates have all that are searched.
  int searched_end() const { return searched_.back().second; }
  bool kernel_refines() const;
  /// The problem by whose scores the kernel chooses places.
  MatchProblem choosing() const { return kernel_.search ? problem_ : problem_.choosing(); }
  /// The operands of the products, see stage::Correlate::Buffers::rights.
  const void* operands() const {
    return (problem_.template_sums().has_operands() ? operands_ : templates_).data();
  }
  /// The templates as they are, but of u8 and u16 0 where the mask is, or times their weights.
  const void* originals() const {
    return problem_.correlate.type == ElementType::f32 ? templates_.data() : operands();
  }
  const std::uint8_t* mask() const { return problem_.masking ? mask_.as<std::uint8_t>() : nullptr; }
  /// What a search and a refinement read.
  WindowInputs window_inputs(const MatchFrame& frame, const MatchScratch& scratch,
                             Stream stream) const;
  stage::WindowSums::Problem window_summing() const;
  /// Of the first `planes`.
  Status sum_windows(const MatchFrame& frame, const MatchScratch& scratch, int planes,
                     Stream stream) const;
  /// Whether the next frame is searched by the lead plane first, see LeadChoice.
  bool leads(std::span<float> open_shares);
  /// Both produce candidates; search() also peaks where its kernel refines.
  /// \param loading  what templates are loaded on; null: they are
  Status search(const MatchFrame& frame, const MatchScratch& scratch, const MatchResults& results,
                SideStream* loading, Stream stream);
  Status search_in_stages(const MatchFrame& frame, const MatchScratch& scratch,
                          const MatchResults& results, SideStream& side, Stream stream);
  /// Correlates; calls `then` after each batch of templates, when window sums are there, too.
  template <class Then>
  Status correlate_batches(const MatchFrame& frame, const MatchScratch& scratch, SideStream& side,
                           Stream stream, Then then);
  Status coarse_search(const MatchFrame& frame, const MatchScratch& scratch,
                       const MatchResults& results, SideStream& side, Stream stream);
  /// Correlates and normalises; calls `then` after each batch.
  template <class Then>
  Status score_batches(const stage::Normalise::Problem& problem, const MatchFrame& frame,
                       const MatchScratch& scratch, float* scores, SideStream& side, Stream stream,
                       Then then);
  Status refine(const MatchFrame& frame, const MatchScratch& scratch, const MatchResults& results,
                Stream stream);
  Status confirm(const MatchFrame& frame, const MatchResults& results, Stream stream);
  Status subpixel_refine(const MatchFrame& frame, const MatchScratch& scratch,
                         const MatchResults& results, Stream stream);
  /// Sets the buffers for each batch of the templates that are searched and calls f.
  template <class F>
  Status for_batches(LaunchOfRights& launch, F f) const {
    for (const auto& [begin, end] : searched_)
      for (int first = begin; first < end; first += problem_.batch) {
        launch.first_right = first;
        launch.right_count = std::min(problem_.batch, end - first);
        if (Status s = f(); !s.ok()) return s;
      }
    return {};
  }

  Device device_;
  MatchProblem problem_;
  MatchKernel kernel_;
  const Variant<stage::WindowSums>* window_sums_ = nullptr;
  const Variant<stage::TemplateSums>* sums_of_templates_ = nullptr;
  const Variant<stage::Refine>* refine_ = nullptr;
  const Variant<stage::SubpixelRefine>* subpixel_refine_ = nullptr;
  const Variant<stage::Confirm>* confirm_ = nullptr;  ///< null: peaks are not looked at again
  /// Used after a correlate kernel.
  const Variant<stage::Normalise>* normalise_ = nullptr;
  const Variant<stage::WindowScores>* window_scores_ = nullptr;  ///< null: by the two stages
  const Variant<stage::Peaks>* peaks_ = nullptr;
  const Variant<stage::ContrastFilter>* contrast_filter_ =
      nullptr;  ///< null where no contrast is asked for
  const Variant<stage::OverhangScores>* overhang_scores_ = nullptr;  ///< null: windows lie inside
  const Variant<stage::CoarseSearch>* coarse_search_ = nullptr;
  const Variant<stage::FusedCoarseSearch>* cells_ =
      nullptr;           ///< instead of correlate and coarse_search
  int first_image_ = 0;  ///< of a coarse search
  std::unique_ptr<PlanState> state_, window_sums_state_, refine_state_, subpixel_refine_state_;
  std::vector<Member> members_;
  std::vector<std::pair<int, int>> searched_;  ///< of the members: first and past the last
  LeadChoice lead_;
  Block templates_, mask_, inset_, operands_, template_sums_;
  std::optional<Prefilter> prefilter_;  ///< for templates
};

}  // namespace xcorr
