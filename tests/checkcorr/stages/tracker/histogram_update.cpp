// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage histogram_update, within 1e-6: counts are exact. It is tried without learning, too.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class HistogramUpdateTest final : public StageTest<xcorr::stage::HistogramUpdate> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario& scenario) const override { return {color_windows(scenario)}; }
  std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem p) const override {
    p.learns = false;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override { return make_histograms(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    using Histograms = xcorr::tracker::ColorHistograms;
    const auto right = view<Histograms>(t.scenario.values, "histograms"),
               made = view<Histograms>(got, "histograms");
    const auto likeness = view<double>(t.scenario.values, "likeness"),
               made_likeness = view<double>(got, "likeness");
    for (const int i : looked_at) {
      comparison.value([&] { return "likeness[" + std::to_string(i) + "]"; }, likeness[i],
                       made_likeness[i], 1e-6);
      if (made.empty()) continue;
      const auto check = [&](const char* what, double expected, double value) {
        comparison.value([&] { return "histograms[" + std::to_string(i) + "]." + what; }, expected,
                         value, 1e-6);
      };
      for (int bin = 0; bin < xcorr::tracker::color_bins; ++bin) {
        check("target", right[i].target[bin], made[i].target[bin]);
        check("around", right[i].around[bin], made[i].around[bin]);
        check("posterior", right[i].posterior[bin], made[i].posterior[bin]);
        check("first", right[i].first[bin], made[i].first[bin]);
      }
      check("inside", right[i].inside, made[i].inside);
      check("outside", right[i].outside, made[i].outside);
      check("times", right[i].times, made[i].times);
    }
  }
} const histogram_update_test;

}  // namespace
}  // namespace checkcorr
