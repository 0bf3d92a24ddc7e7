// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage probe: scores and places bit for bit, inside the frame, at its edges and past them, for
// all methods.
#include "stages/probe.hpp"
#include "posed.hpp"

namespace checkcorr {
namespace {

class ProbeTest final : public StageTest<xcorr::stage::Probe> {
  bool concerns(const Case& c) const override { return is_posed(c); }
  bool takes(const Case& c, const Trial& trial) const override { return is_posed(c, trial); }
  Problem problem(const Scenario& scenario) const override {
    const auto turned = turn_problem(scenario);
    // A method a case, so that each gets its share.
    const auto method = xcorr::methods()[(scenario.test.left.width + scenario.test.right.height) %
                                         xcorr::methods().size()]
                            .method;
    return {scenario.test.left, scenario.problem.correlate.left_pitch, method, turned.most,
            turned.count};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_turn_inputs(scenario);
    set_frame(scenario);
    if (auto s = scenario.make<xcorr::stage::Turn>(turn_problem(scenario)); !s.ok()) return s;
    const xcorr::Size frame = scenario.test.left;
    std::vector<xcorr::ProbePlace> expected;
    for (const xcorr::TurnMap& map : turn_maps(scenario.test)) {
      const int i = static_cast<int>(expected.size());
      expected.push_back({map.width, map.height, i * frame.width / 4 - 3, frame.height + i - 5});
    }
    set(scenario.values, "expected", expected);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto expected = view<xcorr::ProbedPlace>(t.scenario.values, "found"),
               actual = view<xcorr::ProbedPlace>(got, "found");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto place = [&] { return "found[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].is_inside, actual[i].is_inside, 0);
      if (!expected[i].is_inside) continue;
      comparison.value(place, expected[i].score, actual[i].score, 0);
      comparison.value(place, expected[i].x, actual[i].x, 0);
      comparison.value(place, expected[i].y, actual[i].y, 0);
    }
  }
} const probe_test;

}  // namespace
}  // namespace checkcorr
