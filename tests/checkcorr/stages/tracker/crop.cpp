// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage crop: images, bit for bit.
#include "tracked.hpp"

namespace checkcorr {
namespace {

class CropTest final : public StageTest<xcorr::stage::Crop> {
  bool concerns(const Case& c) const override { return is_tracked(c); }
  Problem problem(const Scenario& scenario) const override {
    const auto frame = feature_maps_problem(scenario);
    return {frame.frame, frame.part, frame.pitch, frame.layout, tracked_windows};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const Problem p = problem(scenario);
    const auto& lefts = scenario.values["lefts"];
    scenario.values["pixels"].assign(lefts.begin(), lefts.begin() + (p.frame.height - 1) * p.pitch +
                                                        p.frame.width * p.layout.bytes);
    // The third one with several samples a pixel.
    std::vector<xcorr::tracker::Look> looks = tracked_looks(p.frame);
    looks[2].side = 500;
    set(scenario.values, "croppings", tracked_croppings(looks));
    return scenario.make<Stage>(p);
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const auto right = view<std::uint8_t>(t.scenario.values, "images"),
               made = view<std::uint8_t>(got, "images");
    const std::size_t each = right.size() / tracked_windows;
    for (const int image : looked_at)
      for (std::size_t i = image * each; i < (image + 1) * each; ++i)
        comparison.value([&] { return "images[" + std::to_string(i) + ']'; }, right[i], made[i], 0);
  }
} const crop_test;

}  // namespace
}  // namespace checkcorr
