// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU, a launch a step but for the last ones: some blocks share a pose's
// pixels, and the last one to finish takes the step from their sums. These are in double precision
// and added in a fixed order, which keeps the solution independent of it to well below what is
// asked. One block that took all steps by itself was slower, since it has but one multiprocessor.
#include <algorithm>

#include "cuda/common/tickets.cuh"
#include "cuda/common/warp.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32;

/// Blocks that share a pose: so that a thread has two pixels, but of a large template more, or the
/// sums of so many blocks would take longer than what they save.
int parts_of(const stage::Align::Problem& p) {
  constexpr std::int64_t pixels = 2 * threads, most = 192;
  return static_cast<int>(std::min(ceil_div(p.size.area(), pixels), most));
}

/// What a pose keeps from step to step.
struct Progress {
  AlignSteps steps;
  bool goes_on;
};

/// The sums over the threads of the block go to `all`. All indices are known when it is compiled:
/// else the sums would not stay in registers.
__device__ void add_up(const AlignSums& sums, AlignSums& all) {
  __shared__ double partial[warps][AlignSums::count];
#pragma unroll
  for (int k = 0; k < AlignSums::count; ++k) {
    const double sum = warp_sum(sums.of[k]);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  for (int k = threadIdx.x; k < AlignSums::count; k += threads) {
    double sum = 0;
    for (int warp = 0; warp < warps; ++warp) sum += partial[warp][k];
    all.of[k] = sum;
  }
}

/// Of a part of the pose's pixels.
__device__ void add_pixels(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                           const AlignedPose& pose, double radius, AlignSums& all) {
  AlignSums sums;
  sums.clear();
  for (int y = blockIdx.x * warps + threadIdx.x / 32; y < p.size.height; y += gridDim.x * warps)
    for (int x = threadIdx.x % 32; x < p.size.width; x += 32) {
      const std::int64_t at = std::int64_t{y} * p.size.width + x;
      if (!b.counted[at]) continue;
      const double u = x - 0.5 * (p.size.width - 1), v = y - 0.5 * (p.size.height - 1);
      const FramePlace place(pose, u, v);
      sums.add(pose, radius, u, v, b.smoothed[at],
               smoothed_at(b.frame, p.pitch, p.frame, place.x, place.y));
    }
  add_up(sums, all);
}

/// The sums of the blocks that share a pose, `mine` first; true in the last of them, which has all.
__device__ bool add_parts(const AlignSums* parts, unsigned* ticket, AlignSums& all) {
  __threadfence();
  __syncthreads();
  if (!is_last_block(ticket, gridDim.x)) return false;
  // Some lanes a sum, so that more loads are in flight together.
  constexpr int lanes = 4;
  for (int k = threadIdx.x / lanes; k < AlignSums::count; k += threads / lanes) {
    double sum = 0;
#pragma unroll 4
    for (int part = threadIdx.x % lanes; part < static_cast<int>(gridDim.x); part += lanes)
      sum += __ldcg(&parts[part].of[k]);
    const unsigned together = ((1u << lanes) - 1) << (threadIdx.x % 32 / lanes * lanes);
    for (int step = lanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(together, sum, step);
    if (threadIdx.x % lanes == 0) all.of[k] = sum;
  }
  return true;
}

/// Grid: the blocks that share a pose, poses. Several steps are taken only by one block a pose.
/// `parts`: memory for the sums of each block.
__global__ void __launch_bounds__(threads)
    align(stage::Align::Problem p, stage::Align::Buffers b, int first_step, int end_step,
          Progress* progress, AlignSums* parts, unsigned* tickets) {
  __shared__ AlignSums all;
  __shared__ AlignedPose pose;
  __shared__ double radius;
  wait_for_previous();
  for (int i = blockIdx.y; i < p.count; i += gridDim.y)
    for (int step = first_step; step < end_step; ++step) {
      const bool is_first = step == 0;
      if (is_first && b.starts[i].scale == 0) {
        if (blockIdx.x == 0 && threadIdx.x == 0) {
          b.alignments[i] = {};
          progress[i].goes_on = false;
        }
        break;
      }
      if (!is_first && !progress[i].goes_on) break;
      const auto steps_so_far = [&] {
        return is_first ? AlignSteps(b.starts[i], p.freedom, p.radius()) : progress[i].steps;
      };
      if (threadIdx.x == 0) {
        const AlignSteps steps = steps_so_far();
        pose = steps.pose();
        radius = steps.radius();
      }
      __syncthreads();
      AlignSums* const shares = parts + std::int64_t{i} * gridDim.x;
      add_pixels(p, b, pose, radius, shares[blockIdx.x]);
      if (add_parts(shares, &tickets[i], all)) {
        __syncthreads();
        if (threadIdx.x == 0) {
          AlignSteps steps = steps_so_far();
          const bool goes_on = steps.step(all) && step + 1 < AlignSteps::most;
          progress[i] = {steps, goes_on};
          if (!goes_on) b.alignments[i] = steps.result();
        }
      }
      __syncthreads();  // the next step or pose overwrites what is shared
    }
}

/// Sums of all blocks, then the progress of each pose.
std::size_t sums_bytes(const stage::Align::Problem& p) {
  return std::size_t(p.count) * parts_of(p) * sizeof(AlignSums);
}
std::size_t workspace(const stage::Align::Problem& p, const Device&) {
  return sums_bytes(p) + p.count * sizeof(Progress);
}

Result<std::unique_ptr<PlanState>> plan(const stage::Align::Problem& p, const Device&) {
  return Tickets::make(p.count);
}

Status launch(const stage::Align::Problem& p, const Device& device, const stage::Align::Buffers& b,
              PlanState* state) {
  auto* const sums = static_cast<AlignSums*>(b.workspace);
  auto* const progress =
      reinterpret_cast<Progress*>(static_cast<std::byte*>(b.workspace) + sums_bytes(p));
  const auto take_steps = [&](int blocks, int first, int end) {
    return enqueue_early(device, "align", align, dim3(blocks, grid_extent(p.count)), dim3(threads),
                         0, b.stream, p, b, first, end, progress, sums,
                         static_cast<const Tickets*>(state)->counters());
  };
  // Few poses need more steps than six, and a launch that has nothing to do takes its time, too.
  // But of a large template one block would be much slower.
  const int parts = parts_of(p), shared_steps = parts <= 32 ? 6 : AlignSteps::most;
  for (int step = 0; step < shared_steps; ++step)
    if (Status s = take_steps(parts, step, step + 1); !s.ok()) return s;
  return shared_steps < AlignSteps::most ? take_steps(1, shared_steps, AlignSteps::most) : Status();
}

constexpr Variant<stage::Align> table[] = {
    {{"align", Backend::cuda, {Feature::u8, Feature::contrast}},
     supports_all,
     launch,
     workspace,
     plan},
};

}  // namespace

Family align_family() { return Family(table); }

}  // namespace xcorr::cuda
