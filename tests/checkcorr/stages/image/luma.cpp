// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage luma: bytes, bit for bit. A case's left is taken as packed pixels of two to four bytes,
// one size a case; where rights have lefts of their own, it is parts of the first one, and where
// the rights' heights are odd, a pixel is two of the luma, across and mostly down, in some cases
// but for the last row and column. Where the left's height is odd there are three planes: two of
// the same pixels, and mostly one of others.
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
    const std::int64_t pitch = scenario.problem.correlate.left_pitch;
    Problem p{{width, c.left.height}, {{layout, pitch}}};
    if (c.right.height % 2) {
      auto& from = p.sources[0];
      from.halved_x = 1;
      from.halved_y = c.right.width % 3 != 0;
      from.odd_x = !c.own_lefts && width > 1 && c.right.width % 2;
      from.odd_y = !c.own_lefts && from.halved_y && c.left.height > 1 && c.left.width % 2;
      p.size = {2 * width - from.odd_x, (1 + from.halved_y) * c.left.height - from.odd_y};
      if (c.right.area() % 3 == 0) p.size = {p.size.width - 1, std::max(1, p.size.height - 1)};
    }
    if (c.own_lefts) {
      p.parts = c.rights;
      p.image = p.size;
      p.size = {(p.image.width + 1) / 2, (p.image.height + 1) / 2};
    } else if (c.left.height % 2) {
      p.planes = xcorr::color_planes;
      p.sources[1] = p.sources[2] = p.sources[0];
      p.sources[1].layout = xcorr::packed_luma(bytes, c.right.width % bytes);
      if (c.left.width % 3) {
        auto& other = p.sources[2];
        other.layout = {};
        other.place = (c.left.width - p.size.width) / (c.right.width % 4 + 1);
        other.halved_x = other.odd_x = 0;
      }
    }
    p.luma_pitch = (p.size.width + 7) / 4 * 4;
    p.luma_stride = (p.size.height + 1) * p.luma_pitch;
    return p;
  }
  xcorr::Status prepare(Scenario& scenario) const override {
    const auto& lefts = scenario.values["lefts"];
    const Problem p = problem(scenario);
    scenario.values["pixels"].assign(lefts.begin(), lefts.begin() + p.pixel_bytes());
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
    for (int i = 0; i < std::max(p.parts, p.planes); ++i)
      comparison.image("luma", p.size, p.luma_pitch, expected.subspan(i * p.luma_stride),
                       actual.subspan(i * p.luma_stride));
  }
} const luma_test;

}  // namespace
}  // namespace checkcorr
