// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage deform: pixels to a step of gray, and that only where the exact value lies near the
// middle between two: of few. Floats within a hundredth of a step, of which there are 255.
#include "stages/fields/deform.hpp"

#include "fielded.hpp"

namespace checkcorr {
namespace {

class DeformTest final : public StageTest<xcorr::stage::Deform> {
  bool concerns(const Case& c) const override { return is_fielded(c) && !has_explicit_places(c); }
  Problem problem(const Scenario& scenario) const override { return problem_of(scenario.test); }
  static Problem problem_of(const Case& c) {
    const Size most{(c.left.width + 2) / 3, (c.left.height + 2) / 3}, grid = field_grid_of(c);
    const int margin = c.right.height % 3;
    const xcorr::FieldGrid vectors{
        {std::min(grid.width, most.width), std::min(grid.height, most.height)}, 1, 0, 3, 4};
    return {c.left,
            margin,
            (c.left.width + 2 * margin + c.pad) * static_cast<std::int64_t>(size_of(c.type)),
            spline_problem(c).degree,
            vectors,
            c.left.height % 2 ? 1.F : -0.5F,
            c.type};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    set_spline_inputs(scenario);
    set(scenario.values, "vectors", made_field(problem(scenario).grid.count));
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    if (auto s = scenario.make<xcorr::stage::Spline>(spline_problem(scenario.test)); !s.ok())
      return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    with_pixels(t.scenario.test.type, [&]<class T>() { compare_as<T>(comparison, t, got); });
  }

 private:
  template <class T>
  static void compare_as(Comparison& comparison, const Truth& t, const Values& got) {
    const Case& c = t.scenario.test;
    const Problem p = problem_of(c);
    const auto& right = t.scenario.values.at("deformed");
    const auto& made = got.at("deformed");
    const bool whole = is_integral(c.type);
    // Places are floats: of wide images they leave some 1e-5 of a pixel open.
    const double rounding = 0.01 * scale_of(c, t.scenario.values, "pixels");
    const double bound = whole ? std::max(1.0, rounding) : rounding;
    int differ = 0;
    for (int y = 0; y < p.deformed_size().height; ++y)
      for (int x = 0; x < p.deformed_size().width; ++x) {
        const T expected = xcorr::row_of<T>(right.data(), p.pitch, y)[x];
        const T pixel = xcorr::row_of<T>(made.data(), p.pitch, y)[x];
        const auto place = [=] {
          return "deformed (x " + std::to_string(x) + ", y " + std::to_string(y) + ')';
        };
        comparison.value(place, expected, pixel, bound);
        differ += c.type == ElementType::u8 && expected != pixel;
      }
    comparison.value([] { return std::string("pixels that differ"); }, 0, differ,
                     2 + 0.01 * static_cast<double>(p.deformed_size().area()));
  }
} const deform_test;

}  // namespace
}  // namespace checkcorr
