// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage turn: pictures, masks and sums bit for bit; an upright picture of full size is the
// template itself.
#include "posed.hpp"

namespace checkcorr {
namespace {

class TurnTest final : public StageTest<xcorr::stage::Turn> {
  bool concerns(const Case& c) const override { return is_posed(c); }
  bool takes(const Case& c, const Trial& trial) const override { return is_posed(c, trial); }
  Problem problem(const Scenario& scenario) const override { return turn_problem(scenario); }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_turn_inputs(scenario);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const int width = p.pyramid.size.width;
    for (const char* name : {"pictures", "masks"}) {
      const auto expected = view<std::uint8_t>(t.scenario.values, name),
                 actual = view<std::uint8_t>(got, name);
      for (std::size_t i = 0; i < expected.size(); ++i)
        comparison.value([&] { return name + ('[' + std::to_string(i) + ']'); }, expected[i],
                         actual[i], 0);
    }
    const auto pixels = first_template(t.scenario);
    const auto mask = view<std::uint8_t>(t.scenario.values, "mask"),
               pictures = view<std::uint8_t>(got, "pictures");
    for (std::size_t i = 0; i < pixels.size(); ++i)
      if (p.shift_u == 0 && (mask.empty() || mask[i]))
        comparison.value([&] { return "the upright picture[" + std::to_string(i) + ']'; },
                         pixels[i], pictures[i / width * p.most.width + i % width], 0);
    const auto expected = view<xcorr::TurnedSums>(t.scenario.values, "sums"),
               actual = view<xcorr::TurnedSums>(got, "sums");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto place = [&] { return "sums[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].counted, actual[i].counted, 0);
      comparison.value(place, expected[i].sums.sum, actual[i].sums.sum, 0);
      comparison.value(place, expected[i].sums.squares, actual[i].sums.squares, 0);
      comparison.value(place, expected[i].sums.n2_variance, actual[i].sums.n2_variance, 0);
    }
  }
} const turn_test;

}  // namespace
}  // namespace checkcorr
