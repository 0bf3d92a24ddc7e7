// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage window_sums: those of integers bit for bit, those of f32 within (16 + sqrt n)
// eps64 sum |f|, over the whole left. In some cases squares are not asked for.
#include <cfloat>
#include <cmath>

#include "norms.hpp"

namespace checkcorr {
namespace {

class WindowSumsTest final : public StageTest<xcorr::stage::WindowSums> {
  bool weighs() const override { return true; }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && !trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    Problem p{scenario.problem.correlate, scenario.problem.masking};
    p.squares = p.correlate.right.area() % 3 != 0;
    return p;
  }
  xcorr::Status prepare(Scenario&) const override { return {}; }
  xcorr::Status make_truth(Scenario& scenario) const override {
    return scenario.make_window_sums();
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const xcorr::Problem& p = t.scenario.problem.correlate;
    const Problem whole = problem(t.scenario);
    if (is_integral(p.type)) {
      if (whole.sum_type() == ElementType::u64)
        compare_exactly<std::uint64_t>(comparison, "window_sums", t.scenario.values, got);
      else
        compare_exactly<std::uint32_t>(comparison, "window_sums", t.scenario.values, got);
      if (!whole.squares) return;
      if (whole.square_type() == ElementType::u64)
        compare_exactly<std::uint64_t>(comparison, "window_squares", t.scenario.values, got);
      else
        compare_exactly<std::uint32_t>(comparison, "window_squares", t.scenario.values, got);
      return;
    }
    const double squares = left_norm(t, 0) * left_norm(t, 0);
    // The reference adds one after the other.
    const double eps = (16 + std::sqrt(double(p.right.area()))) * DBL_EPSILON;
    const double magnitudes = std::sqrt(squares * static_cast<double>(p.left.area()));
    for (const auto& [role, most] :
         {std::pair{"window_sums", magnitudes}, std::pair{"window_squares", squares}}) {
      if (!whole.squares && role == std::string_view("window_squares")) continue;
      const auto expected = view<double>(t.scenario.values, role), actual = view<double>(got, role);
      for (std::size_t i = 0; i < expected.size(); ++i)
        comparison.element(role, i, expected[i], actual[i], eps * most);
    }
  }
} const window_sums_test;

}  // namespace
}  // namespace checkcorr
