// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The running averages of templates that adapt. Plain loops, compiled once for each of Highway's
// targets: without instructions for it a fused product and sum is a call.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/match/blend.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/common/common.hpp"
#include "stages/match/blend.hpp"
#include "stages/match/templates.hpp"

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::blend::HWY_NAMESPACE {

template <class T>
HWY_FLATTEN void row(const T* HWY_RESTRICT patch, const float* HWY_RESTRICT averages, int width,
                     float weight, float* HWY_RESTRICT next, T* HWY_RESTRICT blended) {
  for (int x = 0; x < width; ++x) {
    next[x] = blended_average(averages[x], patch[x], weight);
    blended[x] = pixel_of<T>(next[x]);
  }
}

template <class T>
void blend_as(const stage::Blend::Problem& p, const stage::Blend::Buffers& b) {
  for (int y = 0; y < p.size.height; ++y) {
    const std::int64_t at = std::int64_t{y} * p.size.width;
    row(reinterpret_cast<const T*>(static_cast<const std::byte*>(b.patch) + y * p.patch_pitch),
        b.averages + at, p.size.width, p.weight, b.next_averages + at,
        static_cast<T*>(b.blended) + at);
  }
}

void run(const stage::Blend::Problem& p, const stage::Blend::Buffers& b) {
  p.type == ElementType::u8    ? blend_as<std::uint8_t>(p, b)
  : p.type == ElementType::u16 ? blend_as<std::uint16_t>(p, b)
                               : blend_as<float>(p, b);
}

}  // namespace xcorr::cpu::blend::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace blend {

HWY_EXPORT(run);

Status launch(const stage::Blend::Problem& p, const Device&, const stage::Blend::Buffers& b,
              PlanState*) {
  HWY_DYNAMIC_DISPATCH(run)(p, b);
  return {};
}

constexpr Variant<stage::Blend> variants[] = {
    {{.name = "blend",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace blend

Family blend_family() { return Family(blend::variants); }

}  // namespace xcorr::cpu
#endif
