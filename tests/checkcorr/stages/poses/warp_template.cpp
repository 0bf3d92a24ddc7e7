// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage warp_template: images, masks and sums, of integers bit for bit; an upright image of
// full size is the template itself. Of cases of two planes edges are made, of one level.
#include "posed.hpp"

namespace checkcorr {
namespace {

class WarpTemplateTest final : public StageTest<xcorr::stage::WarpTemplate> {
  bool concerns(const Case& c) const override { return is_posed(c); }
  Problem problem(const Scenario& scenario) const override {
    return warp_template_problem(scenario);
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_warp_template_inputs(scenario);
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto masks = view<std::uint8_t>(t.scenario.values, "masks"),
               got_masks = view<std::uint8_t>(got, "masks");
    for (std::size_t i = 0; i < masks.size(); ++i)
      comparison.value([&] { return "masks[" + std::to_string(i) + ']'; }, masks[i], got_masks[i],
                       0);
    with_pixels(p.type, [&]<class T>() { compare_images<T>(comparison, t, got); });
    const auto expected = view<xcorr::WarpedTemplateSums>(t.scenario.values, "sums"),
               actual = view<xcorr::WarpedTemplateSums>(got, "sums");
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto place = [&] { return "sums[" + std::to_string(i) + ']'; };
      comparison.value(place, expected[i].counted, actual[i].counted, 0);
      const double share = p.type == ElementType::f32 ? 1e-6 : 0;
      const auto& [sum, squares, n2_variance] = expected[i].sums;
      comparison.value(place, sum, actual[i].sums.sum,
                       share * std::sqrt(expected[i].counted * squares));
      comparison.value(place, squares, actual[i].sums.squares, share * squares);
      comparison.value(place, n2_variance, actual[i].sums.n2_variance,
                       share * expected[i].counted * squares);
    }
  }

 private:
  template <class T>
  void compare_images(Comparison& comparison, const Truth& t, const Values& got) const {
    const Problem p = problem(t.scenario);
    const int width = p.pyramid.size.width;
    const auto expected = view<T>(t.scenario.values, "images"), actual = view<T>(got, "images");
    const double bound = rounding_of(expected);
    for (std::size_t i = 0; i < expected.size(); ++i)
      comparison.value([&] { return "images[" + std::to_string(i) + ']'; }, expected[i], actual[i],
                       bound);
    if (p.edges.made) return;
    const auto pixels = first_template<T>(t.scenario);
    const auto mask = view<std::uint8_t>(t.scenario.values, "mask");
    for (std::size_t i = 0; i < pixels.size(); ++i)
      if (p.shift_u == 0 && (mask.empty() || mask[i]))
        comparison.value([&] { return "the upright image[" + std::to_string(i) + ']'; }, pixels[i],
                         actual[i / width * p.most.width + i % width], 0);
  }
} const warp_template_test;

}  // namespace
}  // namespace checkcorr
