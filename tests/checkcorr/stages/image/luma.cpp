// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: bytes, bit for bit. A case's left is taken as packed pixels of two to four bytes,
// one size a case; where rights have lefts of their own, it is parts of the first one, and where
// the rights' heights are odd, a pixel is two of the luma, across and mostly down.
#include "stages/image/luma.hpp"
#include "stage_test.hpp"

namespace checkcorr {
namespace {

class LumaTest final : public StageTest<xcorr::stage::Luma> {
  bool concerns(const Case& c) const override {
    return !c.filter && c.type == ElementType::u8 && is_matching(c) && c.left.width >= 4;
  }
  Problem problem(const Scenario& scenario) const override {
    const Case& c = scenario.test;
    const int bytes = 2 + (c.left.width + c.left.height + c.right.width) % 3;
    const xcorr::PixelLayout layout =
        bytes == 2 ? xcorr::packed_luma(2, 1) : xcorr::packed_rgb(bytes, bytes - 1, 1, 0);
    const int width = c.left.width / bytes;
    const std::int64_t pitch = scenario.problem.correlate.left_pitch, to = (width + 7) / 4 * 4;
    if (c.right.height % 2) {
      Problem p{{}, layout, pitch};
      p.halved_x = 1;
      p.halved_y = c.right.width % 3 != 0;
      p.odd_x = !c.own_lefts && width > 1 && c.right.width % 2;
      p.odd_y = !c.own_lefts && p.halved_y && c.left.height > 1 && c.left.width % 2;
      p.size = {2 * width - p.odd_x, (1 + p.halved_y) * c.left.height - p.odd_y};
      p.luma_pitch = (p.size.width + 7) / 4 * 4;
      if (!c.own_lefts) return p;
      p.parts = c.rights;
      p.image = p.size;
      p.size = {(p.image.width + 1) / 2, (p.image.height + 1) / 2};
      p.luma_stride = (p.size.height + 1) * p.luma_pitch;
      return p;
    }
    if (!c.own_lefts) return {{width, c.left.height}, layout, pitch, to};
    const Size part{(width + 1) / 2, (c.left.height + 1) / 2};
    return {part, layout, pitch, to, c.rights, {width, c.left.height}, (part.height + 1) * to};
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const auto& lefts = scenario.values["lefts"];
    const Problem p = problem(scenario);
    const Size read = p.pixels();
    const std::int64_t bytes =
        (read.height - 1) * p.pitch + std::int64_t{read.width} * p.layout.bytes;
    scenario.values["pixels"].assign(lefts.begin(), lefts.begin() + bytes);
    std::vector<xcorr::PartCorner> corners;
    for (int i = 0; i < p.parts; ++i)
      corners.push_back({(1 + 5 * i) % (p.image.width - p.size.width + 1),
                         3 * i % (p.image.height - p.size.height + 1)});
    const auto as_bytes = std::as_bytes(std::span(corners));
    scenario.values["corners"].assign(as_bytes.begin(), as_bytes.end());
    return {};
  }
  void compare(Comparison& comparison, const Truth& t, const Values& got) const override {
    const Problem p = problem(t.scenario);
    const auto expected = view<std::uint8_t>(t.scenario.values, "luma"),
               actual = view<std::uint8_t>(got, "luma");
    for (int i = 0; i < std::max(p.parts, 1); ++i)
      comparison.image("luma", p.size, p.luma_pitch, expected.subspan(i * p.luma_stride),
                       actual.subspan(i * p.luma_stride));
  }
} const luma_test;

}  // namespace
}  // namespace checkcorr
