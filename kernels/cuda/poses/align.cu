// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU, a block a pose. The sums of a step are in double precision, which keeps
// the solution independent of the order of additions to well below what is asked of it.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

__global__ void __launch_bounds__(threads)
    align(stage::Align::Problem p, const std::uint8_t* frame, const SmoothedPixel* smoothed,
          const std::uint8_t* counted, const AlignedPose* starts, Alignment* alignments) {
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    AlignSteps steps(starts[i], p.freedom, p.radius());  // the same in all threads
    for (int step = 0; step < AlignSteps::most; ++step) {
      const AlignedPose pose = steps.pose();
      const double cosine = cos(pose.angle), sine = sin(pose.angle);
      AlignSums sums;
      sums.clear();
      for (int y = threadIdx.x / 32; y < p.size.height; y += warps)
        for (int x = threadIdx.x % 32; x < p.size.width; x += 32) {
          const std::int64_t at = std::int64_t{y} * p.size.width + x;
          if (!counted[at]) continue;
          const double u = x - 0.5 * (p.size.width - 1), v = y - 0.5 * (p.size.height - 1);
          const float there =
              smoothed_at(frame, p.pitch, p.frame, pose.x + pose.scale * (cosine * u + sine * v),
                          pose.y + pose.scale * (cosine * v - sine * u));
          sums.add(pose, cosine, sine, steps.radius(), u, v, smoothed[at], there);
        }
      block_sums<warps>(sums.of);
      if (!steps.step(sums)) break;
    }
    if (threadIdx.x == 0) alignments[i] = steps.result();
  }
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  return enqueue("align", align, dim3(grid_extent(p.count)), dim3(threads), 0, b.stream, p, b.frame,
                 b.smoothed, b.counted, b.starts, b.alignments);
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cuda, Feature::u8}, supports_all, launch},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cuda
