// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage deform: pixels to a step of gray, and that only where the exact value lies near the
// middle between two: of few.
#include "stages/deform.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class DeformTest final : public StageTest<xcorr::stage::Deform> {
  bool concerns(const Case& c) const override { return is_fielded(c) && !is_listed(c); }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && is_fielded(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const Size most{(c.left.width + 2) / 3, (c.left.height + 2) / 3}, grid = field_grid_of(c);
    const int margin = c.right.height % 3;
    const xcorr::FieldGrid vectors{
        {std::min(grid.width, most.width), std::min(grid.height, most.height)}, 1, 0, 3, 4};
    return {c.left,
            margin,
            c.left.width + 2 * margin + c.pad,
            spline_problem(c).degree,
            vectors,
            c.left.height % 2 ? 1.F : -0.5F};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_spline_inputs(scenario);
    set(scenario.values, "vectors", made_field(problem(scenario).grid.count));
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    if (auto s = scenario.make<xcorr::stage::Spline>(spline_problem(scenario.test)); !s.ok())
      return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto right = view<std::uint8_t>(t.scenario.values, "deformed"),
               made = view<std::uint8_t>(got, "deformed");
    int differ = 0;
    for (int y = 0; y < p.deformed_size().height; ++y)
      for (int x = 0; x < p.deformed_size().width; ++x) {
        const auto at = static_cast<std::size_t>(y * p.pitch + x);
        const auto place = [=] {
          return "deformed (x " + std::to_string(x) + ", y " + std::to_string(y) + ')';
        };
        comparison.value(place, right[at], made[at], 1);
        differ += right[at] != made[at];
      }
    comparison.value([] { return std::string("pixels that differ"); }, 0, differ,
                     2 + 0.01 * static_cast<double>(p.deformed_size().area()));
  }
} const deform_test;

}  // namespace
}  // namespace checkcorr
