// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks of targets on the GPU, a block per window.
#include "stages/tracker/target_mask.hpp"

#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

using namespace xcorr::tracker;

constexpr int threads = 512, warps = threads / 32;

__global__ void __launch_bounds__(threads)
    make_masks(stage::ColorWindows p, stage::TargetMask::Buffers b) {
  __shared__ CellLikelihoods likelihoods;
  __shared__ std::uint8_t is_target[cells];
  wait_for_previous();
  const Look look = b.looks[blockIdx.x];
  if (look.side == 0) return;
  const ColorHistograms& known = b.histograms[look.filter];
  if (known.times != 1) return;
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  const Cropping window = b.croppings[blockIdx.x];
  for (int i = threadIdx.x; i < cells; i += threads)
    likelihoods.of[i] =
        stage::TargetMask::likelihood(p, planes, window, known.posterior, i % grid, i / grid);
  __syncthreads();
  const FilterShape& shape = b.shapes[look.filter];
  int counts[2] = {};  // in the box: of the target, all
  for (int i = threadIdx.x; i < cells; i += threads) {
    const int x = i % grid, y = i / grid;
    is_target[i] = likelihoods.is_target(x, y);
    if (!shape.on_target(x, y)) continue;
    counts[0] += is_target[i];
    ++counts[1];
  }
  block_sums<warps>(counts);  // and all cells are decided
  const bool informative = is_informative(counts[0], counts[1]);
  std::uint8_t* const mask = b.masks + std::int64_t{look.filter} * cells;
  for (int i = threadIdx.x; i < cells; i += threads)
    mask[i] = informative ? mask_at(is_target, i % grid, i / grid) : 1;
}

Status launch(const stage::ColorWindows& p, const Device& device,
              const stage::TargetMask::Buffers& b, PlanState*) {
  return enqueue_early(device, "target_mask", make_masks, p.windows, threads, 0, b.stream, p, b);
}

constexpr Variant<stage::TargetMask> table[] = {
    {{.name = "target_mask", .backend = Backend::cuda, .features = Feature::u8},
     {.launch = launch}},
};

}  // namespace
}  // namespace tracker

Family target_mask_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
