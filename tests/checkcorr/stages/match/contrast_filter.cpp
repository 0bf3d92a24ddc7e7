// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage contrast_filter: bit for bit, but for windows of f32 whose contrast is so close to what
// is asked for that rounding decides.
#include <cmath>

#include "norms.hpp"

namespace checkcorr {
namespace {

class ContrastFilterTest final : public StageTest<xcorr::stage::ContrastFilter> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.contrast_filtering();
  }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_scores(); }
  xcorr::Status make_truth(Scenario& scenario) const override {
    return scenario.make_contrast_filtered();
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto expected = view<float>(t.scenario.values, "contrast_filtered"),
               actual = view<float>(got, "contrast_filtered");
    const auto area = static_cast<std::size_t>(p.correlate.shifts.size().area());
    const double n = static_cast<double>(p.pixels());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double sum = t.scenario.window_sum_at(i % area) / n,
                   square = t.scenario.window_square_at(i % area) / n;
      const double asked = p.contrast.least * p.contrast.least;
      const bool undecided = p.correlate.type == ElementType::f32 && asked > 0 &&
                             std::abs(square - sum * sum - asked) < 1e-12 * (square + asked);
      if (!undecided) comparison.element("contrast_filtered", i, expected[i], actual[i], 0);
    }
  }
} const contrast_filter_test;

}  // namespace
}  // namespace checkcorr
