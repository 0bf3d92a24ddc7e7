// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stages coarse_search, fused_coarse_search and select_candidates: bit for bit, and the same
// candidates in the same order.
#include "stages/poses/fused_coarse_search.hpp"

#include "candidates.hpp"
#include "norms.hpp"

namespace checkcorr {
namespace {

using xcorr::CoarseKey;

/// What the two stages that make a coarse search share.
template <class StageOfCoarseSearch>
class CellsTest : public StageTest<StageOfCoarseSearch> {
 protected:
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c);
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && xcorr::info(*trial.method).normed && is_usual(c, trial);
  }
  xcorr::stage::CoarseSearch::Problem problem(const Scenario& scenario) const override {
    return scenario.problem.coarse_searching(scenario.test.right.width % 5);
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<CoarseKey>(t.scenario.values, "best"),
               actual = view<CoarseKey>(got, "best");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto place = [&] { return "best[" + std::to_string(i) + ']'; };
      // Where there is no place both halves are 0; doubles hold them.
      comparison.value(place, double(expected[i] >> 32), double(actual[i] >> 32), 0);
      comparison.value(place, xcorr::place_of(expected[i]), xcorr::place_of(actual[i]), 0);
    }
  }
};

class CoarseSearchTest final : public WithProductsApart<CellsTest<xcorr::stage::CoarseSearch>> {
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = scenario.make_products(); !s.ok()) return s;
    return scenario.make_window_sums();
  }
} const coarse_search_test;

class FusedCoarseSearchTest final : public CellsTest<xcorr::stage::FusedCoarseSearch> {
  /// The stage begins with the left's first pixel. The window sums of a part of the shifts do not,
  /// and of edges the oracle's products are made with them.
  bool concerns(const Case& c) const override {
    return CellsTest::concerns(c) &&
           !(c.shifts == Shifts::rectangle && c.planes == xcorr::edge_planes);
  }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_window_sums(); }
  bool keeps_something() const override { return true; }
} const fused_coarse_search_test;

class SelectCandidatesTest final : public StageTest<xcorr::stage::SelectCandidates> {
  bool concerns(const Case& c) const override { return is_posed(c) && c.type == ElementType::u8; }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    // Many images of few cells, or few of many.
    const bool many = c.right.width % 3 == 0;
    Problem p{many ? Size{21, 18} : Size{150, 90}, many ? 300 : 7, pose_grid(c).steps(), 1,
              choice_of(c)};
    if (c.right.width % 2 == 0) p.choice.most *= 20;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    const xcorr::PoseGrid grid = pose_grid(scenario.test);
    Draws draw(scenario);
    std::vector<CoarseKey> best(p.keys());
    std::vector<std::uint8_t> searched;
    std::vector<xcorr::stage::CollectCandidates::Source> sources;
    for (std::size_t i = 0; i < best.size(); ++i)
      if (draw(8) > 0)
        best[i] = xcorr::coarse_key(static_cast<float>(score_of(scenario.test, draw)),
                                    static_cast<std::uint32_t>(16 * i + draw(16)));
    for (int i = 0; i < p.images; ++i) {
      searched.push_back(draw(16) > 0);
      sources.push_back(draw_source(draw, grid, p.level));
    }
    set(scenario.values, "best", best);
    set(scenario.values, "searched", searched);
    set(scenario.values, "sources", sources);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_lists(comparison, t.scenario.values, got, "candidates", "candidate_count",
                  problem(t.scenario).level);
  }
} const select_candidates_test;

}  // namespace
}  // namespace checkcorr
