// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What tests of stages that make scores of products have in common: scores of exact products of
// bytes are compared bit for bit; others within 4 eps |score| and what the formula's cancellation
// makes of eps64.
#pragma once

#include <cfloat>

#include "norms.hpp"
#include "scores.hpp"
#include "stages/match/normalise.hpp"

namespace checkcorr {

template <class Stage>
class ScoresTest : public WithProductsApart<StageTest<Stage>> {
 protected:
  using Base = StageTest<Stage>;
  using Problem = typename Base::Problem;
  using Variant = typename Base::Variant;

  /// As often as a window's sums round, beyond those that are given.
  virtual double roundings(const xcorr::Problem&) const { return 1; }

  std::string suffix(const Trial& trial) const override {
    return AnyStageTest::suffix(trial) + (trial.centred ? "/centred" : "") +
           (trial.with_error ? "-with-error" : "");
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.normalisation();
  }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_scores(); }

  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<float>(t.scenario.values, "scores"),
               actual = view<float>(got, "scores");
    const auto rights = view<TemplateSums>(t.scenario.values, "template_sums");
    const xcorr::Problem& p = t.scenario.problem.correlate;
    const bool exact = t.scenario.problem.products != ElementType::f32;
    const auto area = static_cast<std::size_t>(p.shifts.size().area());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const double bound =
          exact ? 0
                : 4 * FLT_EPSILON * std::abs(expected[i]) +
                      roundings(p) *
                          score_bound(
                              t.scenario.problem.method, window_at(t.scenario, i % area),
                              sums_of_right(p, rights.data(), static_cast<std::int64_t>(i / area)),
                              expected[i]);
      comparison.element("scores", i, expected[i], actual[i], bound);
    }
  }
};

}  // namespace checkcorr
