// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage normalise: scores of exact products of bytes bit for bit; others within 4 eps |score|
// and what the formula's cancellation makes of eps64.
#include <cfloat>

#include "norms.hpp"
#include "scores.hpp"

namespace checkcorr {
namespace {

class NormaliseTest final : public StageTest<xcorr::stage::Normalise> {
  bool concerns(const Case& c) const override { return !c.filter && is_matching(c); }
  bool takes(const Case& c, const Trial& trial) const override {
    // Centred products of u16, of masked bytes and of planes of bytes do not exist, nor an error of
    // those of several planes.
    const bool centred = trial.centred && c.type != ElementType::u16 &&
                         !(trial.with_error && c.planes > 1) &&
                         (c.type != ElementType::u8 || (c.mask == Mask::none && c.planes == 1));
    return concerns(c) && trial.method && (centred || is_usual(c, trial));
  }
  std::string suffix(const Trial& trial) const override {
    return AnyStageTest::suffix(trial) + (trial.centred ? "/centred" : "") +
           (trial.with_error ? "-with-error" : "");
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.normalisation();
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = scenario.make_products(); !s.ok()) return s;
    return scenario.make_window_sums();
  }
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
    const bool exact = t.scenario.problem.products != ElementType::f32;
    const auto area = static_cast<std::size_t>(t.scenario.problem.correlate.shifts.size().area());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double bound =
          exact ? 0
                : 4 * FLT_EPSILON * std::abs(expected[i]) +
                      score_bound(t.scenario.problem.method, window_at(t.scenario, i % area),
                                  sums_of_right(t.scenario.problem.correlate, rights.data(),
                                                static_cast<std::int64_t>(i / area)),
                                  expected[i]);
      comparison.element("scores", i, expected[i], actual[i], bound);
    }
  }
} const normalise_test;

}  // namespace
}  // namespace checkcorr
