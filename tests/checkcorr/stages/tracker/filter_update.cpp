// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_update: running means within 1e-6 of the largest value, filters within 1e-4.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class FilterUpdateTest final : public StageTest<xcorr::stage::FilterUpdate> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario&) const override { return {2, tracked_filters}; }
  xcorr::Status prepare(Scenario& scenario) const override { return make_filters(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_floats(comparison, t.scenario.values, got, "next_means", 1e-6);
    compare_floats(comparison, t.scenario.values, got, "filters", 1e-4);
  }
} const filter_update_test;

}  // namespace
}  // namespace checkcorr
