// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage feature_fft, within 1e-5 of the largest value.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class FeatureFftTest final : public StageTest<xcorr::stage::FeatureFft> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario&) const override { return {tracked_windows}; }
  xcorr::Status prepare(Scenario& scenario) const override { return make_spectra(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_floats(comparison, t.scenario.values, got, "spectra", 1e-5, looked_at);
  }
} const feature_fft_test;

}  // namespace
}  // namespace checkcorr
