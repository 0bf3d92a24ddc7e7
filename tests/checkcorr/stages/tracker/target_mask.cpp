// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage target_mask: masks, bit for bit.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class TargetMaskTest final : public StageTest<xcorr::stage::TargetMask> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario& scenario) const override { return color_windows(scenario); }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = make_histograms(scenario); !s.ok()) return s;
    using Histograms = xcorr::tracker::ColorHistograms;
    const auto learnt = view<Histograms>(scenario.values, "histograms");
    std::vector<Histograms> histograms(learnt.begin(), learnt.end());
    for (int filter = 1; filter < tracked_windows; ++filter) {
      // Colours of which some are the target's, the fewer the higher the filter.
      for (int bin = 0; bin < xcorr::tracker::color_bins; ++bin)
        histograms[filter].posterior[bin] = static_cast<float>(bin * 5 % 17) / (14.0f + filter);
      histograms[filter].times = 1;
    }
    set(scenario.values, "histograms", histograms);
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<std::uint8_t>(t.scenario.values, "masks"),
               made = view<std::uint8_t>(got, "masks");
    for (const int filter : looked_at)
      for (int i = filter * xcorr::tracker::cells; i < (filter + 1) * xcorr::tracker::cells; ++i)
        comparison.value([&] { return "masks[" + std::to_string(i) + ']'; }, right[i], made[i], 0);
  }
} const target_mask_test;

}  // namespace
}  // namespace checkcorr
