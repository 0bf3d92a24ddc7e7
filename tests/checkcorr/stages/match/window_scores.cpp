// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_scores, against the oracle's window sums and scores: of exact products of bytes
// bit for bit; others within 4 eps |score| and what the formula's cancellation makes of eps64, as
// often as a window's sums round.
#include <cfloat>
#include <cmath>

#include "norms.hpp"
#include "scores.hpp"
#include "stages/match/window_scores.hpp"

namespace checkcorr {
namespace {

class WindowScoresTest final : public StageTest<xcorr::stage::WindowScores> {
  bool concerns(const Case& c) const override { return !c.filter && is_matching(c); }
  bool takes(const Case& c, const Trial& trial) const override {
    const bool centred = trial.centred && c.type != ElementType::u16 &&
                         (c.type != ElementType::u8 || c.mask == Mask::none);
    return concerns(c) && trial.method && (centred || is_usual(c, trial));
  }
  std::string suffix(const Trial& trial) const override {
    return AnyStageTest::suffix(trial) + (trial.centred ? "/centred" : "") +
           (trial.with_error ? "-with-error" : "");
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.normalisation();
  }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_products(); }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_scores(); }

  std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem p) const override {
    p.product_pitch = p.correlate.shifts.width + 5;
    p.product_stride = p.product_pitch * p.correlate.shifts.height + 3;
    return p;
  }
  void lay_out_inputs(const Problem& p, Values& values) const override {
    values["products"] = spread(rows_of(p), values["products"]);
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<float>(t.scenario.values, "scores"),
               actual = view<float>(got, "scores");
    const auto rights = view<TemplateSums>(t.scenario.values, "template_sums");
    const xcorr::Problem& p = t.scenario.problem.correlate;
    const bool exact = t.scenario.problem.products != ElementType::f32;
    const double roundings =
        p.type == ElementType::f32 ? 1 + std::sqrt(static_cast<double>(p.right.area())) : 1;
    const auto area = static_cast<std::size_t>(p.shifts.size().area());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double bound = exact ? 0
                                 : 4 * FLT_EPSILON * std::abs(expected[i]) +
                                       roundings * score_bound(t.scenario.problem.method,
                                                               window_at(t.scenario, i % area),
                                                               rights[i / area], expected[i]);
      comparison.element("scores", i, expected[i], actual[i], bound);
    }
  }
} const window_scores_test;

}  // namespace
}  // namespace checkcorr
