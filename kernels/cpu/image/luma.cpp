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

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  const int width = p.pixels().width;
  int done = -1;  // the row of pixels that the last row is made of
  for (int y = 0; y < p.size.height; ++y) {
    std::uint8_t* const row = b.luma + y * p.luma_pitch;
    const int from = (p.odd_y + y) >> p.halved_y;
    if (std::exchange(done, from) == from) {
      std::copy_n(row - p.luma_pitch, p.size.width, row);
      continue;
    }
    HWY_DYNAMIC_DISPATCH(convert_row)(p.layout, b.pixels + from * p.pitch, width, row);
    // From the end, where there is room.
    if (p.halved_x)
      for (int x = p.size.width - 1; x > 0; --x) row[x] = row[(p.odd_x + x) >> 1];
  }
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{.name = "luma", .backend = Backend::cpu, .features = {Feature::u8, Feature::subsampled}},
     {.launch = launch}},
};

}  // namespace luma

Family luma_family() { return Family(luma::table); }

}  // namespace xcorr::cpu
#endif
