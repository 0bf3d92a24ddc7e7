// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids on the CPU: a row of the result at a time.
#include "stages/poses/pyramid_down.hpp"

#include <algorithm>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void halve(const stage::PyramidDown::Problem& p, const std::byte* pixels, std::byte* halved) {
  constexpr int rows_at_a_time = 64;
  // Between these all pixels are the image's.
  const int first = std::min(p.before / 2, p.half.width),
            last = std::clamp((p.image.width + p.before) / 2, first, p.half.width);
  tbb::parallel_for(tbb::blocked_range<int>(0, p.half.height, rows_at_a_time), [&](auto rows) {
    for (int y = rows.begin(); y < rows.end(); ++y) {
      const T *upper, *lower;
      p.rows(pixels, y, upper, lower);
      T* to = row_of<T>(halved, p.half_pitch, y);
      int x = 0;
      for (; x < first; ++x) to[x] = p.pixel(upper, lower, x);
      for (; x < last; ++x) to[x] = pyramid_down_pixel(upper, lower, x - first);
      for (; x < p.half.width; ++x) to[x] = p.pixel(upper, lower, x);
    }
  });
}

Status launch(const stage::PyramidDown::Problem& p, const Device&,
              const stage::PyramidDown::Buffers& b, PlanState*) {
  const auto run = p.type == ElementType::u8    ? halve<std::uint8_t>
                   : p.type == ElementType::u16 ? halve<std::uint16_t>
                                                : halve<float>;
  for (int plane = 0; plane < p.planes; ++plane)
    run(p, static_cast<const std::byte*>(b.pixels) + plane * p.plane,
        static_cast<std::byte*>(b.halved) + plane * p.half_plane);
  return {};
}

constexpr Variant<stage::PyramidDown> table[] = {
    {{.name = "pyramid_down",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family pyramid_down_family() { return Family(table); }

}  // namespace xcorr::cpu
