// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage spline: coefficients within 0.005 of a step of gray, of which there are 255.
#include "stages/fields/spline.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class SplineTest final : public StageTest<xcorr::stage::Spline> {
  Problem problem(const Scenario& scenario) const override { return spline_problem(scenario.test); }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_spline_inputs(scenario);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<float>(t.scenario.values, "coefficients"),
               made = view<float>(got, "coefficients");
    const double bound = 0.005 * scale_of(t.scenario.test, t.scenario.values, "pixels");
    for (std::size_t i = 0; i < right.size(); ++i)
      comparison.value([&] { return "coefficients[" + std::to_string(i) + ']'; }, right[i], made[i],
                       bound);
  }
} const spline_test;

}  // namespace
}  // namespace checkcorr
