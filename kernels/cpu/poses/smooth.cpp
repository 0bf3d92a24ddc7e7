// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Smoothed templates on the CPU: once per template, and again after it has changed.
#include "stages/poses/smooth.hpp"
#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void smooth(const stage::Smooth::Problem& p, const stage::Smooth::Buffers& b) {
  const T* pixels = static_cast<const T*>(b.pixels);
  for (std::int64_t i = 0; i < p.size.area(); ++i)
    b.smoothed[i] = b.counted[i] ? smoothed_pixel(pixels + i, p.size.width) : SmoothedPixel();
}

Status launch(const stage::Smooth::Problem& p, const Device&, const stage::Smooth::Buffers& b,
              PlanState*) {
  const auto run = p.type == ElementType::u8    ? smooth<std::uint8_t>
                   : p.type == ElementType::u16 ? smooth<std::uint16_t>
                                                : smooth<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::Smooth> table[] = {
    {{.name = "smooth",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace

Family smooth_family() { return Family(table); }

}  // namespace xcorr::cpu
