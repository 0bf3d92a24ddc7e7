// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage peaks.
#include "peaks.hpp"

namespace checkcorr {
namespace {

class PeaksTest final : public StageTest<xcorr::stage::Peaks> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override { return scenario.problem.peaks(); }
  xcorr::Status prepare(Scenario& scenario) const override {
    return scenario.make_overhang_scores();
  }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_candidates(); }
  void lay_out_inputs(const Problem&, Values& values) const override {
    if (values.contains("overhang_scores")) values["scores"] = values["overhang_scores"];
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_candidates(comparison, t, got);
  }
} const peaks_test;

}  // namespace
}  // namespace checkcorr
