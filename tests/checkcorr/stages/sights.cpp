// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage sights, to rounding, of made answers: sharp, dull and flat ones, targets that grow,
// shrink, stay or leave the frame; of half of the cases second looks.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class SightsTest final : public StageTest<xcorr::stage::Sights> {
  static constexpr int targets = 37, filters = 5;

  bool concerns(const Case& c) const override { return is_tracked(c); }
  bool takes(const Case& c, const Trial& trial) const override { return is_tracked(c, trial); }
  Problem problem(const Scenario& scenario) const override {
    return {targets, filters, {640, 480}, scenario.test.left.height % 2 == 1};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    using namespace xcorr::tracker;
    std::vector<Shown> shown;
    for (int i = 0; i < filters; ++i) shown.push_back({20.0 + 7 * i, 60.0 - 9 * i, 200.0 + i});
    std::vector<Look> looks;
    std::vector<Answer> answers;
    std::vector<xcorr::Sight> before;
    for (int i = 0; i < sizes * targets; ++i) {
      const int target = i % targets, filter = target * 3 % filters;
      const xcorr::Box box{17.0 * target - 20, 11.0 * target + 3, 30.0 + target, 40.0};
      looks.push_back(shown[filter].look_at(box, i / targets, filter));
      if (problem(scenario).again && target % 4 == 1) looks.back().side = 0;
      answers.push_back({i % 13 - 6 + 0.25, i % 7 - 3 - 0.125, (i * 37 % 101) / 100.0,
                         (target * 29 % 83) / 3.0 + i / targets});
      if (i < targets) before.push_back({box, 0.5, (target * 31 % 71) / 4.0});
    }
    set(scenario.values, "shown", shown);
    set(scenario.values, "looks_at_sizes", looks);
    set(scenario.values, "answers_at_sizes", answers);
    set(scenario.values, "before", problem(scenario).again ? before : std::vector<xcorr::Sight>());
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    compare_records<xcorr::Sight>(comparison, t, got, "sights", [](const xcorr::Sight& s) {
      return std::vector{s.box.x, s.box.y, s.box.width, s.box.height, s.response, s.sharpness};
    });
    if (problem(t.scenario).again) return;
    using xcorr::tracker::Look;
    compare_records<Look>(comparison, t, got, "next", [](const Look& l) {
      return std::vector{l.x, l.y, l.side, l.scale, static_cast<double>(l.filter)};
    });
  }

  template <class T, class Numbers>
  static void compare_records(Comparison& comparison, const Truth& t, const Values& got,
                              const char* name, Numbers numbers_of) {
    const auto right = view<T>(t.scenario.values, name), made = view<T>(got, name);
    for (std::size_t i = 0; i < right.size(); ++i) {
      const auto expected = numbers_of(right[i]), actual = numbers_of(made[i]);
      for (std::size_t k = 0; k < expected.size(); ++k)
        comparison.value(
            [&] {
              return std::string(name) + '[' + std::to_string(i) + "], number " + std::to_string(k);
            },
            expected[k], actual[k], 1e-9);
    }
  }
} const sights_test;

}  // namespace
}  // namespace checkcorr
