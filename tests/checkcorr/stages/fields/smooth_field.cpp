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
    const Case& c = scenario.test;
    Problem p{field_grid_of(c), c.left.height % 2 ? 0.4F : 0.9F, has_explicit_places(c)};
    if (!p.explicit_places && c.left.width % 2 == 0)
      p.bells = xcorr::FieldBells::before_pass(1 + c.left.height % 5, c.right.width % 2 == 0);
    return p;
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
