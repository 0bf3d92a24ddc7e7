// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pose_refine: places within 1e-3 of a pixel, and angles and scales as far as they move
// the template's rim by that. The frame is the case's first left, and the template, of another size
// than the case's, is cut from it smoothed: so steps lead from some poses to the right one, and
// from others away.
#include "stages/poses/pose_refine.hpp"

#include <cmath>

#include "posed.hpp"

namespace checkcorr {
namespace {

using xcorr::PoseRefinement;
using xcorr::RefinedPose;

class PoseRefineTest final : public StageTest<xcorr::stage::PoseRefine> {
  bool concerns(const Case& c) const override {
    return is_posed(c) && c.left.width >= 24 && c.left.height >= 24;
  }
  Problem problem(const Scenario& scenario) const override {
    const int which = scenario.test.right.width % 4;
    // On a GPU several blocks share a large template, in one launch or in several.
    const xcorr::Size frame = scenario.test.left;
    const bool large = frame.width >= 160 && scenario.test.right.width == 16;
    return {frame,
            scenario.problem.correlate.left_pitch,
            large ? Size{frame.width - 12, frame.height - 8} : Size{13, 12},
            {which % 2 == 1, which / 2 == 1, scenario.test.polarity},
            4,
            scenario.test.type,
            scenario.test.planes,
            scenario.problem.correlate.left_plane};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_frame(scenario, scenario.test.planes);
    const Problem p = problem(scenario);
    const auto* const first = scenario.values.at("frame").data();
    const int left = (p.frame.width - p.size.width) / 2, top = (p.frame.height - p.size.height) / 2;
    std::vector<xcorr::SmoothedPixel> smoothed;
    for (int row = 0; row < p.planes * p.size.height; ++row)
      for (int x = 0; x < p.size.width; ++x) {
        const int y = row % p.size.height;
        const auto* const frame = first + row / p.size.height * p.plane;
        xcorr::SmoothedPixel pixel{};
        const float weights[] = {1.F / 6, 4.F / 6, 1.F / 6}, slopes[] = {-0.5F, 0, 0.5F};
        for (int i = 0; i < 9; ++i) {
          const float f = with_pixels(p.type, [&]<class T>() {
            return float(
                xcorr::row_of<T>(frame, p.pitch, top + y + i / 3 - 1)[left + x + i % 3 - 1]);
          });
          pixel.value += weights[i % 3] * weights[i / 3] * f;
          pixel.by_u += slopes[i % 3] * weights[i / 3] * f;
          pixel.by_v += weights[i % 3] * slopes[i / 3] * f;
        }
        pixel.counts = (x * y) % 7 != 3;
        smoothed.push_back(pixel);
      }
    set(scenario.values, "smoothed", smoothed);
    const double x = left + 0.5 * (p.size.width - 1), y = top + 0.5 * (p.size.height - 1);
    const auto at = [](double center_x, double center_y, double angle, double scale) {
      return RefinedPose{center_x, center_y, std::cos(angle), std::sin(angle), scale};
    };
    set(scenario.values, "starts",
        std::vector{at(x, y, 0, 1), at(x + 0.2, y - 0.1, p.freedom.turns ? 0.02 : 0, 1),
                    at(x - 0.1, y + 0.2, 0, p.freedom.scales ? 1.02 : 1),
                    at(0.5 * x, 2 * y, 0, 1)});
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<PoseRefinement>(t.scenario.values, "refinements"),
               actual = view<PoseRefinement>(got, "refinements");
    const double radius = problem(t.scenario).radius();
    // The last one stands on other pixels, where steps may lead anywhere: only that it ends.
    for (std::size_t i = 0; i + 1 < expected.size(); ++i) {
      const auto place = [&] { return "refinements[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].is_refined, actual[i].is_refined, 0);
      comparison.value(place, expected[i].pose.x, actual[i].pose.x, 1e-3);
      comparison.value(place, expected[i].pose.y, actual[i].pose.y, 1e-3);
      comparison.value(place, expected[i].pose.cosine, actual[i].pose.cosine, 1e-3 / radius);
      comparison.value(place, expected[i].pose.sine, actual[i].pose.sine, 1e-3 / radius);
      comparison.value(place, expected[i].pose.scale, actual[i].pose.scale, 1e-3 / radius);
    }
  }
} const pose_refine_test;

}  // namespace
}  // namespace checkcorr
