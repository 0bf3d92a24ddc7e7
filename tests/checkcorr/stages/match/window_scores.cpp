// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_scores: scores of given products, against the oracle's window sums and scores.
#include <cmath>

#include "scores_test.hpp"
#include "stages/match/window_scores.hpp"

namespace checkcorr {
namespace {

class WindowScoresTest final : public ScoresTest<xcorr::stage::WindowScores> {
  double roundings(const xcorr::Problem& p) const override {
    return p.type == ElementType::f32 ? 1 + std::sqrt(static_cast<double>(p.right.area())) : 1;
  }
  bool takes(const Case& c, const Trial& trial) const override {
    const bool centred = trial.centred && c.type != ElementType::u16 &&
                         (c.type != ElementType::u8 || c.mask == Mask::none);
    return concerns(c) && trial.method && (centred || is_usual(c, trial));
  }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_products(); }
} const window_scores_test;

}  // namespace
}  // namespace checkcorr
