// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage build_pyramid: all levels with their rims, integers bit for bit. What lies past these
// may be anything.
#include "stages/poses/build_pyramid.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

class BuildPyramidTest final : public StageTest<xcorr::stage::BuildPyramid> {
  bool concerns(const Case& c) const override { return !c.filter && is_matching(c); }
  Problem problem(const Scenario& scenario) const override {
    const auto element = static_cast<std::int64_t>(size_of(scenario.test.type));
    return {template_pyramid(scenario.test),
            (scenario.test.right.width + scenario.test.pad) * element, scenario.test.type};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    with_pixels(scenario.test.type, [&]<class T>() {
      const int width = scenario.test.right.width;
      std::vector<T> rows;
      for (const T pixel : first_template<T>(scenario)) {
        const std::size_t of_row = rows.size() % (width + scenario.test.pad);
        if (of_row == static_cast<std::size_t>(width)) rows.resize(rows.size() + scenario.test.pad);
        rows.push_back(pixel);
      }
      set(scenario.values, "pixels", rows);
    });
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    with_pixels(t.scenario.test.type, [&]<class T>() {
      const double bound = rounding_of(view<T>(t.scenario.values, "pixels"));
      const auto expected = view<T>(t.scenario.values, "pyramid"), actual = view<T>(got, "pyramid");
      const xcorr::TemplatePyramid pyramid = problem(t.scenario).pyramid;
      for (int level = 0; level <= pyramid.halvings; ++level) {
        constexpr int around = xcorr::TemplatePyramid::before + xcorr::TemplatePyramid::behind;
        const auto [width, height] = pyramid.size_of(level);
        for (int y = 0; y < height + around; ++y)
          for (int x = 0; x < width + around; ++x) {
            const std::int64_t at =
                pyramid.begin_of(level) + std::int64_t{y} * pyramid.pitch_of(level) + x;
            comparison.value(
                [&] {
                  return "level " + std::to_string(level) + " (x " + std::to_string(x) + ", y " +
                         std::to_string(y) + ')';
                },
                expected[at], actual[at], bound);
          }
      }
    });
  }
} const build_pyramid_test;

}  // namespace
}  // namespace checkcorr
