// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage blend, by its definition in plain loops. A case's right is blended with the left's
// window under the first shift.
#include <cmath>
#include <type_traits>

#include "stage_test.hpp"

namespace checkcorr {
namespace {

class BlendTest final : public StageTest<xcorr::stage::Blend> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && !trial.method && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    const xcorr::Problem& p = scenario.problem.correlate;
    return {p.type, p.right, p.left_pitch, 0.3f};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const xcorr::Problem& p = scenario.problem.correlate;
    const auto& lefts = scenario.values["lefts"];
    const auto element = static_cast<std::int64_t>(size_of(p.type));
    const auto first = lefts.begin() + p.shifts.y * p.left_pitch + p.shifts.x * element;
    const std::int64_t bytes = (p.right.height - 1) * p.left_pitch + p.right.width * element;
    scenario.values["patch"].assign(first, first + bytes);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override { return prepare(scenario); }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    with_pixels(t.scenario.test.type, [&]<class T>() {
      compare_as<T>(comparison, problem(t.scenario), t.scenario.values, got);
    });
  }

  template <class T>
  static void compare_as(Comparison& comparison, const Problem& p, const Values& values,
                         const Values& got) {
    const std::byte* patch = values.at("patch").data();
    const auto averages = view<float>(values, "averages");
    const auto next = view<float>(got, "next_averages");
    const auto blended = view<T>(got, "blended");
    for (std::size_t i = 0; i < averages.size(); ++i) {
      const auto x = static_cast<std::int64_t>(i) % p.size.width,
                 y = static_cast<std::int64_t>(i) / p.size.width;
      const float pixel = reinterpret_cast<const T*>(patch + y * p.patch_pitch)[x];
      const float expected = std::fma(p.weight, pixel - averages[i], averages[i]);
      const auto place = [&](const char* name) {
        return [=] {
          return std::string(name) + " (x " + std::to_string(x) + ", y " + std::to_string(y) + ")";
        };
      };
      comparison.value(place("next_averages"), expected, next[i], 0);
      const T rounded = std::is_integral_v<T> ? static_cast<T>(std::lrint(expected)) : T(expected);
      comparison.value(place("blended"), rounded, blended[i], 0);
    }
  }
} const blend_test;

}  // namespace
}  // namespace checkcorr
