// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares in frames of 16 bits and of floats on the GPU: a block takes all steps of a pose,
// with sums in double precision, since there may be much more brightness than contrast.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

template <class T>
__global__ void __launch_bounds__(threads)
    align_words(stage::Align::Problem p, stage::Align::Buffers b) {
  __shared__ AlignMap map;
  __shared__ bool goes_on;
  const T* frame = row_of<T>(b.frame, p.pitch, 0);
  const int area = p.size.width * p.size.height;
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    if (b.starts[i].scale == 0) {
      if (threadIdx.x == 0) b.alignments[i] = {};
      continue;
    }
    AlignSteps steps(b.starts[i], p.freedom, p.radius());  // of thread 0
    if (threadIdx.x == 0) goes_on = true;
    __syncthreads();
    for (int step = 0; step < AlignSteps::most && goes_on; ++step) {
      if (threadIdx.x == 0) map = AlignMap(steps.pose(), steps.radius());
      __syncthreads();
      AlignSums sums;
      sums.clear();
      for (int at = threadIdx.x; at < area; at += threads) {
        if (!b.counted[at]) continue;
        const int y = at / p.size.width, x = at - y * p.size.width;
        sums.add(map, frame, p.pitch, p.frame, x - 0.5F * (p.size.width - 1),
                 y - 0.5F * (p.size.height - 1), b.smoothed[at]);
      }
      block_sums<warps>(sums.of);
      if (threadIdx.x == 0) goes_on = steps.step(sums, AlignSums::lost_in_double);
      __syncthreads();
    }
    if (threadIdx.x == 0) b.alignments[i] = steps.result();
    __syncthreads();  // the next pose overwrites what is shared
  }
}

Status launch(const stage::Align::Problem& p, const Device&, const stage::Align::Buffers& b,
              PlanState*) {
  return enqueue("align_words",
                 p.type == ElementType::u16 ? align_words<std::uint16_t> : align_words<float>,
                 dim3(grid_extent(p.count)), dim3(threads), 0, b.stream, p, b);
}

constexpr Variant<stage::Align> table[] = {
    {{"align_words", Backend::cuda, {Feature::u16, Feature::f32, Feature::contrast}},
     supports_all,
     launch},
};

}  // namespace

Family align_words_family() { return Family(table); }

}  // namespace xcorr::cuda
