// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage widen: a case's left, or its planes, as words, bit for bit.
#include "stages/image/widen.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

class WidenTest final : public StageTest<xcorr::stage::Widen> {
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c) && !c.own_lefts;
  }
  Problem problem(const Scenario& scenario) const override {
    const xcorr::Problem& p = scenario.problem.correlate;
    const std::int64_t pitch = (2 * std::int64_t{p.left.width} + 15) / 16 * 16;
    return {p.left, p.planes, p.left_pitch, p.left_plane, pitch, (p.left.height + 1) * pitch};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    scenario.values["pixels"] = scenario.values["lefts"];
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto expected = view<std::uint8_t>(t.scenario.values, "words"),
               actual = view<std::uint8_t>(got, "words");
    for (int i = 0; i < p.planes; ++i)  // their bytes
      comparison.image("words", {2 * p.size.width, p.size.height}, p.word_pitch,
                       expected.subspan(i * p.word_plane), actual.subspan(i * p.word_plane));
  }
} const widen_test;

}  // namespace
}  // namespace checkcorr
