// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage overhang_scores: within a few roundings of a float, as what comes from sums in double.
#include "stages/match/overhang_scores.hpp"
#include "scores.hpp"

namespace checkcorr {
namespace {

class OverhangScoresTest final : public StageTest<xcorr::stage::OverhangScores> {
  bool concerns(const Case& c) const override {
    return !c.filter && is_matching(c) && !c.picture.empty();
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && xcorr::info(*trial.method).normed && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.overhang_scoring();
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    return scenario.make_contrast_filtered();
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    return scenario.make_overhang_scores();
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<float>(t.scenario.values, "overhang_scores"),
               actual = view<float>(got, "overhang_scores");
    for (std::size_t i = 0; i < expected.size(); ++i)
      comparison.element("overhang_scores", i, expected[i], actual[i], 4 * FLT_EPSILON);
  }
} const overhang_scores_test;

}  // namespace
}  // namespace checkcorr
