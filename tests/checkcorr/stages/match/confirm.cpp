// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage confirm: differences to the rounding of means and gains.
#include "stages/match/confirm.hpp"

#include "norms.hpp"

namespace checkcorr {
namespace {

class ConfirmTest final : public StageTest<xcorr::stage::Confirm> {
  bool concerns(const Case& c) const override {
    return StageTest::concerns(c) && c.planes != xcorr::edge_planes;
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override { return scenario.problem.confirming(); }
  xcorr::Status prepare(Scenario& scenario) const override { return scenario.make_peaks(); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto counts = view<std::uint32_t>(t.scenario.values, "peak_counts");
    const auto expected = view<float>(t.scenario.values, "differences"),
               actual = view<float>(got, "differences");
    const xcorr::Problem& p = t.scenario.problem.correlate;
    for (std::size_t r = 0; r < counts.size(); ++r)
      for (std::size_t k = 0; k < counts[r]; ++k) {
        const std::size_t i = r * static_cast<std::size_t>(t.scenario.problem.max_peaks) + k;
        const double norm = with_pixels(p.type, [&]<class T>() {
          return norm_of<T>(t.scenario.values, "templates", p.right, p.right_pitch,
                            static_cast<std::int64_t>(r) * p.right_stride, false);
        });
        comparison.value([&] { return "differences[" + std::to_string(i) + ']'; }, expected[i],
                         actual[i], 1e-6 * expected[i] + 1e-9 * norm);
      }
  }
} const confirm_test;

}  // namespace
}  // namespace checkcorr
