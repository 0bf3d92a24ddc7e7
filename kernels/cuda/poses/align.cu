// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the GPU, a launch a step but for the last ones: some blocks share a pose's
// pixels, and the last one to finish takes the step from their sums. One block that took all steps
// by itself was slower, since it has but one multiprocessor. Threads add up few pixels in single
// precision; the rest is in double and in a fixed order, which keeps the solution independent of it
// to well below what is asked.
#include <algorithm>

#include "cuda/common/tickets.cuh"
#include "cuda/common/warp.cuh"
#include "stages/align.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// Blocks that share a pose: so that a thread has a pixel, but of a large template more, or the
/// sums of so many blocks would take longer than what they save.
int parts_of(const stage::Align::Problem& p) {
  constexpr std::int64_t pixels = threads, most = 192;
  return static_cast<int>(std::min(ceil_div(p.size.area(), pixels), most));
}

/// What a pose keeps from step to step.
struct Progress {
  AlignSteps steps;
  bool goes_on;
};

/// Of sums in each lane of a warp, `step` lanes apart, the sums over the lanes. They are shared
/// out: a lane keeps half of what it had, and at the end the one of number(). All indices are known
/// when it is compiled: else they would not stay in registers.
template <int count, int step>
struct WarpSums {
  static constexpr int half = (count + 1) / 2;
  using Rest = WarpSums<half, step / 2>;

  __device__ static void find(float* sums) {
    const bool upper = threadIdx.x & step;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const float other = k + half < count ? sums[k + half] : 0;
      const float theirs = __shfl_xor_sync(~0u, upper ? sums[k] : other, step);
      sums[k] = (upper ? other : sums[k]) + theirs;
    }
    Rest::find(sums);
  }
  /// At least `count` for none.
  __device__ static int number() {
    const int rest = Rest::number();
    return rest >= half ? count : rest + (threadIdx.x & step ? half : 0);
  }
};
template <>
struct WarpSums<1, 0> {
  __device__ static void find(float*) {}
  __device__ static int number() { return 0; }
};

/// The sums over the threads of the block go to `all`.
__device__ void add_up(AlignSumsOf<float>& sums, AlignSumsOf<double>& all) {
  __shared__ float partial[warps][AlignSums::count];
  static_assert(AlignSums::count <= 32, "a sum a lane");
  using OfWarp = WarpSums<AlignSums::count, 16>;
  OfWarp::find(sums.of);
  if (const int k = OfWarp::number(); k < AlignSums::count)
    partial[threadIdx.x / 32][k] = sums.of[0];
  __syncthreads();
  if (threadIdx.x < AlignSums::count) {
    double sum = 0;
#pragma unroll
    for (int warp = 0; warp < warps; ++warp) sum += partial[warp][threadIdx.x];
    all.of[threadIdx.x] = sum;
  }
}

/// Of a part of the pose's pixels.
__device__ void add_pixels(const stage::Align::Problem& p, const stage::Align::Buffers& b,
                           const AlignMap& map, AlignSumsOf<double>& all) {
  AlignSumsOf<float> sums;
  sums.clear();
  const int area = p.size.width * p.size.height;
#pragma unroll 2
  for (int at = blockIdx.x * threads + threadIdx.x; at < area; at += gridDim.x * threads) {
    if (!b.counted[at]) continue;
    const int y = at / p.size.width, x = at - y * p.size.width;
    sums.add(map, b.frame, p.pitch, p.frame, x - 0.5F * (p.size.width - 1),
             y - 0.5F * (p.size.height - 1), b.smoothed[at]);
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
  __shared__ AlignMap map;
  __shared__ bool goes_on;
  wait_for_previous();
  for (int i = blockIdx.y; i < p.count; i += gridDim.y) {
    const auto steps_before = [&](int step) {
      return step == 0 ? AlignSteps(b.starts[i], p.freedom, p.radius()) : progress[i].steps;
    };
    if (threadIdx.x == 0) {
      goes_on = first_step > 0 ? progress[i].goes_on : b.starts[i].scale != 0;
      if (!goes_on && first_step == 0 && blockIdx.x == 0) {
        b.alignments[i] = {};
        progress[i].goes_on = false;
      }
    }
    __syncthreads();
    for (int step = first_step; step < end_step && goes_on; ++step) {
      if (threadIdx.x == 0) {
        const AlignSteps steps = steps_before(step);
        map = AlignMap(steps.pose(), steps.radius());
      }
      __syncthreads();
      AlignSums* const shares = parts + std::int64_t{i} * gridDim.x;
      add_pixels(p, b, map, shares[blockIdx.x]);
      if (add_parts(shares, &tickets[i], all)) {
        __syncthreads();
        if (threadIdx.x == 0) {
          AlignSteps steps = steps_before(step);
          goes_on = steps.step(all) && step + 1 < AlignSteps::most;
          progress[i] = {steps, goes_on};
          if (!goes_on) b.alignments[i] = steps.result();
        }
      }
      __syncthreads();
    }
    __syncthreads();  // the next pose overwrites what is shared
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
