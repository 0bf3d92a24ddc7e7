// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pose_confirm: differences to the rounding of means and gains, upright and turned,
// between pixels, across the frame's edges and past them, of either contrast.
#include "stages/poses/pose_confirm.hpp"

#include "norms.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

class PoseConfirmTest final : public StageTest<xcorr::stage::PoseConfirm> {
  bool concerns(const Case& c) const override {
    return is_posed(c) && c.planes != xcorr::edge_planes;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const auto method =
        xcorr::methods()[(c.left.width + c.right.height) % xcorr::methods().size()].method;
    return {c.left,
            scenario.problem.correlate.left_pitch,
            method,
            template_pyramid(c),
            scenario.problem.masking,
            candidates + 1,
            xcorr::info(method).centred ? c.polarity : xcorr::Polarity::same,
            c.type,
            c.planes,
            scenario.problem.correlate.left_plane};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_pyramids(scenario, scenario.test.planes);
    set_frame(scenario, scenario.test.planes);
    const Problem p = problem(scenario);
    std::vector<xcorr::PoseCandidate> list(p.count);
    std::vector<xcorr::RefinedPose> starts;
    std::vector<xcorr::PoseRefinement> refinements;
    std::vector<xcorr::RescoredPlace> rescored;
    for (int i = 0; i < p.count; ++i) {
      list[i].score = i % 2 ? -0.5 : 0.5;
      const double angle = 1.7 * i, scale = 0.4 + 0.45 * i;
      // The last one lies past the frame's corner.
      starts.push_back({(0.2 + 0.4 * i) * p.frame.width, (0.5 + 0.2 * i) * p.frame.height,
                        std::cos(angle), std::sin(angle), scale});
      xcorr::RefinedPose led = starts.back();
      led.x += 0.3;
      led.turn(0.05);
      refinements.push_back({led, i != 1});
      rescored.push_back({-list[i].score, 0, 0, {}, i != 2, 0});
    }
    // A template as it is.
    starts[0] = {0.5 * (p.pyramid.size.width - 1), 0.5 * (p.pyramid.size.height - 1), 1, 0, 1};
    set(scenario.values, "candidates", list);
    set(scenario.values, "candidate_count", std::vector<std::int32_t>{candidates});
    set(scenario.values, "starts", starts);
    set(scenario.values, "refinements", refinements);
    set(scenario.values, "rescored", rescored);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<float>(t.scenario.values, "differences"),
               actual = view<float>(got, "differences");
    const Problem p = problem(t.scenario);
    const double largest = with_pixels(p.type, [&]<class T>() {
      double most = 0;
      for (const T pixel : view<T>(t.scenario.values, "pyramid"))
        most = std::max(most, std::abs(double(pixel)));
      return most;
    });
    // Floats are turned with roundings of their own.
    const double rounding = is_integral(p.type) ? 1e-9 : 1e-5;
    for (int i = 0; i < candidates * Stage::poses; ++i)
      comparison.value([&] { return "differences[" + std::to_string(i) + ']'; }, expected[i],
                       actual[i], 1e-6 * expected[i] + rounding * largest);
  }

  static constexpr int candidates = 4;
} const pose_confirm_test;

}  // namespace
}  // namespace checkcorr
