// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage fit: displacements within 2e-3 of a pixel, and slopes as far as they move a window's
// rim by that, from expectations that are right, a little off, and of windows that are left out.
// Only cases of random pixels: of others steps may be determined by rounding.
#include "stages/fields/fit.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class FitTest final : public StageTest<xcorr::stage::Fit> {
  bool concerns(const Case& c) const override {
    return is_fielded(c) && c.fill == Fill::reals && c.left.width >= 20 && c.left.height >= 20;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int which = c.right.width + c.right.height + c.left.width;
    Problem p;
    p.frame = c.left;
    p.pitch = scenario.problem.correlate.left_pitch;
    p.window = std::max(field_window(c, 11), 7);
    p.order = which % 3;
    p.degree = spline_problem(c).degree;
    p.weight_sigma = which / 4 % 2 ? 4.F : 0.F;
    p.symmetric = which / 2 % 3 == 1;
    p.masked = has_mask(c);
    p.again = which % 5 == 2;
    p.limits.min_ratio = 1.5F;
    p.count = 6;
    p.type = c.type;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_spline_inputs(scenario);
    set_field_mask(scenario);
    const Problem p = problem(scenario);
    if (auto s = scenario.make<xcorr::stage::Spline>(spline_problem(scenario.test)); !s.ok())
      return s;
    std::vector<xcorr::InterrogationWindow> windows;
    std::vector<xcorr::FieldBend> bends;
    std::vector<xcorr::FieldVector> measured;
    for (int i = 0; i < p.count; ++i) {
      xcorr::InterrogationWindow w;
      w.x = 3 + (p.frame.width - p.window - 7) * (i % 3) / 2;
      w.y = 3 + (p.frame.height - p.window - 7) * (i / 3);
      w.dx = field_dx + 0.2F * scattered(2 * i) - 0.1F;
      w.dy = field_dy + 0.2F * scattered(2 * i + 1) - 0.1F;
      if (i == 2) w.dx_by_x = 0.004F;
      if (p.symmetric) w.node_x = 1;
      if (i == 3) w.status = xcorr::FieldStatus::masked;
      windows.push_back(w);
      if (p.order == 2)
        bends.push_back(i % 2 == 0
                            ? xcorr::FieldBend{0.001F, -0.002F, 0.0015F, -0.001F, 0.0005F, 0.001F}
                            : xcorr::FieldBend{});
      xcorr::FieldVector v;
      v.x = static_cast<float>(w.x) + 0.5F * static_cast<float>(p.window - 1) + w.node_x;
      v.y = static_cast<float>(w.y) + 0.5F * static_cast<float>(p.window - 1);
      v.dx = w.dx;
      v.dy = w.dy;
      v.score = i == 4 ? 0.999F : 0.4F;
      v.ratio = i == 0 ? 1.2F : 2.F;
      v.status = i == 1              ? xcorr::FieldStatus::flat
                 : p.again && i != 2 ? xcorr::FieldStatus::replaced
                                     : xcorr::FieldStatus::ok;
      measured.push_back(v);
    }
    set(scenario.values, "windows", windows);
    set(scenario.values, "bends", bends);
    set(scenario.values, "measured", measured);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const double bound = 2e-3;
    compare_vectors(comparison, t.scenario.values, got, "vectors", bound,
                    2 * bound / problem(t.scenario).window, bound);
  }
} const fit_test;

}  // namespace
}  // namespace checkcorr
