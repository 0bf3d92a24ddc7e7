// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: bytes, bit for bit. A case's left is taken as packed pixels of two to four bytes,
// one size a case.
#include "stages/luma.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

class LumaTest final : public StageTest<xcorr::stage::Luma> {
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c) && c.left.width >= 4;
  }
  bool takes(const Case& c, const Trial& trial) const override {
    return concerns(c) && !trial.method && !trial.centred;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int bytes = 2 + (c.left.width + c.left.height + c.right.width) % 3;
    const xcorr::PixelLayout layout =
        bytes == 2 ? xcorr::packed_luma(2, 1) : xcorr::packed_rgb(bytes, bytes - 1, 1, 0);
    const int width = c.left.width / bytes;
    return {
        {width, c.left.height}, layout, scenario.problem.correlate.left_pitch, (width + 7) / 4 * 4};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const auto& lefts = scenario.values["lefts"];
    const Problem p = problem(scenario);
    const std::int64_t bytes =
        (p.size.height - 1) * p.pitch + std::int64_t{p.size.width} * p.layout.bytes;
    scenario.values["pixels"].assign(lefts.begin(), lefts.begin() + bytes);
    return {};
  }
  xcorr::Status make_truth(Scenario& scenario) const override {
    if (auto s = prepare(scenario); !s.ok()) return s;
    return scenario.make<Stage>(problem(scenario));
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    comparison.picture("luma", p.size, p.luma_pitch, view<std::uint8_t>(t.scenario.values, "luma"),
                       view<std::uint8_t>(got, "luma"));
  }
} const luma_test;

}  // namespace
}  // namespace checkcorr
