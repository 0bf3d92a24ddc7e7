// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way of a template's candidates from the top level of the pyramid down to full size and to a
// part of a pixel, all on the device: the host only enqueues.
#pragma once

#include <span>
#include <vector>

#include "match/plan.hpp"
#include "match/poses/template.hpp"
#include "stages/poses/edge_refine.hpp"
#include "stages/poses/pose_confirm.hpp"
#include "stages/poses/pose_refine.hpp"
#include "stages/poses/prune_candidates.hpp"

namespace xcorr {

/// A level of a frame's pyramid, on the device.
struct PyramidLevel {
  Rows rows;
  Size size;
};

class PoseDescent {
 public:
  /// What the descent of a frame ends with.
  struct End {
    PoseCandidate candidate;  ///< of level 0
    PoseRefinement refinement;
    RescoredPlace rescored;  ///< at the pose nearest to the refined one
    /// Of the candidate's pose and the refined one, see stage::PoseConfirm; 0 if not asked for.
    float differences[stage::PoseConfirm::poses];
  };

  /// The search's top level finds `top`'s peaks, of these images. `frames`: the sizes of the
  /// pyramid's levels.
  static Result<PoseDescent> make(const Device& device, const PoseTemplate& templ,
                                  const MatchPlan& top, const PoseBank& images,
                                  std::span<const Size> frames, const MatchSettings& settings,
                                  Stream stream);

  /// A level above full size has less contrast, so none is asked for there.
  static ContrastRule contrast_at(const MatchSettings& settings, int level);
  /// How much of an image may lie outside the frame there, see stage::LocalRescore::Problem.
  static double overhang_at(const MatchSettings& settings, int level);
  /// How far a level begins before the frame and ends behind it, in its pixels: there the frame's
  /// outermost pixels go on, so that the images of a part at the edge, whose poses are not quite
  /// its own and whose rectangles are rounded up, lie inside.
  static int rim_at(const MatchSettings& settings, int level) {
    // Half a pixel each for the angle, the size, the rectangle and its place. What may stick out
    // anyway needs none.
    constexpr int rim = 2;
    return level > 0 && settings.overhang == 0 ? rim : 0;
  }
  /// By how many pixels of the level below it begins before that one.
  static int before_at(const MatchSettings& settings, int level) {
    return 2 * rim_at(settings, level) - rim_at(settings, level - 1);
  }

  /// Which peaks of the images are enough for what is found to be the same, where full size is
  /// searched.
  static stage::Search::PruningBound pruning_bound_at_full_size(const PoseTemplate& templ,
                                                                const MatchSettings& settings);

  /// Lower ones are no candidates, at that level.
  static double least_similarity(const PoseTemplate& templ, double threshold, int level);

  /// Enqueues all of it, behind the top's search. The template is the one of make().
  /// \param pixels  of the frame, where the pyramid is of edges
  /// \param near  whether the top's search is of poses near each other, as a target's: then the
  ///              first list is half as long, and none on the template's ridges is tried, which lie
  ///              far from each other
  Status enqueue(const PoseTemplate& templ, std::span<const PyramidLevel> pyramid,
                 const Rows& pixels, double threshold, bool near, Stream stream);

  /// Call after waiting for the stream.
  std::vector<End> ends() const;

 private:
  template <class Stage>
  struct Step {
    typename Stage::Problem problem;
    const Variant<Stage>* variant = nullptr;
    std::unique_ptr<PlanState> state = {};
    Block workspace = {};

    Status choose(const Device& device);
    Status launch(const Device& device, typename Stage::Buffers& buffers, Stream stream);
  };
  /// Of a grid of poses.
  struct Tables {
    Block angles, inverse_scales;
  };
  /// What a choice writes and the next stages read.
  struct List {
    PoseCandidate* candidates;
    std::int32_t* count;
  };
  /// Of the last choice and what follows: copied to the host as a whole.
  struct Results {
    List list;
    PoseRefinement* refinements;
    RescoredPlace* rescored;
    float* differences;
  };

  Status plan(const PoseTemplate& templ, const MatchPlan& top, std::span<const Size> frames,
              const MatchSettings& settings);
  Status allocate(const PoseTemplate& templ, const PoseBank& images, const MatchPlan& top,
                  Stream stream);
  Status choose_all();
  /// Enqueues what steps need of the template.
  Status set_template(const PoseTemplate& templ, Stream stream);
  stage::LocalRescore::Buffers local_rescore_buffers(const PyramidLevel& frame, int level,
                                                     const PoseTemplate& templ,
                                                     const Tables& tables, const List& list) const;
  /// The first list.
  Status enqueue_collection(const PoseTemplate& templ, PoseChoice choice, double threshold,
                            Stream stream);
  /// The second look at what was found.
  Status enqueue_confirmation(const PoseTemplate& templ, const PyramidLevel& frame, Stream stream);
  /// What comes of the last list's candidates.
  Status enqueue_refinement(const PoseTemplate& templ, const PyramidLevel& frame,
                            const Rows& pixels, Stream stream);
  Status enqueue_choices(const PoseTemplate& templ, std::span<const PyramidLevel> pyramid,
                         double threshold, bool near, Stream stream);
  std::size_t result_bytes() const;
  Results results_in(const Block& block) const;

  Device device_;
  /// One of the two makes the first list: of a coarse search of the top level, or of its peaks.
  Step<stage::SelectCandidates> select_candidates_;
  Step<stage::CollectCandidates> collect_candidates_;
  PoseChoice choice_anywhere_, choice_near_;  ///< of the first list, by where poses are
  /// From the level below the top to level 0, where there are several.
  std::vector<Step<stage::LocalRescore>> local_rescores_;
  std::vector<Step<stage::PruneCandidates>> prunings_;
  /// On edges the second.
  Step<stage::PoseRefine> pose_refine_;
  Step<stage::EdgeRefine> edge_refine_;
  Step<stage::LocalRescore> last_rescore_;
  Step<stage::PoseConfirm> confirm_;  ///< without a variant where it is not asked for
  int most_ = 1;                      ///< candidates at the end
  TemplateResults found_at_top_ = {};
  Tables tables_, score_tables_;
  Block sources_, found_, starts_, list_blocks_[2];
  std::vector<List> lists_;  ///< of collect_candidates_ and each of prunings_
  Block results_, host_results_;
};

}  // namespace xcorr
