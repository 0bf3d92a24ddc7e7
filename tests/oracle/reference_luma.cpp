// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage luma: the formula of PixelLayout, in plain loops.
#include "stages/image/luma.hpp"

namespace xcorr::cpu {
namespace {

Status luma(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
            PlanState*) {
  for (int i = 0; i < p.planes * std::max(p.parts, 1); ++i) {
    const stage::Luma::Source& from = p.sources[p.parts ? 0 : i];
    const auto [left, top] = p.parts ? b.corners[i] : PartCorner{0, 0};
    for (int y = 0; y < p.size.height; ++y)
      for (int x = 0; x < p.size.width; ++x) {
        int sum = 0;
        for (int k = 0; k < from.layout.bytes; ++k)
          sum += from.layout.weights[k] *
                 b.pixels[from.place + (top + y + from.odd_y) / (1 + from.halved_y) * from.pitch +
                          (left + x + from.odd_x) / (1 + from.halved_x) * from.layout.bytes + k];
        b.luma[i * p.luma_stride + y * p.luma_pitch + x] =
            static_cast<std::uint8_t>((sum + 128) / 256);
      }
  }
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::several_images, Feature::subsampled, Feature::planes}},
     {.launch = luma}},
};

}  // namespace

Family reference_luma_family() { return Family(table); }

}  // namespace xcorr::cpu
