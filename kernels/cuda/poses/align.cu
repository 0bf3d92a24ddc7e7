// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU, a block a pose. The sums of a step are in double precision, which keeps
// the solution independent of the order of additions to well below what is asked of it.
#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;

/// The sums over the threads of the block, for its first thread. All indices are known when it is
/// compiled: else the sums would not stay in registers.
__device__ void add_up(const AlignSums& sums, AlignSums& all) {
  __shared__ double partial[warps][AlignSums::count];
#pragma unroll
  for (int k = 0; k < AlignSums::count; ++k) {
    const double sum = warp_sum(sums.of[k]);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int k = 0; k < AlignSums::count; ++k) {
    all.of[k] = 0;
    for (int warp = 0; warp < warps; ++warp) all.of[k] += partial[warp][k];
  }
}

__global__ void __launch_bounds__(threads)
    align(stage::Align::Problem p, const std::uint8_t* frame, const SmoothedPixel* smoothed,
          const std::uint8_t* counted, const AlignedPose* starts, Alignment* alignments) {
  __shared__ AlignSums sums_of_all;
  __shared__ AlignSums::Scratch scratch;
  __shared__ AlignedPose pose;
  __shared__ bool goes_on;
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    if (starts[i].scale == 0) {
      if (threadIdx.x == 0) alignments[i] = {};
      continue;
    }
    AlignSteps steps(starts[i], p.freedom, p.radius());  // the first thread's move on
    for (int step = 0; step < AlignSteps::most; ++step) {
      if (threadIdx.x == 0) pose = steps.pose();
      __syncthreads();
      AlignSums sums;
      sums.clear();
      for (int y = threadIdx.x / 32; y < p.size.height; y += warps)
        for (int x = threadIdx.x % 32; x < p.size.width; x += 32) {
          const std::int64_t at = std::int64_t{y} * p.size.width + x;
          if (!counted[at]) continue;
          const double u = x - 0.5 * (p.size.width - 1), v = y - 0.5 * (p.size.height - 1);
          const FramePlace place(pose, u, v);
          sums.add(pose, steps.radius(), u, v, smoothed[at],
                   smoothed_at(frame, p.pitch, p.frame, place.x, place.y));
        }
      add_up(sums, sums_of_all);
      if (threadIdx.x == 0) goes_on = steps.step(sums_of_all, scratch);
      __syncthreads();
      if (!goes_on) break;
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
