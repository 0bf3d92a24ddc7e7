// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage search.
#include <algorithm>

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
  /// With window sums of the lead plane alone.
  std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem p) const override {
    if (p.lead_plane < 0) return std::nullopt;
    p.lead_sums_only = true;
    return p;
  }
  void lay_out_inputs(const Problem& p, Values& values) const override {
    if (!p.lead_sums_only) return;
    for (const char* name : {"window_sums", "window_squares"}) {
      auto& bytes = values[name];
      std::fill(bytes.begin() + bytes.size() / p.correlate.planes, bytes.end(), std::byte{0xa5});
    }
  }
  bool may_change(const Problem& p, const std::string& name) const override {
    return p.lead_sums_only && name.starts_with("window_");
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
