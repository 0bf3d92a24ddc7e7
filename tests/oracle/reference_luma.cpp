// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage luma: the formula of PixelLayout, in plain loops.
#include "stages/image/luma.hpp"

namespace xcorr::cpu {
namespace {

Status luma(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
            PlanState*) {
  for (int part = 0; part < std::max(p.parts, 1); ++part) {
    const auto [left, top] = p.parts ? b.corners[part] : PartCorner{0, 0};
    for (int y = 0; y < p.size.height; ++y)
      for (int x = 0; x < p.size.width; ++x) {
        int sum = 0;
        for (int i = 0; i < p.layout.bytes; ++i)
          sum += p.layout.weights[i] *
                 b.pixels[(top + y + p.odd_y) / (1 + p.halved_y) * p.pitch +
                          (left + x + p.odd_x) / (1 + p.halved_x) * p.layout.bytes + i];
        b.luma[part * p.luma_stride + y * p.luma_pitch + x] =
            static_cast<std::uint8_t>((sum + 128) / 256);
      }
  }
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::several_images, Feature::subsampled}},
     {.launch = luma}},
};

}  // namespace

Family reference_luma_family() { return Family(table); }

}  // namespace xcorr::cpu
