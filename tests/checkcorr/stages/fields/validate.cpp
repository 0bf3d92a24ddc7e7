// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage validate: which vectors are replaced, and by what, but for rounding.
#include "stages/fields/validate.hpp"

#include <cmath>

#include "fielded.hpp"

namespace checkcorr {
namespace {

class ValidateTest final : public StageTest<xcorr::stage::Validate> {
  bool concerns(const Case& c) const override { return is_fielded(c); }
  Problem problem(const Scenario& scenario) const override {
    const int which = scenario.test.left.height % 3;
    return {field_grid_of(scenario.test),
            {which == 0 ? 0.F : 1.5F, 0.13F, which == 1 ? 0.55F : -1.F, which == 2 ? 1.2F : 1.F},
            has_explicit_places(scenario.test)};
  }
  /// Every second field bends within a few windows.
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    auto vectors = made_field(p.grid);
    for (xcorr::FieldVector& v : vectors) {
      if (p.grid.width % 2 == 0) break;
      v.dx += 3 * std::cos(0.2F * v.x) * std::cos(0.17F * v.y);
      v.dy += 3 * std::sin(0.2F * v.x) * std::sin(0.17F * v.y);
    }
    set(scenario.values, "vectors", vectors);
    set(scenario.values, "neighbours", made_neighbours(p.explicit_places ? p.grid.area() : 0));
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_vectors(comparison, t.scenario.values, got, "validated", 1e-5, 0, 0);
  }
} const validate_test;

}  // namespace
}  // namespace checkcorr
