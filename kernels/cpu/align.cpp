// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, a pose a task.
#include "stages/align.hpp"
#include "cpu/common.hpp"

namespace xcorr::cpu {
namespace {

AlignSums sums_of(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                  const AlignSteps& steps) {
  AlignSums sums;
  sums.clear();
  const AlignMap map(steps.pose(), steps.radius());
  for (int y = 0; y < p.size.height; ++y) {
    AlignSumsOf<float> of_row;
    of_row.clear();
    for (int x = 0; x < p.size.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.size.width + x;
      if (b.counted[at])
        of_row.add(map, b.frame, p.pitch, p.frame, x - 0.5F * float(p.size.width - 1),
                   y - 0.5F * float(p.size.height - 1), b.smoothed[at]);
    }
    sums.add(of_row);
  }
  return sums;
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  tbb::parallel_for(0, p.count, [&](int i) {
    b.alignments[i] = {};
    if (b.starts[i].scale == 0) return;
    AlignSteps steps(b.starts[i], p.freedom, p.radius());
    for (int step = 0; step < AlignSteps::most; ++step)
      if (!steps.step(sums_of(p, b, steps))) break;
    b.alignments[i] = steps.result();
  });
  return {};
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cpu, {Feature::u8, Feature::contrast}}, supports_all, launch},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cpu
