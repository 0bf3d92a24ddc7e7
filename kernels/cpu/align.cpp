// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, a pose a task.
#include <cmath>

#include "cpu/common.hpp"
#include "stages/align.hpp"

namespace xcorr::cpu {
namespace {

AlignSums sums_of(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                  const AlignSteps& steps) {
  AlignSums sums;
  sums.clear();
  const AlignedPose& pose = steps.pose();
  const double cosine = std::cos(pose.angle), sine = std::sin(pose.angle);
  for (int y = 0; y < p.size.height; ++y)
    for (int x = 0; x < p.size.width; ++x) {
      const std::int64_t at = std::int64_t{y} * p.size.width + x;
      if (!b.counted[at]) continue;
      const double u = x - 0.5 * (p.size.width - 1), v = y - 0.5 * (p.size.height - 1);
      const float frame =
          smoothed_at(b.frame, p.pitch, p.frame, pose.x + pose.scale * (cosine * u + sine * v),
                      pose.y + pose.scale * (cosine * v - sine * u));
      sums.add(pose, cosine, sine, steps.radius(), u, v, b.smoothed[at], frame);
    }
  return sums;
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  tbb::parallel_for(0, p.count, [&](int i) {
    AlignSteps steps(b.starts[i], p.freedom, p.radius());
    for (int step = 0; step < AlignSteps::most; ++step)
      if (!steps.step(sums_of(p, b, steps))) break;
    b.alignments[i] = steps.result();
  });
  return {};
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cpu, Feature::u8}, supports_all, launch},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cpu
