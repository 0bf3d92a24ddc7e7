// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter_response: places within 0.005 of a cell, how high and how sharp to a thousandth.
#include <algorithm>
#include <cmath>

#include "tracked.hpp"

namespace checkcorr {
namespace {

class FilterResponseTest final : public StageTest<xcorr::stage::FilterResponse> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario&) const override {
    return {tracked_windows, tracked_filters, tracked_windows - 1};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (auto s = make_filters(scenario); !s.ok()) return s;
    // The third window's is far from where its filter responds most, and is still to be believed.
    std::vector<float> priors((tracked_windows - 1) * xcorr::tracker::cells);
    priors[2 * xcorr::tracker::cells + 7 * xcorr::tracker::grid + 11] = 3;
    set(scenario.values, "priors", priors);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<xcorr::tracker::ResponsePeak>(t.scenario.values, "response_peaks"),
               made = view<xcorr::tracker::ResponsePeak>(got, "response_peaks");
    for (const int i : looked_at) {
      const auto check = [&](const char* what, auto member, double bound) {
        comparison.value([&] { return "response_peaks[" + std::to_string(i) + "]." + what; },
                         right[i].*member, made[i].*member, bound);
      };
      using ResponsePeak = xcorr::tracker::ResponsePeak;
      check("x", &ResponsePeak::x, 0.005);
      check("y", &ResponsePeak::y, 0.005);
      check("response", &ResponsePeak::response, 1e-3);
      check("psr", &ResponsePeak::psr, 1e-3 * std::max(1.0, std::abs(double{right[i].psr})));
    }
  }
} const filter_response_test;

}  // namespace
}  // namespace checkcorr
