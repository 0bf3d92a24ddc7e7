// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage local_rescore: of integers scores, places and poses bit for bit, of others scores,
// inside the frame, at its edges and past them, at all levels and for all methods.
#include "stages/poses/local_rescore.hpp"

#include "posed.hpp"

namespace checkcorr {
namespace {

using xcorr::PoseCandidate;
using xcorr::RescoredPlace;

class LocalRescoreTest final : public StageTest<xcorr::stage::LocalRescore> {
  bool concerns(const Case& c) const override { return is_posed(c); }
  bool weighs() const override { return true; }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    // A method and a level a case, so that each gets its share.
    const int which = c.left.width + c.right.height;
    const bool on_edges = c.planes == xcorr::edge_planes;
    const auto method = on_edges ? xcorr::Method::orientation
                                 : xcorr::methods()[which % xcorr::methods().size()].method;
    const bool refined = which % 4 == 3;
    const int level = refined ? 0 : on_edges ? level_of_edges(c) : which % 4;
    const xcorr::PoseGrid grid = scored_grid(c, refined);
    return {c.left,
            scenario.problem.correlate.left_pitch,
            method,
            template_pyramid(c),
            scenario.problem.masking,
            refined ? grid.steps() : steps_with_ridge(c, grid),
            level,
            Stage::most_of(grid.most(level), refined),
            candidates + 2,
            refined,
            {xcorr::info(method).centred ? c.polarity : xcorr::Polarity::same, c.min_contrast},
            c.type,
            c.planes,
            scenario.problem.correlate.left_plane,
            -1,
            warp_edges(c, level)};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const xcorr::WarpEdges edges = warp_edges(scenario.test, 0);
    set_pyramids(scenario, edges.made ? edges.sources : scenario.test.planes);
    set_frame(scenario, scenario.test.planes);
    const Problem p = problem(scenario);
    const xcorr::PoseGrid grid = scored_grid(scenario.test, p.refined);
    set_tables(scenario, grid);
    std::vector<PoseCandidate> list;
    std::vector<xcorr::PoseRefinement> refinements;
    for (int i = 0; i < p.count; ++i) {
      PoseCandidate one{};
      one.twice_x = i * p.frame.width / 2 - 3;
      one.twice_y = p.frame.height + i - 5;
      one.pose = {i * (grid.angles(p.level) - 1) / candidates,
                  i * (grid.scales(p.level) - 1) / candidates};
      list.push_back(one);
      const double angle = grid.angle(p.level, one.pose) + 0.02 * (i - 2);
      refinements.push_back(
          {{0.5 * one.twice_x + 0.3 * i, 0.5 * one.twice_y - 0.2 * i, std::cos(angle),
            std::sin(angle), grid.scale(p.level, one.pose) * (1 + 0.01 * (i - 2))},
           1});
    }
    set(scenario.values, "candidates", list);
    set(scenario.values, "candidate_count", std::vector<std::int32_t>{candidates});
    if (p.refined) set(scenario.values, "refinements", refinements);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto expected = view<RescoredPlace>(t.scenario.values, "found"),
               actual = view<RescoredPlace>(got, "found");
    for (int i = 0; i < candidates * p.tries(); ++i) {
      const auto place = [&] { return "found[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].is_inside, actual[i].is_inside, 0);
      if (!expected[i].is_inside) continue;
      const bool exact = is_integral(p.type);
      comparison.value(place, expected[i].score, actual[i].score, exact ? 0 : score_bound(p, t));
      if (!exact) continue;  // two places may be as good
      comparison.value(place, expected[i].twice_x, actual[i].twice_x, 0);
      comparison.value(place, expected[i].twice_y, actual[i].twice_y, 0);
      comparison.value(place, expected[i].pose.angle, actual[i].pose.angle, 0);
      comparison.value(place, expected[i].pose.scale, actual[i].pose.scale, 0);
    }
  }

 private:
  static xcorr::PoseGrid scored_grid(const Case& c, bool refined) {
    if (refined) return pose_grid(c).of_scores();
    return c.planes == xcorr::edge_planes ? edges_grid(c, level_of_edges(c)) : pose_grid(c);
  }
  /// What sums in another order may change.
  static double score_bound(const Problem& p, const Truth& t) {
    if (xcorr::info(p.method).normed) return 1e-4;
    double largest = 0;
    for (const char* name : {"frame", "pyramid"})
      for (const float pixel : view<float>(t.scenario.values, name))
        largest = std::max(largest, std::abs(double(pixel)));
    return 1e-6 * double(p.most.area()) * largest * largest;
  }

  static constexpr int candidates = 4;
} const local_rescore_test;

}  // namespace
}  // namespace checkcorr
