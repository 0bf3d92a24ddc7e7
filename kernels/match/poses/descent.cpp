// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a descent is made: its stages, and the memory between them.
#include "match/poses/descent.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "match/edges.hpp"
#include "select/select.hpp"

namespace xcorr {
namespace {

/// Candidates of the top level. Of poses anywhere there are several at a place: twice as many.
int most_candidates(int max_peaks) { return 14 + 4 * max_peaks; }
/// At each level half as many are left, but not fewer than that.
int fewest_candidates(int max_peaks) { return 4 + 2 * max_peaks; }

/// Poses of one place that are followed in any case: full size tells which of them it is.
constexpr int fewest_of_place = 3;

/// Twice the pixels of a level from one candidate to another that is no flank of the same peak.
constexpr double twice_of_same = 2 * 4;

/// How much worse than the peaks that are wanted a candidate may be at a level, besides what a
/// score may lose there: what is on the frame may look more like the template when it is coarse.
constexpr double coarse_margin = 0.2;

/// What a score of n pixels reaches by chance somewhere on a frame, times the root of n.
constexpr double chance = 1;

/// See CollectCandidates::Source: the least images have none. Only a method that takes means off
/// scores nothing by chance in the mean: with the others almost all places are alike, and of edges
/// few pixels count, whose number says nothing. At full size all scores are exact.
float bonus_of(const PoseTemplate& templ, Method method, PoseIndex pose) {
  const PoseGrid& grid = templ.grid();
  const int top = grid.top();
  if (top == 0 || method != Method::ccoeff_normed) return 0;
  const auto reached = [&](int scale) {
    const double side = std::ldexp(grid.scale(top, {0, scale}), -top);
    return chance / (std::sqrt(static_cast<double>(grid.steps().extent.area())) * side);
  };
  return static_cast<float>(reached(0) - reached(pose.scale));
}

/// A pixel at the level, twice in pixels of the level.
double twice_at(double length, int level) { return std::ldexp(2 * length, -level); }

/// Of a template's rule, with what edges of frames need.
EdgeRule in_frames(EdgeRule rule, const MatchSettings& settings) {
  rule.least = frame_edge_rule(settings).least;
  return rule;
}

PoseChoice choice_at(const PoseTemplate& templ, const MatchSettings& settings, int level,
                     int most) {
  const Size size = templ.size();
  const double smaller = std::min(size.width, size.height);
  const double largest = std::hypot(size.width, size.height) *
                         std::max(settings.poses.scale_min, settings.poses.scale_max);
  PoseChoice choice;
  choice.most = most;
  choice.least = PoseDescent::least_similarity(templ, settings.threshold, level);
  choice.near = std::max(twice_at(0.25 * smaller, level), 2.0);
  // As long as the pose is nearly the same: a part that looks alike at two angles, or a period of
  // its pattern away, is two candidates until full size tells.
  choice.next = std::min(choice.near, twice_of_same);
  // Another angle may score more than the right one in the few pixels of the top level, and the way
  // down leads no farther from it than a step.
  if (level > 0 && level == templ.grid().top()) choice.turns = choice.sizes = 1;
  // Room for one more place than is wanted.
  choice.share = std::max(most / (settings.max_peaks + 1), fewest_of_place);
  choice.far = twice_at(largest, level);
  choice.wanted = settings.max_peaks;
  choice.margin = templ.slack(level) + (level > 0 ? coarse_margin : 0);
  choice.before = PoseDescent::before_at(settings, level);
  return choice;
}

}  // namespace

stage::Search::PruningBound PoseDescent::pruning_bound_at_full_size(const PoseTemplate& templ,
                                                                    const MatchSettings& settings) {
  // A window that is not a candidate was suppressed by a better peak of its image, or stands for
  // nothing since a better candidate is near; and one that is may not count since a better one is
  // not far away. All that is `reach` at most, so what lies twice as far apart counts as so many
  // places, or better ones do.
  const PoseChoice choice = choice_at(templ, settings, 0, 1);
  const double far = choice.far / 2, near = choice.near / 2;
  const double suppressed =
      std::numbers::sqrt2 * std::max<double>(settings.min_peak_distance, far / 2);
  const double reach = far + near + suppressed;
  return {settings.max_peaks, static_cast<float>(2 * reach), static_cast<float>(choice.margin)};
}

ContrastRule PoseDescent::contrast_at(const MatchSettings& settings, int level) {
  const ContrastRule rule = contrast_of(settings);
  return {rule.polarity, level > 0 ? 0 : rule.least};
}

double PoseDescent::overhang_at(const MatchSettings& settings, int level) {
  if (settings.overhang == 0) return -1;
  // Of an image's part that counts, which may be less than the template's, or coarse, more may lie
  // outside.
  constexpr double coarse_overhang = 0.1;
  return level > 0 ? settings.overhang + coarse_overhang : settings.overhang;
}

template <class Stage>
Status PoseDescent::Step<Stage>::choose(const Device& device) {
  const auto chosen = select_variant<Stage>(problem, device);
  if (!chosen.ok()) return chosen.status();
  variant = chosen.value();
  auto made = variant->make_plan(problem, device);
  if (!made.ok()) return made.status();
  state = std::move(made.value());
  return workspace.provide(device.backend, variant->workspace_bytes(problem, device));
}

double PoseDescent::least_similarity(const PoseTemplate& templ, double threshold, int level) {
  return std::max(threshold - templ.slack(level), -1.0);
}

Result<PoseDescent> PoseDescent::make(const Device& device, const PoseTemplate& templ,
                                      const MatchPlan& top, const PoseBank& images,
                                      std::span<const Size> frames, const MatchSettings& settings,
                                      Stream stream) {
  PoseDescent made;
  made.device_ = device;
  if (Status s = made.plan(templ, top, frames, settings); !s.ok()) return s;
  if (Status s = made.choose_all(); !s.ok()) return s;
  if (Status s = made.set_template(templ, stream); !s.ok()) return s;
  if (Status s = made.allocate(templ, images, top, stream); !s.ok()) return s;
  return made;
}

Status PoseDescent::plan(const PoseTemplate& templ, const MatchPlan& top,
                         std::span<const Size> frames, const MatchSettings& settings) {
  const PoseGrid& grid = templ.grid();
  const Method method = method_of(settings);
  const bool minimum = info(method).minimum;
  const Polarity polarity = contrast_of(settings).polarity;
  most_ = most_candidates(settings.max_peaks);
  found_at_top_ = top.results();
  const int images = static_cast<int>(top.slots().size());
  int listed = grid.top() > 0 ? 2 * most_ : most_;
  choice_anywhere_ = choice_at(templ, settings, grid.top(), listed);
  choice_near_ = choice_at(templ, settings, grid.top(), most_);
  select_candidates_.problem = {frames[grid.top()], images, grid.steps(), grid.top(),
                                choice_anywhere_};
  collect_candidates_.problem = {minimum,      images,     top.settings().max_peaks,
                                 grid.steps(), grid.top(), choice_anywhere_,
                                 polarity};
  for (int level = grid.top() - 1; level >= 0; --level) {
    const int most = std::max(most_ / 2, fewest_candidates(settings.max_peaks));
    const PoseSteps steps = templ.steps_below(level);
    local_rescores_.push_back(
        {{frames[level], 0, method, templ.pyramid(), templ.scoring(level), steps, level,
          grid.most(level), listed, false, contrast_at(settings, level), templ.type(),
          templ.planes(), 0, overhang_at(settings, level), templ.edges(level)}});
    prunings_.push_back(
        {{minimum, steps, level, listed, choice_at(templ, settings, level, most), polarity}});
    listed = most_ = most;
  }
  pose_refine_.problem = {frames[0],
                          0,
                          templ.size(),
                          {grid.turns(), grid.scales(), polarity},
                          most_,
                          templ.type(),
                          templ.planes(),
                          0,
                          settings.overhang > 0};
  if (const WarpEdges edges = templ.edges(0); edges.made)
    edge_refine_.problem = {frames[0],
                            0,
                            edges.sources,
                            0,
                            in_frames(edges.rule, settings),
                            pose_refine_.problem.freedom,
                            pose_refine_.problem.radius(),
                            0,
                            0,
                            0,
                            most_};
  last_rescore_.problem = {frames[0],
                           0,
                           method,
                           templ.pyramid(),
                           templ.scoring(0),
                           templ.score_grid().steps(),
                           0,
                           stage::LocalRescore::most_of(templ.score_grid().most(0), true),
                           most_,
                           true,
                           contrast_at(settings, 0),
                           templ.type(),
                           templ.planes(),
                           0,
                           overhang_at(settings, 0),
                           templ.edges(0)};
  confirm_.problem = {frames[0], 0,        method,       templ.pyramid(), templ.masking(),
                      most_,     polarity, templ.type(), templ.planes()};
  if (settings.confirm_threshold > 0)
    if (Status s = confirm_.choose(device_); !s.ok()) return s;
  return {};
}

Status PoseDescent::choose_all() {
  if (Status s = found_at_top_.best ? select_candidates_.choose(device_)
                                    : collect_candidates_.choose(device_);
      !s.ok())
    return s;
  for (auto& step : local_rescores_)
    if (Status s = step.choose(device_); !s.ok()) return s;
  for (auto& step : prunings_)
    if (Status s = step.choose(device_); !s.ok()) return s;
  if (Status s = last_rescore_.problem.edges.made ? edge_refine_.choose(device_)
                                                  : pose_refine_.choose(device_);
      !s.ok())
    return s;
  return last_rescore_.choose(device_);
}

Status PoseDescent::set_template(const PoseTemplate& templ, Stream stream) {
  return pose_refine_.state ? pose_refine_.state->set_rights(templ.smoothed(), stream) : Status();
}

Status PoseDescent::allocate(const PoseTemplate& templ, const PoseBank& images,
                             const MatchPlan& top, Stream stream) {
  const Backend backend = device_.backend;
  const Runtime& r = runtime(backend);
  std::vector<stage::CollectCandidates::Source> sources;
  for (const auto& [index, size] : top.slots())
    sources.push_back({images.poses[index], size.width, size.height,
                       images.to_centre[index].width - 2 * top.padding().width,
                       images.to_centre[index].height - 2 * top.padding().height,
                       bonus_of(templ, last_rescore_.problem.method, images.poses[index])});
  const auto upload = [&](Block& block, const auto& values) {
    return xcorr::upload(backend, block, values.data(), values.size() * sizeof(values[0]), stream);
  };
  if (Status s = upload(sources_, sources); !s.ok()) return s;
  for (const auto& [tables, grid] :
       {std::pair(&tables_, &templ.grid()), std::pair(&score_tables_, &templ.score_grid())}) {
    if (Status s = upload(tables->angles, grid->angle_table()); !s.ok()) return s;
    if (Status s = upload(tables->inverse_scales, grid->inverse_scales()); !s.ok()) return s;
  }
  std::size_t tries = most_;
  for (const auto& step : local_rescores_)
    tries = std::max<std::size_t>(tries, std::size_t(step.problem.count) * step.problem.tries());
  if (Status s = found_.provide(backend, tries * sizeof(RescoredPlace)); !s.ok()) return s;
  if (Status s =
          starts_.provide(backend, collect_candidates_.problem.choice.most * sizeof(RefinedPose));
      !s.ok())
    return s;
  const std::size_t list = collect_candidates_.problem.choice.most * sizeof(PoseCandidate);
  for (Block& block : list_blocks_)
    if (Status s = block.provide(backend, list + sizeof(std::int32_t)); !s.ok()) return s;
  if (Status s = results_.provide(backend, result_bytes()); !s.ok()) return s;
  if (Status s = host_results_.provide(backend, result_bytes(), Memory::host); !s.ok()) return s;
  for (std::size_t i = 0; i < prunings_.size(); ++i) {
    auto* candidates = list_blocks_[i % 2].as<PoseCandidate>();
    lists_.push_back({candidates, reinterpret_cast<std::int32_t*>(
                                      candidates + collect_candidates_.problem.choice.most)});
  }
  lists_.push_back(results_in(results_).list);
  return r.wait(stream);
}

}  // namespace xcorr
