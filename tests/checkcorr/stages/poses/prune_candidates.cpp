// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages collect_candidates and prune_candidates: the same candidates in the same order, bit
// for bit, with equal scores among them, lists that are full and that are empty.
#include "stages/poses/prune_candidates.hpp"

#include "candidates.hpp"

namespace checkcorr {
namespace {

using xcorr::PoseCandidate;

class CollectCandidatesTest final : public StageTest<xcorr::stage::CollectCandidates> {
  bool concerns(const Case& c) const override { return is_posed(c) && c.type == ElementType::u8; }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    return {c.left.width % 2 == 1,
            c.right.width % 3 == 0 ? 300 : 7,
            3,
            pose_grid(c).steps(),
            level_of(c),
            choice_of(c),
            c.polarity};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    const xcorr::PoseGrid grid = set_pose_tables(scenario);
    Draws draw(scenario);
    std::vector<xcorr::RefinedPeak> peaks(p.slots());
    std::vector<std::uint32_t> counts;
    std::vector<xcorr::stage::CollectCandidates::Source> sources;
    for (xcorr::RefinedPeak& peak : peaks) {
      peak.score = score_of(scenario.test, draw);
      peak.x = draw(40);
      peak.y = draw(40);
    }
    for (int i = 0; i < p.images; ++i) {
      counts.push_back(draw(p.max_peaks + 1));
      sources.push_back(draw_source(draw, grid, p.level));
    }
    set(scenario.values, "peaks", peaks);
    set(scenario.values, "peak_counts", counts);
    set(scenario.values, "sources", sources);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_lists(comparison, t.scenario.values, got, "candidates", "candidate_count",
                  problem(t.scenario).level);
  }
} const collect_candidates_test;

class PruneCandidatesTest final : public StageTest<xcorr::stage::PruneCandidates> {
  bool concerns(const Case& c) const override { return is_posed(c) && c.type == ElementType::u8; }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    return {c.left.width % 2 == 1, steps_with_ridge(c, pose_grid(c)),
            level_of(c),           40,
            choice_of(c),          c.polarity};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    const xcorr::PoseGrid grid = set_pose_tables(scenario);
    Draws draw(scenario);
    const int count = scenario.test.right.width % 4 == 0 ? 0 : p.count - draw(3);
    std::vector<PoseCandidate> list(p.count);
    std::vector<xcorr::RescoredPlace> found;
    for (PoseCandidate& one : list) {
      const double score = score_of(scenario.test, draw);
      one = {score,
             score,
             draw(60),
             draw(60),
             {draw(grid.angles(p.level)), draw(grid.scales(p.level))}};
      for (int k = 0; k < p.tries(); ++k) {
        xcorr::PoseIndex pose = one.pose;
        const bool exists = p.steps.neighbour(p.level, pose, k);
        found.push_back({score_of(scenario.test, draw), one.twice_x + draw(9) - 4,
                         one.twice_y + draw(9) - 4, pose, exists && draw(8) > 0, 0});
      }
    }
    set(scenario.values, "candidates", list);
    set(scenario.values, "candidate_count", std::vector<std::int32_t>{count});
    set(scenario.values, "found", found);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_lists(comparison, t.scenario.values, got, "kept", "kept_count",
                  problem(t.scenario).level);
  }
} const prune_candidates_test;

}  // namespace
}  // namespace checkcorr
