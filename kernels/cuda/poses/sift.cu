// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of candidates on the GPU, by one block: they are few, and each that is kept decides on
// the others.
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/sift.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

/// One of the candidates, by its place in the list.
struct Pick {
  double closeness;
  int index;

  __device__ bool before(const Pick& other) const {
    return closeness != other.closeness ? closeness > other.closeness : index < other.index;
  }
};

/// The best of each group of so many lanes.
template <int lanes>
__device__ Pick best_of_lanes(Pick mine) {
#pragma unroll
  for (int step = lanes / 2; step > 0; step /= 2) {
    const Pick other{__shfl_xor_sync(~0u, mine.closeness, step),
                     __shfl_xor_sync(~0u, mine.index, step)};
    if (other.before(mine)) mine = other;
  }
  return mine;
}

/// The best of the block's, for all threads. Calls must be separated by a barrier.
__device__ Pick best_of_block(Pick mine) {
  __shared__ Pick of_warps[warps];
  mine = best_of_lanes<32>(mine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  return best_of_lanes<warps>(of_warps[threadIdx.x % warps]);
}

/// What is kept of a list, which is destroyed. `apart`: memory for choice.most.
struct Chooser {
  PoseChoice choice;
  PoseSteps steps;
  int level;
  PoseTables tables;
  PoseCandidate* kept;
  std::int32_t* kept_count;
  AlignedPose* starts;
  PoseCandidate* apart;

  __device__ void choose(PoseCandidate* list, int count) const {
    double least = choice.least;
    int done = 0, apart_count = 0;
    while (done < choice.most) {
      Pick mine{no_closeness, count};
      for (int i = threadIdx.x; i < count; i += threads) {
        const Pick other{list[i].closeness, i};
        if (other.before(mine)) mine = other;
      }
      const Pick best = best_of_block(mine);
      if (best.closeness <= no_closeness || best.closeness < least) break;
      const PoseCandidate one = list[best.index];
      bool is_apart = true;
      for (int i = threadIdx.x; i < apart_count; i += threads)
        if (!choice.apart(one, apart[i])) is_apart = false;
      is_apart = __syncthreads_and(is_apart);  // all have read what the next lines change
      for (int i = threadIdx.x; i < count; i += threads)
        if (i == best.index || choice.same(steps, level, one, list[i]))
          list[i].closeness = no_closeness;
      if (threadIdx.x == 0) {
        kept[done] = level > 0 ? one_level_down(one) : one;
        if (level == 0) starts[done] = start_of(one, tables);
        if (is_apart) apart[apart_count] = one;
      }
      apart_count += is_apart;
      if (is_apart && apart_count == choice.wanted && one.closeness - choice.margin > least)
        least = one.closeness - choice.margin;
      ++done;
      __syncthreads();
    }
    if (threadIdx.x == 0) *kept_count = done;
    if (level == 0)
      for (int i = done + threadIdx.x; i < choice.most; i += threads) starts[i] = {};
  }
};

/// The list, and what lies apart: in shared memory if they fit, else in a workspace.
struct Lists {
  std::size_t bytes;

  Lists(std::int64_t count, int most) : bytes((count + most) * sizeof(PoseCandidate)) {}
  bool fit() const { return bytes <= 46 * 1024; }
  std::size_t workspace() const { return fit() ? 0 : bytes; }
  std::size_t shared() const { return fit() ? bytes : 0; }
  PoseCandidate* in(void* workspace) const {
    return fit() ? nullptr : static_cast<PoseCandidate*>(workspace);
  }
};

__device__ PoseCandidate* list_in(PoseCandidate* workspace) {
  return workspace ? workspace : dynamic_shared<PoseCandidate>();
}

__global__ void __launch_bounds__(threads, 1)
    gather(stage::Gather::Problem p, stage::Gather::Buffers b, PoseCandidate* workspace) {
  PoseCandidate* const list = list_in(workspace);
  wait_for_previous();
  const int slots = static_cast<int>(p.slots());
  for (int i = threadIdx.x; i < slots; i += threads) {
    const int picture = i / p.max_peaks, k = i - picture * p.max_peaks;
    PoseCandidate one{};
    one.closeness = no_closeness;
    if (k < static_cast<int>(b.peak_counts[picture])) {
      const RefinedPeak& peak = b.peaks[i];
      const stage::Gather::Source source = b.sources[picture];
      one = {closeness_of(p.minimum, p.polarity, peak.score),
             peak.score,
             2 * peak.x + source.width - 1,
             2 * peak.y + source.height - 1,
             source.pose,
             0,
             0};
    }
    list[i] = one;
  }
  __syncthreads();
  Chooser{p.choice,     p.steps,           p.level,  {b.angles, b.inverse_scales},
          b.candidates, b.candidate_count, b.starts, list + slots}
      .choose(list, slots);
}

__global__ void __launch_bounds__(threads, 1)
    sift(stage::Sift::Problem p, stage::Sift::Buffers b, PoseCandidate* workspace) {
  PoseCandidate* const list = list_in(workspace);
  wait_for_previous();
  const int count = *b.candidate_count;
  for (int i = threadIdx.x; i < count; i += threads) list[i] = stage::Sift::best_of(p, b, i);
  __syncthreads();
  Chooser{p.choice, p.steps,      p.level,  {b.angles, b.inverse_scales},
          b.kept,   b.kept_count, b.starts, list + p.count}
      .choose(list, count);
}

Lists lists_of(const stage::Gather::Problem& p) { return {p.slots(), p.choice.most}; }
Lists lists_of(const stage::Sift::Problem& p) { return {p.count, p.choice.most}; }

template <class Problem>
std::size_t workspace(const Problem& p, const Device&) {
  return lists_of(p).workspace();
}

Status launch_gather(const stage::Gather::Problem& p, const Device& device,
                     const stage::Gather::Buffers& b, PlanState*) {
  const Lists lists = lists_of(p);
  return enqueue_early(device, "gather", gather, dim3(1), dim3(threads), lists.shared(), b.stream,
                       p, b, lists.in(b.workspace));
}
Status launch_sift(const stage::Sift::Problem& p, const Device& device,
                   const stage::Sift::Buffers& b, PlanState*) {
  const Lists lists = lists_of(p);
  return enqueue_early(device, "sift", sift, dim3(1), dim3(threads), lists.shared(), b.stream, p, b,
                       lists.in(b.workspace));
}

constexpr Variant<stage::Gather> gather_table[] = {
    {{"gather", Backend::cuda, {Feature::u8, Feature::contrast}},
     supports_all,
     launch_gather,
     workspace},
};
constexpr Variant<stage::Sift> sift_table[] = {
    {{"sift", Backend::cuda, {Feature::u8, Feature::contrast}},
     supports_all,
     launch_sift,
     workspace},
};

}  // namespace

Family sift_family() { return Family(gather_table, sift_table); }

}  // namespace xcorr::cuda
