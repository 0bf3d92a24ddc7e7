// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids on the CPU: a row of the result at a time.
#include "stages/halve.hpp"
#include "cpu/common.hpp"

namespace xcorr::cpu {
namespace {

template <class T>
void halve(const stage::Halve::Problem& p, const stage::Halve::Buffers& b) {
  constexpr int rows_at_a_time = 64;
  tbb::parallel_for(tbb::blocked_range<int>(0, p.half.height, rows_at_a_time), [&](auto rows) {
    for (int y = rows.begin(); y < rows.end(); ++y) {
      const T* upper = row_of<T>(b.pixels, p.pitch, 2 * y);
      const T* lower = row_of<T>(b.pixels, p.pitch, 2 * y + 1);
      T* to = row_of<T>(b.halved, p.half_pitch, y);
      for (int x = 0; x < p.half.width; ++x) to[x] = halved_pixel(upper, lower, x);
    }
  });
}

Status launch(const stage::Halve::Problem& p, const Device&, const stage::Halve::Buffers& b,
              PlanState*) {
  const auto run = p.type == ElementType::u8    ? halve<std::uint8_t>
                   : p.type == ElementType::u16 ? halve<std::uint16_t>
                                                : halve<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::Halve> table[] = {
    {{"halve", Backend::cpu, {Feature::u8, Feature::u16, Feature::f32}}, supports_all, launch},
};

}  // namespace

Family halve_family() { return Family(table); }

}  // namespace xcorr::cpu
