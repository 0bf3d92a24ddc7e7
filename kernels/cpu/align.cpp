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
  const AlignedPose& pose = steps.pose();
  for (int y = 0; y < p.size.height; ++y)
    for (int x = 0; x < p.size.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.size.width + x;
      if (!b.counted[at]) continue;
      const double u = x - 0.5 * (p.size.width - 1), v = y - 0.5 * (p.size.height - 1);
      const FramePlace place(pose, u, v);
      sums.add(pose, steps.radius(), u, v, b.smoothed[at],
               smoothed_at(b.frame, p.pitch, p.frame, place.x, place.y));
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
