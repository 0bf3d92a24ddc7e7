// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame's way down.
#include "match/poses/descent.hpp"

namespace xcorr {

template <class Stage>
Status PoseDescent::Step<Stage>::launch(const Device& device, typename Stage::Buffers& buffers,
                                        Stream stream) {
  buffers.workspace = workspace.data();
  buffers.stream = stream;
  return variant->launch(problem, device, buffers, state.get());
}

std::size_t PoseDescent::result_bytes() const {
  return most_ * (sizeof(PoseCandidate) + sizeof(PoseRefinement) + sizeof(RescoredPlace) +
                  stage::PoseConfirm::poses * sizeof(float)) +
         sizeof(std::int32_t);
}

PoseDescent::Results PoseDescent::results_in(const Block& block) const {
  auto* candidates = block.as<PoseCandidate>();
  auto* refinements = reinterpret_cast<PoseRefinement*>(candidates + most_);
  auto* rescored = reinterpret_cast<RescoredPlace*>(refinements + most_);
  auto* differences = reinterpret_cast<float*>(rescored + most_);
  auto* count = reinterpret_cast<std::int32_t*>(differences + stage::PoseConfirm::poses * most_);
  return {{candidates, count}, refinements, rescored, differences};
}

stage::LocalRescore::Buffers PoseDescent::local_rescore_buffers(const PyramidLevel& frame,
                                                                int level,
                                                                const PoseTemplate& templ,
                                                                const Tables& tables,
                                                                const List& list) const {
  return {{},
          frame.rows.data,
          templ.pixels(),
          templ.scoring_mask(level),
          tables.angles.as<AngleStep>(),
          tables.inverse_scales.as<std::int32_t>(),
          list.candidates,
          list.count,
          nullptr,
          found_.as<RescoredPlace>()};
}

Status PoseDescent::enqueue_collection(const PoseTemplate& templ, PoseChoice choice,
                                       double threshold, Stream stream) {
  choice.least = least_similarity(templ, threshold, templ.grid().top());
  const auto& [peaks, peak_counts, best, searched] = found_at_top_;
  const auto* sources = sources_.as<stage::CollectCandidates::Source>();
  if (best) {
    // On edges a coarse search tells how unlike chance a place is, not how much of the template
    // is there: any at which something agrees.
    constexpr double agrees = 1e-6;
    if (templ.edges(0).made) choice.least = agrees;
    select_candidates_.problem.choice = choice;
    stage::SelectCandidates::Buffers listed{
        {}, best, searched, sources, lists_[0].candidates, lists_[0].count};
    return select_candidates_.launch(device_, listed, stream);
  }
  collect_candidates_.problem.choice = choice;
  stage::CollectCandidates::Buffers collected{{},
                                              peaks,
                                              peak_counts,
                                              sources,
                                              lists_[0].candidates,
                                              lists_[0].count,
                                              starts_.as<RefinedPose>(),
                                              tables_.angles.as<AngleStep>(),
                                              tables_.inverse_scales.as<std::int32_t>()};
  return collect_candidates_.launch(device_, collected, stream);
}

Status PoseDescent::enqueue_choices(const PoseTemplate& templ,
                                    std::span<const PyramidLevel> pyramid, double threshold,
                                    bool near, Stream stream) {
  const PoseChoice& first = near ? choice_near_ : choice_anywhere_;
  if (Status s = enqueue_collection(templ, first, threshold, stream); !s.ok()) return s;
  if (!prunings_.empty())
    local_rescores_[0].problem.count = prunings_[0].problem.count = first.most;
  for (std::size_t i = 0; i < prunings_.size(); ++i) {
    const int level = prunings_[i].problem.level;
    const PyramidLevel& frame = pyramid[level];
    local_rescores_[i].problem.steps.ridge = prunings_[i].problem.steps.ridge =
        near ? PoseRidge{} : templ.steps_below(level).ridge;
    local_rescores_[i].problem.pitch = frame.rows.pitch;
    local_rescores_[i].problem.plane = frame.rows.plane;
    stage::LocalRescore::Buffers rescored =
        local_rescore_buffers(frame, level, templ, tables_, lists_[i]);
    if (Status s = local_rescores_[i].launch(device_, rescored, stream); !s.ok()) return s;
    prunings_[i].problem.choice.least = least_similarity(templ, threshold, level);
    stage::PruneCandidates::Buffers pruned{{},
                                           lists_[i].candidates,
                                           lists_[i].count,
                                           found_.as<RescoredPlace>(),
                                           tables_.angles.as<AngleStep>(),
                                           tables_.inverse_scales.as<std::int32_t>(),
                                           lists_[i + 1].candidates,
                                           lists_[i + 1].count,
                                           starts_.as<RefinedPose>()};
    if (Status s = prunings_[i].launch(device_, pruned, stream); !s.ok()) return s;
  }
  return {};
}

Status PoseDescent::enqueue_refinement(const PoseTemplate& templ, const PyramidLevel& frame,
                                       const Rows& pixels, Stream stream) {
  const Results results = results_in(results_);
  if (templ.edges(0).made) {
    const EdgePoints& edges = templ.edge_points();
    stage::EdgeRefine::Problem& problem = edge_refine_.problem;
    problem.pitch = pixels.pitch;
    problem.plane = pixels.plane;
    problem.farthest = edges.farthest;
    problem.least_found = edges.least_found;
    problem.points = static_cast<int>(edges.points.size());
    stage::EdgeRefine::Buffers refined{
        {}, pixels.data, templ.points(), starts_.as<RefinedPose>(), results.refinements};
    return edge_refine_.launch(device_, refined, stream);
  }
  pose_refine_.problem.pitch = frame.rows.pitch;
  pose_refine_.problem.plane = frame.rows.plane;
  stage::PoseRefine::Buffers refined{
      {}, frame.rows.data, templ.smoothed(), starts_.as<RefinedPose>(), results.refinements};
  return pose_refine_.launch(device_, refined, stream);
}

Status PoseDescent::enqueue_confirmation(const PoseTemplate& templ, const PyramidLevel& frame,
                                         Stream stream) {
  if (!confirm_.variant) return {};
  const Results results = results_in(results_);
  confirm_.problem.pitch = frame.rows.pitch;
  confirm_.problem.plane = frame.rows.plane;
  stage::PoseConfirm::Buffers looks{{},
                                    frame.rows.data,
                                    templ.pixels(),
                                    templ.mask(),
                                    results.list.candidates,
                                    results.list.count,
                                    starts_.as<RefinedPose>(),
                                    results.refinements,
                                    results.rescored,
                                    results.differences};
  return confirm_.launch(device_, looks, stream);
}

Status PoseDescent::enqueue(const PoseTemplate& templ, std::span<const PyramidLevel> pyramid,
                            const Rows& pixels, double threshold, bool near, Stream stream) {
  if (templ.is_live())
    if (Status s = set_template(templ, stream); !s.ok()) return s;
  if (Status s = enqueue_choices(templ, pyramid, threshold, near, stream); !s.ok()) return s;
  const PyramidLevel& frame = pyramid[0];
  const Results results = results_in(results_);
  if (Status s = enqueue_refinement(templ, frame, pixels, stream); !s.ok()) return s;
  last_rescore_.problem.pitch = frame.rows.pitch;
  last_rescore_.problem.plane = frame.rows.plane;
  stage::LocalRescore::Buffers rescored =
      local_rescore_buffers(frame, 0, templ, score_tables_, results.list);
  rescored.refinements = results.refinements;
  rescored.found = results.rescored;
  if (Status s = last_rescore_.launch(device_, rescored, stream); !s.ok()) return s;
  if (Status s = enqueue_confirmation(templ, frame, stream); !s.ok()) return s;
  return runtime(device_.backend)
      .copy(bytes_copy(host_results_.data(), results_.data(), result_bytes()), Memory::device,
            Memory::host, stream);
}

std::vector<PoseDescent::End> PoseDescent::ends() const {
  const Results results = results_in(host_results_);
  std::vector<End> ends;
  for (int i = 0; i < *results.list.count; ++i) {
    End end{results.list.candidates[i], results.refinements[i], results.rescored[i], {}};
    for (int pose = 0; confirm_.variant && pose < stage::PoseConfirm::poses; ++pose)
      end.differences[pose] = results.differences[stage::PoseConfirm::poses * i + pose];
    ends.push_back(end);
  }
  return ends;
}

}  // namespace xcorr
