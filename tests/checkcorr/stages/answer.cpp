// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage answer: places within 0.005 of a cell, how high and how sharp to a thousandth.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class AnswerTest final : public StageTest<xcorr::stage::Answer> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  bool takes(const Case& c, const Trial& trial) const override { return is_tracked(c, trial); }
  Problem problem(const Scenario&) const override { return {tracked_windows, tracked_filters}; }
  xcorr::Status prepare(Scenario& scenario) const override { return make_filters(scenario); }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<xcorr::tracker::Answer>(t.scenario.values, "answers"),
               made = view<xcorr::tracker::Answer>(got, "answers");
    for (const int i : looked_at) {
      const auto check = [&](const char* what, auto member, double bound) {
        comparison.value([&] { return "answers[" + std::to_string(i) + "]." + what; },
                         right[i].*member, made[i].*member, bound);
      };
      using Answer = xcorr::tracker::Answer;
      check("x", &Answer::x, 0.005);
      check("y", &Answer::y, 0.005);
      check("response", &Answer::response, 1e-3);
      check("sharpness", &Answer::sharpness, 1e-3 * right[i].sharpness);
    }
  }
} const answer_test;

}  // namespace
}  // namespace checkcorr
