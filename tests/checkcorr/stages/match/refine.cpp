// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage refine.
#include "peaks.hpp"

namespace checkcorr {
namespace {

class RefineTest final : public StageTest<xcorr::stage::Refine> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override { return scenario.problem.refinement(); }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_candidates(); }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_peaks(); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_peaks(comparison, t, got);
  }
} const refine_test;

}  // namespace
}  // namespace checkcorr
