// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage template_sums, by its definition in plain loops: no reference runs for it, since a
// case's templates and their sums are made together.
#include <cfloat>
#include <cmath>
#include <type_traits>

#include "oracle/reference_methods.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

using xcorr::TemplateSums;
using xcorr::cpu::plain::right_of;

/// f32: less their mean, which may be a rounding of doubles off.
template <class T>
void compare_operands(Comparison& comparison, const Truth& t, const Values& got) {
  const xcorr::Problem& p = t.scenario.problem.correlate;
  for (std::int64_t r = 0; r < p.rights; ++r)
    for (int y = 0; y < p.right.height; ++y)
      for (int x = 0; x < p.right.width; ++x) {
        const auto place = [=] {
          return "operands (right " + std::to_string(r) + ", x " + std::to_string(x) + ", y " +
                 std::to_string(y) + ")";
        };
        const T expected = right_of<T>(p, t.scenario.values.at("rights").data(), r).at(x, y);
        const T actual = right_of<T>(p, got.at("operands").data(), r).at(x, y);
        const double rounding =
            std::is_same_v<T, float> ? 2 * FLT_EPSILON * std::abs(double(expected)) + 1e-9 : 0;
        comparison.value(place, expected, actual, rounding);
      }
}

/// Bytes times their weights.
void compare_weighed(Comparison& comparison, const Truth& t, const Values& got) {
  const xcorr::Problem& bytes = t.scenario.problem.correlate;
  xcorr::Problem words = bytes;
  words.right_pitch *= 2;
  words.right_stride *= 2;
  const auto weights = view<std::uint8_t>(t.scenario.values, "mask");
  const Size size = bytes.right;
  for (std::int64_t r = 0; r < bytes.rights; ++r) {
    const auto pixels = right_of<std::uint8_t>(bytes, t.scenario.values.at("rights").data(), r);
    const auto operands = right_of<std::uint16_t>(words, got.at("operands").data(), r);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        const int expected = pixels.at(x, y) * weights[std::size_t(y) * size.width + x];
        comparison.value([=] { return "operands of right " + std::to_string(r); }, expected,
                         int{operands.at(x, y)}, 0);
      }
  }
}

class TemplateSumsTest final : public StageTest<xcorr::stage::TemplateSums> {
  bool weighs() const override { return true; }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && c.planes == 1 && !trial.method && is_usual(c, trial);
  }
  /// Of what the case has: a plan's weighted templates lie beside words.
  Problem problem(const Scenario& scenario) const override {
    const xcorr::Problem& p = scenario.problem.correlate;
    return {p.type,        p.right,        p.planes * p.rights,
            p.right_pitch, p.right_stride, scenario.problem.masking};
  }
  xcorr::Status prepare(Scenario&) const override { return {}; }
  xcorr::Status make_truth(Scenario& scenario) const override { return prepare(scenario); }
  void lay_out_inputs(const Problem&, Values& values) const override {
    values["templates"] = values["unmasked"];
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const ElementType type = t.scenario.problem.correlate.type;
    const bool exact = is_integral(type);
    const double n = static_cast<double>(t.scenario.problem.pixels());
    const auto expected = view<TemplateSums>(t.scenario.values, "template_sums");
    const auto actual = view<TemplateSums>(got, "template_sums");
    for (std::size_t r = 0; r < expected.size(); ++r) {
      const TemplateSums &e = expected[r], &a = actual[r];
      const double rounding = exact ? 0 : n * DBL_EPSILON;
      const auto sum = [&](const char* member, double should, double is, double magnitude) {
        const auto place = [&] { return "template_sums[" + std::to_string(r) + "]." + member; };
        comparison.value(place, should, is, rounding * magnitude);
      };
      sum("sum", e.sum, a.sum, std::sqrt(n * e.squares));
      sum("squares", e.squares, a.squares, e.squares);
      sum("n2_variance", e.n2_variance, a.n2_variance, n * e.squares);
    }
    if (!problem(t.scenario).has_operands()) return;
    if (t.scenario.problem.masking.weighted) return compare_weighed(comparison, t, got);
    with_pixels(type, [&]<class T>() { compare_operands<T>(comparison, t, got); });
  }
} const template_sums_test;

}  // namespace
}  // namespace checkcorr
