// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks of targets on the CPU, a window a thread.
#include "stages/tracker/target_mask.hpp"

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

using namespace tracker;

void make_mask(const CellLikelihoods& likelihoods, const FilterShape& shape, std::uint8_t* mask) {
  std::uint8_t is_target[cells];
  int of_target = 0, in_box = 0;
  for (int i = 0; i < cells; ++i) {
    const int x = i % grid, y = i / grid;
    is_target[i] = likelihoods.is_target(x, y);
    if (!shape.on_target(x, y)) continue;
    ++in_box;
    of_target += is_target[i];
  }
  const bool informative = is_informative(of_target, in_box);
  for (int i = 0; i < cells; ++i)
    mask[i] = informative ? mask_at(is_target, i % grid, i / grid) : 1;
}

Status make_masks(const stage::ColorWindows& p, const Device&, const stage::TargetMask::Buffers& b,
                  PlanState*) {
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  parallel_for(0, p.windows, [&](int window) {
    const Look& look = b.looks[window];
    if (look.side == 0) return;
    const ColorHistograms& known = b.histograms[look.filter];
    if (known.times != 1) return;
    CellLikelihoods likelihoods;
    for (int i = 0; i < cells; ++i)
      likelihoods.of[i] = stage::TargetMask::likelihood(p, planes, b.croppings[window],
                                                        known.posterior, i % grid, i / grid);
    make_mask(likelihoods, b.shapes[look.filter], b.masks + std::int64_t{look.filter} * cells);
  });
  return {};
}

constexpr Variant<stage::TargetMask> table[] = {
    {{.name = "target_mask", .backend = Backend::cpu, .features = Feature::u8},
     {.launch = make_masks}},
};

}  // namespace

Family target_mask_family() { return Family(table); }

}  // namespace xcorr::cpu
