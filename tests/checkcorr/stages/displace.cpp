// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage displace: places and scores bit for bit, and parts of a pixel but for the rounding of
// logarithms; of windows all over the reference, expected where they are, elsewhere, and outside,
// and of deformed pictures.
#include "stages/displace.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class DisplaceTest final : public StageTest<xcorr::stage::Displace> {
  bool concerns(const Case& c) const override { return is_fielded(c); }
  bool takes(const Case& c, const Trial& trial) const override { return is_fielded(c, trial); }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int which = c.left.width + c.right.height;
    Problem p;
    p.frame = c.left;
    p.pitch = scenario.problem.correlate.left_pitch;
    p.frame_pitch = moved_pitch(c);
    p.window = field_window(c, 64);
    p.range = 1 + which % (p.window > 20 ? 4 : p.window > 12 ? 9 : 20);
    p.subpixel = static_cast<xcorr::FieldSubpixel>(which % 3);
    p.symmetric = which % 4 == 1;
    p.masked = has_mask(c);
    p.count = 9;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_pictures(scenario);
    set_field_mask(scenario);
    const Problem p = problem(scenario);
    std::vector<xcorr::FieldWindow> windows;
    for (int i = 0; i < p.count; ++i) {
      xcorr::FieldWindow w;
      w.x = (p.frame.width - p.window) * (i % 3) / 2;
      w.y = (p.frame.height - p.window) * (i / 3) / 2;
      w.dx = field_dx + 2 * scattered(2 * i) - 1;
      w.dy = field_dy + 2 * scattered(2 * i + 1) - 1;
      w.dx_by_x = 0.01F * static_cast<float>(i);
      w.dy_by_x = -0.02F;
      if (p.symmetric) w.node_x = static_cast<float>(i % 2);
      if (!p.symmetric && i % 4 == 2) w.deformed_dx = 0.375F, w.deformed_dy = -7;
      if (i == 5) w.dx = -1e9F;
      if (i == 7) w.status = xcorr::FieldStatus::masked;
      windows.push_back(w);
    }
    set(scenario.values, "windows", windows);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const bool whole = problem(t.scenario).subpixel == xcorr::FieldSubpixel::none &&
                       !problem(t.scenario).symmetric;
    compare_vectors(comparison, t.scenario.values, got, "vectors", whole ? 0 : 1e-5, 0, 0);
  }
} const displace_test;

}  // namespace
}  // namespace checkcorr
