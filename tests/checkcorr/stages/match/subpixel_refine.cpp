// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage subpixel_refine: places within 1e-3 of a pixel, at the peaks of ccoeff-normed. In cases
// whose templates are copies they lie on whole pixels, in others anywhere, or there is none.
#include "stages/match/subpixel_refine.hpp"

#include "posed.hpp"

namespace checkcorr {
namespace {

using xcorr::FittedPlace;

class SubpixelRefineTest final : public StageTest<xcorr::stage::SubpixelRefine> {
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && trial.method == xcorr::Method::ccoeff_normed && is_usual(c, trial);
  }
  Problem problem(const Scenario& scenario) const override {
    return scenario.problem.subpixel_refining();
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    if (scenario.problem.masking)
      set(scenario.values, "inset",
          xcorr::inset_mask(view<std::uint8_t>(scenario.values, "mask"),
                            scenario.problem.correlate.right, xcorr::pose_refine_inset));
    return scenario.make_candidates();
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto counts = view<std::uint32_t>(t.scenario.values, "counts");
    const auto expected = view<FittedPlace>(t.scenario.values, "fits"),
               actual = view<FittedPlace>(got, "fits");
    for (std::size_t r = 0; r < counts.size(); ++r)
      for (std::size_t k = 0; k < counts[r]; ++k) {
        const std::size_t i = r * static_cast<std::size_t>(t.scenario.problem.max_peaks) + k;
        const auto place = [&] { return "fits[" + std::to_string(i) + ']'; };
        comparison.value(place, expected[i].is_fitted, actual[i].is_fitted, 0);
        comparison.value(place, expected[i].dx, actual[i].dx, 1e-3);
        comparison.value(place, expected[i].dy, actual[i].dy, 1e-3);
      }
  }
} const subpixel_refine_test;

}  // namespace
}  // namespace checkcorr
