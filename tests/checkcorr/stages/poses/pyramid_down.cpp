// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pyramid_down: a case's first left with its planes, integers bit for bit.
#include "stages/poses/pyramid_down.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

class PyramidDownTest final : public StageTest<xcorr::stage::PyramidDown> {
  bool concerns(const Case& c) const override { return !c.filter && is_matching(c); }
  Problem problem(const Scenario& scenario) const override {
    // Within the image, or all of it and something round it.
    const xcorr::Size image = scenario.test.left;
    const int before = image.width < 2 || image.height < 2 ? 4 : image.width % 3 * 2;
    const auto half = [&](int length) { return (length + (before ? 2 * before + 1 : 0)) / 2; };
    const xcorr::Size to{half(image.width), half(image.height)};
    const auto element = static_cast<std::int64_t>(size_of(scenario.test.type));
    Problem p{image,
              to,
              scenario.problem.correlate.left_pitch,
              (to.width + scenario.test.pad) * element,
              scenario.test.type,
              before,
              scenario.test.planes,
              scenario.problem.correlate.left_plane};
    p.half_plane = p.half_pitch * (to.height + (scenario.test.pad ? 1 : 0));
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const auto& lefts = scenario.values["lefts"];
    const Problem p = problem(scenario);
    scenario.values["pixels"].assign(
        lefts.begin(), lefts.begin() + (p.planes - 1) * p.plane + (p.image.height - 1) * p.pitch +
                           p.image.width * static_cast<std::int64_t>(size_of(scenario.test.type)));
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    with_pixels(p.type, [&]<class T>() {
      const double bound = rounding_of(view<T>(t.scenario.values, "pixels"));
      for (int plane = 0; plane < p.planes; ++plane) {
        const auto *expected = t.scenario.values.at("halved").data() + plane * p.half_plane,
                   *actual = got.at("halved").data() + plane * p.half_plane;
        for (int y = 0; y < p.half.height; ++y)
          for (int x = 0; x < p.half.width; ++x)
            comparison.value(
                [&] {
                  return "halved of plane " + std::to_string(plane) + " (x " + std::to_string(x) +
                         ", y " + std::to_string(y) + ')';
                },
                xcorr::row_of<T>(expected, p.half_pitch, y)[x],
                xcorr::row_of<T>(actual, p.half_pitch, y)[x], bound);
      }
    });
  }
} const pyramid_down_test;

}  // namespace
}  // namespace checkcorr
