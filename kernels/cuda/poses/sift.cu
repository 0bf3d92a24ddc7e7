// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice among few candidates on the GPU, by one block.
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/choice.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256;

/// Where a block has its list, what its walk needs, what was probed, and the list's order: in
/// shared memory if they fit, else in a workspace.
struct Lists {
  int count, most, probed_count;
  void* workspace;

  __host__ __device__ std::size_t bytes() const {
    return count * sizeof(PoseCandidate) + PoseWalk::bytes(most) +
           probed_count * sizeof(ProbedPlace) + power_of_two_above(count) * sizeof(int);
  }
  __host__ __device__ bool fit() const { return bytes() <= 46 * 1024; }

  __device__ PoseCandidate* list() const {
    return fit() ? dynamic_shared<PoseCandidate>() : static_cast<PoseCandidate*>(workspace);
  }
  __device__ PoseCandidate* of_walk() const { return list() + count; }
  __device__ ProbedPlace* probed() const {
    return reinterpret_cast<ProbedPlace*>(of_walk() + 2 * most);
  }
  __device__ int* order() const { return reinterpret_cast<int*>(probed() + probed_count); }
};

/// What is kept of a list of candidates.
struct Chooser {
  PoseChoice choice;
  PoseSteps steps;
  int level;
  PoseTables tables;
  PoseWalk::Output to;

  /// The first `count` of the list.
  __device__ void choose(const Lists& lists, int count) const {
    const PoseCandidate* const list = lists.list();
    int* const order = lists.order();
    for (int i = threadIdx.x; i < count; i += threads) order[i] = i;
    sort_by_block(order, count, count, [&](int a, int b) {
      if (a >= count || b >= count) return a < b;
      const double left = list[a].closeness, right = list[b].closeness;
      return left != right ? left > right : a < b;
    });
    if (threadIdx.x >= 32) return;
    PoseWalk walk(choice, steps, level, lists.of_walk());
    walk.go_on(
        count, [&](int i) { return list[order[i]]; }, to);
    walk.end(tables, to);
  }
};

__global__ void __launch_bounds__(threads, 1)
    gather(stage::Gather::Problem p, stage::Gather::Buffers b, Lists lists) {
  PoseCandidate* const list = lists.list();
  wait_for_previous();
  const int slots = static_cast<int>(p.slots());
  for (int i = threadIdx.x; i < slots; i += threads) {
    const int picture = i / p.max_peaks, k = i - picture * p.max_peaks;
    PoseCandidate one{};
    one.closeness = no_closeness;
    if (k < static_cast<int>(b.peak_counts[picture])) {
      const RefinedPeak& peak = b.peaks[i];
      const stage::Gather::Source source = b.sources[picture];
      one = {closeness_of(p.minimum, p.polarity, peak.score), peak.score,
             2 * peak.x + source.width - 1, 2 * peak.y + source.height - 1, source.pose};
    }
    list[i] = one;
  }
  __syncthreads();
  Chooser{p.choice,
          p.steps,
          p.level,
          {b.angles, b.inverse_scales},
          {b.candidates, b.candidate_count, b.starts}}
      .choose(lists, slots);
}

__global__ void __launch_bounds__(threads, 1)
    sift(stage::Sift::Problem p, stage::Sift::Buffers b, Lists lists) {
  PoseCandidate* const list = lists.list();
  ProbedPlace* const probed = lists.probed();
  wait_for_previous();
  const int count = *b.candidate_count;
  // All at once: a thread that has a candidate would wait for one after the other.
  for (int i = threadIdx.x; i < count * p.tries(); i += threads) probed[i] = b.found[i];
  __syncthreads();
  b.found = probed;
  for (int i = threadIdx.x; i < count; i += threads) list[i] = stage::Sift::best_of(p, b, i);
  __syncthreads();
  Chooser{
      p.choice, p.steps, p.level, {b.angles, b.inverse_scales}, {b.kept, b.kept_count, b.starts}}
      .choose(lists, count);
}

Lists lists_of(const stage::Gather::Problem& p, void* workspace) {
  return {static_cast<int>(p.slots()), p.choice.most, 0, workspace};
}
Lists lists_of(const stage::Sift::Problem& p, void* workspace) {
  return {p.count, p.choice.most, p.count * p.tries(), workspace};
}

template <class Problem>
std::size_t workspace(const Problem& p, const Device&) {
  const Lists lists = lists_of(p, nullptr);
  return lists.fit() ? 0 : lists.bytes();
}

template <class Problem, class Buffers>
Status launch_as(const char* name, void (*kernel)(Problem, Buffers, Lists), const Problem& p,
                 const Device& device, const Buffers& b) {
  const Lists lists = lists_of(p, b.workspace);
  return enqueue_early(device, name, kernel, dim3(1), dim3(threads),
                       lists.fit() ? lists.bytes() : 0, b.stream, p, b, lists);
}

Status launch_gather(const stage::Gather::Problem& p, const Device& device,
                     const stage::Gather::Buffers& b, PlanState*) {
  return launch_as("gather", gather, p, device, b);
}
Status launch_sift(const stage::Sift::Problem& p, const Device& device,
                   const stage::Sift::Buffers& b, PlanState*) {
  return launch_as("sift", sift, p, device, b);
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
