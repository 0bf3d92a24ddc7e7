// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage edge_refine: places within 1e-3 of a pixel, and angles and scales as far as they move
// the template's rim by that. The frame is the case's first left, of which the template is a part:
// so steps lead from some poses to the right one, and from others away.
#include "stages/poses/edge_refine.hpp"

#include "match/poses/edge_points.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

using xcorr::PoseRefinement;
using xcorr::RefinedPose;

class EdgeRefineTest final : public StageTest<xcorr::stage::EdgeRefine> {
  bool concerns(const Case& c) const override {
    return is_posed(c) && c.type == ElementType::u8 && c.left.width >= 48 && c.left.height >= 48 &&
           c.planes != xcorr::edge_planes;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int which = c.right.width % 4;
    const xcorr::EdgePoints edges = points(scenario);
    Problem p{c.left,
              scenario.problem.correlate.left_pitch,
              c.planes,
              scenario.problem.correlate.left_plane,
              rule(c),
              {which % 2 == 1, which / 2 == 1, xcorr::Polarity::same},
              0.25 * (part_of(c).width + part_of(c).height),
              edges.farthest,
              edges.least_found,
              static_cast<int>(edges.points.size()),
              4};
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_frame(scenario, scenario.test.planes);
    set(scenario.values, "edge_points", points(scenario).points);
    const Problem p = problem(scenario);
    const Rect part = part_of(scenario.test);
    const double x = part.x + 0.5 * (part.width - 1), y = part.y + 0.5 * (part.height - 1);
    const auto at = [](double center_x, double center_y, double angle, double scale) {
      return RefinedPose{center_x, center_y, std::cos(angle), std::sin(angle), scale};
    };
    set(scenario.values, "starts",
        std::vector{at(x, y, 0, 1), at(x + 0.1, y - 0.05, p.freedom.turns ? 0.005 : 0, 1),
                    at(0, 0, 0, 0), at(0.5 * x, 2 * y, 0, 1)});
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<PoseRefinement>(t.scenario.values, "refinements"),
               actual = view<PoseRefinement>(got, "refinements");
    const double radius = problem(t.scenario).radius;
    // The last one stands on other pixels, where steps may lead anywhere: only that it ends.
    for (std::size_t i = 0; i + 1 < expected.size(); ++i) {
      const auto place = [&] { return "refinements[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].is_refined, actual[i].is_refined, 0);
      comparison.value(place, expected[i].pose.x, actual[i].pose.x, bound);
      comparison.value(place, expected[i].pose.y, actual[i].pose.y, bound);
      comparison.value(place, expected[i].pose.cosine, actual[i].pose.cosine, bound / radius);
      comparison.value(place, expected[i].pose.sine, actual[i].pose.sine, bound / radius);
      comparison.value(place, expected[i].pose.scale, actual[i].pose.scale, bound / radius);
    }
  }

 private:
  static constexpr double bound = 1e-3;

  static Rect part_of(const Case& c) { return {8, 7, c.left.width - 17, c.left.height - 16}; }
  static xcorr::EdgeRule rule(const Case& c) {
    return {xcorr::edge_unit * xcorr::edge_unit, c.left.height % 2 == 1, false};
  }
  static xcorr::EdgePoints points(const Scenario& scenario) {
    const Rect part = part_of(scenario.test);
    const xcorr::Problem& p = scenario.problem.correlate;
    const auto* const frame = scenario.values.at("lefts").data();
    std::vector<std::uint8_t> pixels;
    for (int plane = 0; plane < p.planes; ++plane)
      for (int y = part.y; y < part.y + part.height; ++y)
        for (int x = part.x; x < part.x + part.width; ++x)
          pixels.push_back(
              static_cast<std::uint8_t>(frame[plane * p.left_plane + y * p.left_pitch + x]));
    return xcorr::edge_points_of(pixels, p.planes, part.size(),
                                 std::vector<std::uint8_t>(part.size().area(), 1),
                                 rule(scenario.test));
  }
} const edge_refine_test;

}  // namespace
}  // namespace checkcorr
