// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What least squares need of a template besides its pixels: the matrix of the equations and its
// inverse, made once a template by blocks that share its pixels.
#pragma once

#include "cuda/common/last_block.cuh"
#include "cuda/poses/pose_refine.cuh"

namespace xcorr::cuda {

/// Puts a block's sums where all blocks have theirs.
template <class Sums>
__device__ auto to_global(Sums& sums) {
  return [&sums](int k, double sum) {
    if (threadIdx.x % 32 == 0) sums.of[k] = sum;
  };
}

/// The sums of each plane of the blocks that share them, plane by plane; true in the last of them,
/// which has all.
template <class Sums, int planes>
__device__ bool add_parts(const Sums* parts, unsigned* block_counter, Sums (&all)[planes]) {
  __syncthreads();
  if (!is_last_block(block_counter, gridDim.x)) return false;
  // Some lanes a sum, so that more loads are in flight together.
  constexpr int lanes = 16;
  for (int i = threadIdx.x / lanes; i < planes * Sums::count; i += blockDim.x / lanes) {
    const int plane = i / Sums::count, k = i % Sums::count;
    const Sums* const of_plane = parts + plane * gridDim.x;
    double sum = 0;
#pragma unroll 4
    for (int part = threadIdx.x % lanes; part < static_cast<int>(gridDim.x); part += lanes)
      sum += __ldcg(&of_plane[part].of[k]);
    const unsigned together = ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(together, sum, step);
    if (threadIdx.x % lanes == 0) all[plane].of[k] = sum;
  }
  __syncthreads();
  return true;
}

/// Grid: the blocks that share the template. With the registers of two blocks per multiprocessor
/// the inverse does not fit in them on 7.5.
template <class PoseRefining>
__global__ void __launch_bounds__(PoseRefining::threads, 1)
    pose_refine_system(stage::PoseRefine::Problem p, stage::PoseRefine::Buffers b,
                       PoseRefineMatrix* matrices, unsigned* block_counter,
                       typename PoseRefining::System* to) {
  constexpr int planes = PoseRefining::planes;
  __shared__ typename PoseRefining::System system;
  __shared__ PoseRefineMatrix sums[planes];
  wait_for_previous();
  XCORR_ROLL
  for (int plane = 0; plane < planes; ++plane)
    PoseRefining::add_matrix(p, b, plane, PoseRefining::Share::of_grid(),
                             to_global(matrices[plane * gridDim.x + blockIdx.x]));
  if (!add_parts(matrices, block_counter, sums)) return;
  if (threadIdx.x == 0) system.set_matrix(sums);
  __syncthreads();
  PoseRefining::invert(p, system);
  __syncthreads();
  if (threadIdx.x == 0) *to = system;
}

template <class PoseRefining>
class TemplateSystem final : public PlanState {
 public:
  using System = typename PoseRefining::System;

  static Result<std::unique_ptr<PlanState>> make(const stage::PoseRefine::Problem& p,
                                                 const Device& device) {
    auto block = Block::make(Backend::cuda, sizeof(System) + PoseRefining::planes *
                                                                 PoseRefining::blocks(p.size) *
                                                                 sizeof(PoseRefineMatrix));
    if (!block.ok()) return block.status();
    auto block_counters = BlockCounters::make(1 + p.count);
    if (!block_counters.ok()) return block_counters.status();
    return std::unique_ptr<PlanState>(
        new TemplateSystem(p, device, std::move(block.value()), std::move(block_counters.value())));
  }

  /// Enqueues it, of the smoothed template.
  Status set_rights(const void* smoothed, Stream stream) override {
    stage::PoseRefine::Buffers b;
    b.smoothed = static_cast<const SmoothedPixel*>(smoothed);
    return enqueue_early(device_, "pose_refine_system", pose_refine_system<PoseRefining>,
                         dim3(PoseRefining::blocks(problem_.size)), dim3(PoseRefining::threads), 0,
                         stream, problem_, b, reinterpret_cast<PoseRefineMatrix*>(system() + 1),
                         counters(), system());
  }
  System* system() const { return block_.as<System>(); }
  /// Of the poses.
  unsigned* block_counters() const { return counters() + 1; }

 private:
  TemplateSystem(const stage::PoseRefine::Problem& p, const Device& device, Block block,
                 std::unique_ptr<PlanState> block_counters)
      : problem_(p),
        device_(device),
        block_(std::move(block)),
        block_counters_(std::move(block_counters)) {}

  unsigned* counters() const {
    return static_cast<const BlockCounters*>(block_counters_.get())->counters();
  }

  stage::PoseRefine::Problem problem_;
  Device device_;
  Block block_;
  std::unique_ptr<PlanState> block_counters_;
};

}  // namespace xcorr::cuda
