// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids on the CPU: a row of the result at a time.
#include "stages/halve.hpp"
#include "cpu/common.hpp"

namespace xcorr::cpu {
namespace {

Status halve(const stage::Halve::Problem& p, const Device&, const stage::Halve::Buffers& b,
             PlanState*) {
  constexpr int rows_at_a_time = 64;
  tbb::parallel_for(tbb::blocked_range<int>(0, p.half.height, rows_at_a_time), [&](auto rows) {
    for (int y = rows.begin(); y < rows.end(); ++y) {
      const std::uint8_t* upper = b.pixels + 2 * y * p.pitch;
      const std::uint8_t* lower = upper + p.pitch;
      std::uint8_t* to = b.halved + y * p.half_pitch;
      for (int x = 0; x < p.half.width; ++x)
        to[x] = mean_of_four(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
    }
  });
  return {};
}

constexpr Variant<stage::Halve> table[] = {
    {{"halve", Backend::cpu, Feature::u8}, supports_all, halve},
};

}  // namespace

Family halve_family() { return Family(table); }

}  // namespace xcorr::cpu
