// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Smoothed templates on the CPU: once a template, or once a change of it.
#include "cpu/common.hpp"
#include "stages/align.hpp"

namespace xcorr::cpu {
namespace {

Status smooth(const stage::Smooth::Problem& p, const Device&, const stage::Smooth::Buffers& b,
              PlanState*) {
  for (std::int64_t i = 0; i < p.size.area(); ++i)
    b.smoothed[i] =
        b.counted[i] ? SmoothedPixel(SplinePixel(b.pixels + i, p.size.width)) : SmoothedPixel();
  return {};
}

constexpr Variant<stage::Smooth> table[] = {
    {{"smooth", Backend::cpu, Feature::u8}, supports_all, smooth},
};

}  // namespace

Family smooth_family() { return Family(table); }

}  // namespace xcorr::cpu
