// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage smooth: a case's first template, within a rounding.
#include "stages/poses/smooth.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

class SmoothTest final : public StageTest<xcorr::stage::Smooth> {
  bool concerns(const Case& c) const override { return is_posed(c); }
  Problem problem(const Scenario& scenario) const override {
    return {scenario.test.right, scenario.test.type};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    with_pixels(scenario.test.type,
                [&]<class T>() { set(scenario.values, "pixels", first_template<T>(scenario)); });
    const auto [width, height] = scenario.test.right;
    std::vector<std::uint8_t> counted;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        counted.push_back(x > 0 && y > 0 && x + 1 < width && y + 1 < height && (x * y) % 7 != 3);
    set(scenario.values, "counted", counted);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<xcorr::SmoothedPixel>(t.scenario.values, "smoothed"),
               actual = view<xcorr::SmoothedPixel>(got, "smoothed");
    const double bound = with_pixels(t.scenario.test.type, [&]<class T>() {
      double largest = 0;
      for (const T pixel : view<T>(t.scenario.values, "pixels"))
        largest = std::max(largest, std::abs(double(pixel)));
      return 4e-7 * largest;
    });
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto place = [&] { return "smoothed[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].value, actual[i].value, bound);
      comparison.value(place, expected[i].by_u, actual[i].by_u, bound);
      comparison.value(place, expected[i].by_v, actual[i].by_v, bound);
      comparison.value(place, expected[i].counts, actual[i].counts, 0);
    }
  }
} const smooth_test;

}  // namespace
}  // namespace checkcorr
