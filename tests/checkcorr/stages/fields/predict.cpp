// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage predict: where windows lie, bit for bit, and what is expected of them, but for
// rounding; from a grid to the same one and to others, finer and reaching farther, and of lists;
// bent or not; of deformed images.
#include "stages/fields/predict.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

using xcorr::FieldBend;
using xcorr::InterrogationWindow;

class PredictTest final : public StageTest<xcorr::stage::Predict> {
  bool concerns(const Case& c) const override { return is_fielded(c); }
  Problem problem(const Scenario& scenario) const override {
    const bool explicit_places = has_explicit_places(scenario.test);
    Size grid = field_grid_of(scenario.test);
    if (explicit_places) grid = {static_cast<int>(grid.area()), 1};
    const xcorr::FieldGrid from{grid, 3, 1, 10, 16};
    Problem p{{300, 280}, from, from, scenario.test.left.width % 2 == 0, explicit_places};
    p.bent = scenario.test.left.height % 3 != 1;
    if (!explicit_places && !p.bent) {
      p.to = {{2 * grid.width + 1, 2 * grid.height}, 0, 4, 5, 9};
      p.deformed = scenario.test.left.width % 3 == 0;
      p.margin = p.deformed ? 5 : 0;
      if (p.deformed) p.frame = {5 * grid.width + 18, 5 * grid.height + 22};  // some move out of it
    }
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    set(scenario.values, "vectors", made_field(p.from.count));
    std::vector<xcorr::FieldStatus> nodes;
    for (int i = 0; i < p.to.count.area(); ++i)
      nodes.push_back(i % 5 == 1 ? xcorr::FieldStatus::masked : xcorr::FieldStatus::ok);
    std::vector<InterrogationWindow> explicit_windows;
    for (int i = 0; i < p.to.count.area(); ++i) {
      InterrogationWindow window{static_cast<int>(280 * scattered(i)),
                                 static_cast<int>(260 * scattered(-i))};
      window.status = nodes[i];
      explicit_windows.push_back(window);
    }
    set(scenario.values, "nodes", p.explicit_places ? std::vector<xcorr::FieldStatus>() : nodes);
    set(scenario.values, "explicit_windows",
        p.explicit_places ? explicit_windows : std::vector<InterrogationWindow>());
    set(scenario.values, "neighbours", made_neighbours(p.explicit_places ? p.to.count.area() : 0));
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<InterrogationWindow>(t.scenario.values, "windows"),
               made = view<InterrogationWindow>(got, "windows");
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto place = [&] { return "windows[" + std::to_string(i) + ']'; };
      comparison.value(place, right[i].x, made[i].x, 0);
      comparison.value(place, right[i].y, made[i].y, 0);
      comparison.value(place, static_cast<int>(right[i].status), static_cast<int>(made[i].status),
                       0);
      for (const auto member :
           {&InterrogationWindow::dx, &InterrogationWindow::dy, &InterrogationWindow::dx_by_x,
            &InterrogationWindow::dx_by_y, &InterrogationWindow::dy_by_x,
            &InterrogationWindow::dy_by_y, &InterrogationWindow::node_x,
            &InterrogationWindow::node_y, &InterrogationWindow::deformed_dx,
            &InterrogationWindow::deformed_dy})
        comparison.value(place, right[i].*member, made[i].*member, 2e-5);
    }
    const auto right_bends = view<FieldBend>(t.scenario.values, "bends"),
               made_bends = view<FieldBend>(got, "bends");
    for (std::size_t i = 0; i < right_bends.size(); ++i)
      for (const auto member : {&FieldBend::dx_by_xx, &FieldBend::dx_by_xy, &FieldBend::dx_by_yy,
                                &FieldBend::dy_by_xx, &FieldBend::dy_by_xy, &FieldBend::dy_by_yy})
        comparison.value([&] { return "bends[" + std::to_string(i) + ']'; }, right_bends[i].*member,
                         made_bends[i].*member, 1e-6);
  }
} const predict_test;

}  // namespace
}  // namespace checkcorr
