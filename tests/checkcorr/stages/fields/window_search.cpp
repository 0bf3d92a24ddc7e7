// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_search: of integers places and scores bit for bit, and parts of a pixel but for
// the rounding of logarithms; of floats what sums in another order leave of them; of windows all
// over the reference and of grids, expected where they are, elsewhere, and outside, and of deformed
// images.
#include "stages/fields/window_search.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class WindowSearchTest final : public StageTest<xcorr::stage::WindowSearch> {
  bool concerns(const Case& c) const override { return is_fielded(c); }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int which = c.left.width + c.right.height;
    Problem p;
    p.frame = c.left;
    p.pitch = scenario.problem.correlate.left_pitch;
    p.frame_pitch = moved_pitch(c);
    p.window = field_window(c, 64);
    p.range = 1 + which % (p.window > 20 ? 4 : p.window > 12 ? 9 : 20);
    if (c.type == ElementType::u16 && p.window > 32) p.range = 8 + which % 12;
    // Also as many shifts as tiles hold, and one more; none at all, and more than they hold.
    if (c.type == ElementType::f32 && which % 5)
      p.range = which % 2 ? (4 + which) % 19 : 8 << which / 2 % 2;
    p.subpixel = static_cast<xcorr::FieldSubpixel>(which % 3);
    p.symmetric = which % 4 == 1;
    p.masked = has_mask(c);
    p.count = across * across;
    p.type = c.type;
    const bool is_alone = c.type == ElementType::u8 &&
                          (c.fill != Fill::reals || c.misalign > 0 || c.left.width >= 160);
    if (c.right.width % 3 == 1 && !is_alone) {
      p.pairs = 3;
      p.pair = c.right.height % 3;
    }
    if (which % 3 != 1) set_grid(p, which);
    // For searches that share what windows have in common.
    if (p.spacing % 8 == 0 && p.window <= 32 && p.window > p.spacing) p.range = 8 + which % 9;
    return p;
  }
  static constexpr int across = 3;  ///< windows, where they are no grid

  /// A grid of windows that mostly are a few times as large as its spacing.
  static void set_grid(Problem& p, int which) {
    p.spacing = p.window;
    for (int share = 2 + which % 4; share > 1 && p.spacing == p.window; --share)
      if (p.window % share == 0) p.spacing = p.window / share;
    const auto fitting = [&](int length) { return (length - p.window) / p.spacing + 1; };
    p.columns = std::min(fitting(p.frame.width), which % 2 ? 18 : 2);
    p.count = p.columns * std::min(fitting(p.frame.height), std::max(2, 36 / p.columns));
  }
  static xcorr::InterrogationWindow window_of_grid(const Problem& p, int i) {
    xcorr::InterrogationWindow w;
    w.x = (p.frame.width - p.window) % p.spacing + i % p.columns * p.spacing;
    w.y = i / p.columns * p.spacing;
    w.dx = field_dx + 0.8F * (scattered(2 * i) - 0.5F);
    w.dy = field_dy + 0.8F * (scattered(2 * i + 1) - 0.5F);
    if (i % 10 == 9) w.status = xcorr::FieldStatus::out_of_range;
    return w;
  }
  static xcorr::InterrogationWindow window_anywhere(const Problem& p, int i) {
    xcorr::InterrogationWindow w;
    w.x = (p.frame.width - p.window) * (i % across) / (across - 1);
    w.y = (p.frame.height - p.window) * (i / across) / (across - 1);
    w.dx = field_dx + 2 * scattered(2 * i) - 1;
    w.dy = field_dy + 2 * scattered(2 * i + 1) - 1;
    if (i == 5) w.dx = -1e9F;
    if (i == 7) w.status = xcorr::FieldStatus::masked;
    return w;
  }

  xcorr::Status prepare(Scenario& scenario) const override {
    set_images(scenario);
    set_field_mask(scenario);
    const Problem p = problem(scenario);
    std::vector<xcorr::InterrogationWindow> windows;
    for (int i = 0; i < p.count; ++i) {
      xcorr::InterrogationWindow w = p.spacing ? window_of_grid(p, i) : window_anywhere(p, i);
      w.dx_by_x = 0.01F * static_cast<float>(i % 9);
      w.dy_by_x = -0.02F;
      if (p.symmetric) w.node_x = static_cast<float>(i % 2);
      if (!p.symmetric && i % 4 == 2) w.deformed_dx = 0.375F, w.deformed_dy = -7;
      windows.push_back(w);
    }
    set(scenario.values, "windows", windows);
    std::vector<float> sums;
    for (std::int64_t i = 0; p.pairs > 1 && p.pair > 0 && i < p.count * p.shifts() * p.shifts();
         ++i)
      sums.push_back(scattered(static_cast<int>(i)));
    set(scenario.values, "sums", sums);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const bool whole = problem(t.scenario).subpixel == xcorr::FieldSubpixel::none &&
                       !problem(t.scenario).symmetric;
    const Problem p = problem(t.scenario);
    const double of_scores = is_integral(p.type) ? 0 : 1e-6;
    compare_vectors(comparison, t.scenario.values, got, "vectors", whole ? 0 : 1e-5, 0, of_scores);
    const auto windows = view<xcorr::InterrogationWindow>(t.scenario.values, "windows");
    const auto right = view<float>(t.scenario.values, "next_sums"),
               made = view<float>(got, "next_sums");
    const int across = p.shifts();
    for (int i = 0; i < static_cast<int>(right.size()); ++i) {
      const xcorr::InterrogationWindow& window = windows[i / (across * across)];
      const xcorr::SearchedPlaces places(window, p.frame, p.window, p.range);
      if (window.status == xcorr::FieldStatus::ok &&
          places.contains(i % across, i / across % across))
        comparison.value([&] { return "next_sums[" + std::to_string(i) + ']'; }, right[i], made[i],
                         of_scores);
    }
  }
} const window_search_test;

}  // namespace
}  // namespace checkcorr
