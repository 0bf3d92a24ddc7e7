// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter: integers bit for bit; floats within eps |result|, and (weights + 4) eps
// max |f| (sum |w|) (sum |v|) with the eps of the type of sums.
#include <cfloat>
#include <cmath>
#include <limits>

#include "stage_test.hpp"

namespace checkcorr {
namespace {

template <class T>
void compare_filtered(Comparison& comparison, const Truth& t, const Values& got) {
  const xcorr::FilterWeights& weights = t.scenario.weights;
  const auto expected = view<T>(t.scenario.values, "filtered"), actual = view<T>(got, "filtered");
  double terms = 0;  // the largest that sum |v w f| can be
  if (!std::is_integral_v<T>) {
    const auto magnitude = [](const xcorr::AxisWeights& axis) {
      double sum = 0;
      for (int i = 0; i < axis.count(); ++i) sum += std::abs(axis.values[i]);
      return sum;
    };
    for (const T v : view<T>(t.scenario.values, "images"))
      if (!std::isnan(v)) terms = std::max(terms, double(std::abs(v)));
    terms *= magnitude(weights.across) * magnitude(weights.down);
  }
  const double eps = weights.sums == ElementType::f64 ? DBL_EPSILON : double{FLT_EPSILON};
  const double roundings = weights.across.count() + weights.down.count() + 4;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double stored = double(std::numeric_limits<T>::epsilon()) * std::abs(expected[i]);
    comparison.element("filtered", i, expected[i], actual[i],
                       std::is_integral_v<T> ? 0 : roundings * eps * terms + stored);
  }
}

class FilterTest final : public StageTest<xcorr::stage::Filter> {
  bool concerns(const Case& c) const override { return c.filter; }
  Problem problem(const Scenario& scenario) const override {
    const xcorr::Problem p = problem_of(scenario.test);
    return {p.type,        p.left, p.shifts, p.lefts,          p.left_pitch,
            p.left_stride, 0,      0,        &scenario.weights};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    scenario.values["images"] = scenario.values["lefts"];
    return {};
  }
  std::optional<Problem> other_layout(const Variant&, const Scenario&, Problem p) const override {
    p.filtered_pitch = p.region.width + 5;
    p.filtered_stride = p.filtered_pitch * p.region.height + 3;
    return p;
  }
  void make_outputs_dense(const Problem& p, Values& values) const override {
    const auto element = static_cast<std::int64_t>(size_of(p.type));
    values["filtered"] = dense({p.region.width * element, p.region.height, p.count,
                                p.pitch_out() * element, p.stride_out() * element},
                               values["filtered"]);
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    switch (t.scenario.test.type) {
      case ElementType::u8:
        return compare_filtered<std::uint8_t>(comparison, t, got);
      case ElementType::u16:
        return compare_filtered<std::uint16_t>(comparison, t, got);
      case ElementType::f64:
        return compare_filtered<double>(comparison, t, got);
      default:
        return compare_filtered<float>(comparison, t, got);
    }
  }
} const filter_test;

}  // namespace
}  // namespace checkcorr
