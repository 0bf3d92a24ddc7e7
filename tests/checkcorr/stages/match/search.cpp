// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage search.
#include "peaks.hpp"

namespace checkcorr {
namespace {

class SearchTest final : public StageTest<xcorr::stage::Search> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override { return scenario.problem.search(); }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_window_sums(); }
  xcorr::Status make_truth(Scenario& scenario) const override { return scenario.make_peaks(); }
  bool keeps_something() const override { return true; }
  Problem planned(const Problem& p) const override {
    Problem told = p;
    told.correlate.left_pitch = p.correlate.left.width;
    return told;
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto& variant = static_cast<const Variant&>(t.variant);
    if (variant.extra.refines && variant.extra.refines(problem(t.scenario)))
      compare_peaks(comparison, t, got);
    compare_candidates(comparison, t, got);
  }
} const search_test;

}  // namespace
}  // namespace checkcorr
