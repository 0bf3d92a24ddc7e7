// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage halve: bytes, bit for bit, of a case's first left.
#include "stages/halve.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

class HalveTest final : public StageTest<xcorr::stage::Halve> {
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c) && c.left.width >= 2 &&
           c.left.height >= 2;
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && !trial.method && !trial.centred;
  }
  Problem problem(const Scenario& scenario) const override {
    const xcorr::Size half = xcorr::half_of(scenario.test.left);
    return {half, scenario.problem.correlate.left_pitch, half.width + scenario.test.pad};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const auto& lefts = scenario.values["lefts"];
    const Problem p = problem(scenario);
    scenario.values["pixels"].assign(
        lefts.begin(), lefts.begin() + (2 * p.half.height - 1) * p.pitch + 2 * p.half.width);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    comparison.picture("halved", p.half, p.half_pitch,
                       view<std::uint8_t>(t.scenario.values, "halved"),
                       view<std::uint8_t>(got, "halved"));
  }
} const halve_test;

}  // namespace
}  // namespace checkcorr
