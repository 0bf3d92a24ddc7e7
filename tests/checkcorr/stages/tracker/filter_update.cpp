// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_update: samples within 1e-6 of the largest value, filters within 3e-4: samples
// resemble each other, and what they have in common cancels.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class FilterUpdateTest final : public StageTest<xcorr::stage::FilterUpdate> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario&) const override { return {tracked_filters, tracked_filters}; }
  xcorr::Status prepare(Scenario& scenario) const override { return make_filters(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    std::vector<int> slots;
    for (const auto& sample : tracked_samples())
      for (int slot = 0; slot < sample.count; ++slot)
        slots.push_back(sample.filter * xcorr::tracker::samples_kept + slot);
    compare_floats(comparison, t.scenario.values, got, "next_samples", 1e-6, slots,
                   tracked_filters * xcorr::tracker::samples_kept);
    compare_floats(comparison, t.scenario.values, got, "filters", 3e-4);
  }
} const filter_update_test;

}  // namespace
}  // namespace checkcorr
