// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage smooth_field: averages with neighbours, of vectors of every status, but for rounding;
// by scores, too.
#include "stages/fields/smooth_field.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class SmoothFieldTest final : public StageTest<xcorr::stage::SmoothField> {
  bool concerns(const Case& c) const override { return is_fielded(c); }
  Problem problem(const Scenario& scenario) const override {
    return {field_grid_of(scenario.test), scenario.test.left.height % 2 ? 0.4F : 0.9F,
            has_explicit_places(scenario.test),
            !has_explicit_places(scenario.test) && scenario.test.left.width % 2 == 0};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    set(scenario.values, "vectors", made_field(p.grid));
    set(scenario.values, "neighbours", made_neighbours(p.explicit_places ? p.grid.area() : 0));
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_vectors(comparison, t.scenario.values, got, "smoothed", 1e-4, 0, 0);
  }
} const smooth_field_test;

}  // namespace
}  // namespace checkcorr
