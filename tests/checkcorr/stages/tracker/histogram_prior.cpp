// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage histogram_prior, within 1e-5 of the largest value.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class HistogramPriorTest final : public StageTest<xcorr::stage::HistogramPrior> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario& scenario) const override { return color_windows(scenario); }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = make_histograms(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_floats(comparison, t.scenario.values, got, "color_priors", 1e-5, looked_at);
  }
} const histogram_prior_test;

}  // namespace
}  // namespace checkcorr
