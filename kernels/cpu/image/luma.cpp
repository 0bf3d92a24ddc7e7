// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The luma of packed pixels on the CPU.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/image/luma.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/image/luma-inl.hpp"

#if HWY_ONCE
#include <algorithm>
#include <utility>

namespace xcorr::cpu {
namespace luma {

HWY_EXPORT(convert_row);

void convert(const stage::Luma::Source& from, const std::uint8_t* pixels, Size size,
             std::int64_t pitch, std::uint8_t* to) {
  const int width = from.pixels(size).width;
  int done = -1;  // the row of pixels that the last row is made of
  for (int y = 0; y < size.height; ++y) {
    std::uint8_t* const row = to + y * pitch;
    const int of_pixels = (from.odd_y + y) >> from.halved_y;
    if (std::exchange(done, of_pixels) == of_pixels) {
      std::copy_n(row - pitch, size.width, row);
      continue;
    }
    HWY_DYNAMIC_DISPATCH(convert_row)(from.layout, pixels + of_pixels * from.pitch, width, row);
    // From the end, where there is room.
    if (from.halved_x)
      for (int x = size.width - 1; x > 0; --x) row[x] = row[(from.odd_x + x) >> 1];
  }
}

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  for (int i = 0; i < p.planes; ++i)
    convert(p.sources[i], b.pixels + p.sources[i].place, p.size, p.luma_pitch,
            b.luma + i * p.luma_stride);
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{.name = "luma",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::subsampled, Feature::planes}},
     {.launch = launch}},
};

}  // namespace luma

Family luma_family() { return Family(luma::table); }

}  // namespace xcorr::cpu
#endif
