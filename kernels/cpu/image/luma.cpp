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
namespace xcorr::cpu {
namespace luma {

HWY_EXPORT(convert_row);

Status launch(const stage::Luma::Problem& p, const Device&, const stage::Luma::Buffers& b,
              PlanState*) {
  for (int y = 0; y < p.size.height; ++y) {
    HWY_DYNAMIC_DISPATCH(convert_row)
    (p.layout, b.pixels + y * p.pitch, p.size.width, b.luma + y * p.luma_pitch);
  }
  return {};
}

constexpr Variant<stage::Luma> table[] = {
    {{.name = "luma", .backend = Backend::cpu, .features = Feature::u8}, {.launch = launch}},
};

}  // namespace luma

Family luma_family() { return Family(luma::table); }

}  // namespace xcorr::cpu
#endif
