// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice among few candidates on the GPU, by one block.
#include "cuda/common/shared_memory.cuh"
#include "cuda/poses/choice.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256;

/// Where a block has its list, what its walk needs, what was rescored, and the list's order: in
/// shared memory if they fit, else in a workspace.
struct Lists {
  int count, most, rescored_count;
  void* workspace;

  __host__ __device__ std::size_t bytes() const {
    return count * sizeof(PoseCandidate) + PoseWalk::bytes(most) +
           rescored_count * sizeof(RescoredPlace) + power_of_two_above(count) * sizeof(int);
  }
  __host__ __device__ bool fit() const { return bytes() <= 46 * 1024; }

  __device__ PoseCandidate* list() const {
    return fit() ? dynamic_shared<PoseCandidate>() : static_cast<PoseCandidate*>(workspace);
  }
  __device__ PoseCandidate* of_walk() const { return list() + count; }
  __device__ RescoredPlace* rescored() const {
    return reinterpret_cast<RescoredPlace*>(of_walk() + 2 * most);
  }
  __device__ int* order() const { return reinterpret_cast<int*>(rescored() + rescored_count); }
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
      const double left = list[a].similarity, right = list[b].similarity;
      return left != right ? left > right : a < b;
    });
    PoseWalk walk(choice, steps, level, lists.of_walk());
    walk.go_on(
        count, [&](int i) { return list[order[i]]; }, to);
    walk.end(tables, to);
  }
};

__global__ void __launch_bounds__(threads, 1)
    collect_candidates(stage::CollectCandidates::Problem p, stage::CollectCandidates::Buffers b,
                       Lists lists) {
  PoseCandidate* const list = lists.list();
  wait_for_previous();
  const int slots = static_cast<int>(p.slots());
  for (int i = threadIdx.x; i < slots; i += threads) {
    const int image = i / p.max_peaks, k = i - image * p.max_peaks;
    PoseCandidate one{};
    one.similarity = no_similarity;
    if (k < static_cast<int>(b.peak_counts[image])) {
      const RefinedPeak& peak = b.peaks[i];
      const stage::CollectCandidates::Source source = b.sources[image];
      one = {similarity_of(p.minimum, p.polarity, peak.score) + source.bonus, peak.score,
             source.twice_x(peak.x), source.twice_y(peak.y), source.pose};
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
    prune_candidates(stage::PruneCandidates::Problem p, stage::PruneCandidates::Buffers b,
                     Lists lists) {
  PoseCandidate* const list = lists.list();
  RescoredPlace* const rescored = lists.rescored();
  wait_for_previous();
  const int count = *b.candidate_count;
  // All at once: a thread that has a candidate would wait for one after the other.
  for (int i = threadIdx.x; i < count * p.tries(); i += threads) rescored[i] = b.found[i];
  __syncthreads();
  b.found = rescored;
  for (int i = threadIdx.x; i < count; i += threads)
    list[i] = stage::PruneCandidates::best_of(p, b, i);
  __syncthreads();
  Chooser{
      p.choice, p.steps, p.level, {b.angles, b.inverse_scales}, {b.kept, b.kept_count, b.starts}}
      .choose(lists, count);
}

Lists lists_of(const stage::CollectCandidates::Problem& p, void* workspace) {
  return {static_cast<int>(p.slots()), p.choice.most, 0, workspace};
}
Lists lists_of(const stage::PruneCandidates::Problem& p, void* workspace) {
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

Status launch_collect_candidates(const stage::CollectCandidates::Problem& p, const Device& device,
                                 const stage::CollectCandidates::Buffers& b, PlanState*) {
  return launch_as("collect_candidates", collect_candidates, p, device, b);
}
Status launch_prune_candidates(const stage::PruneCandidates::Problem& p, const Device& device,
                               const stage::PruneCandidates::Buffers& b, PlanState*) {
  return launch_as("prune_candidates", prune_candidates, p, device, b);
}

constexpr Variant<stage::CollectCandidates> collect_candidates_table[] = {
    {{.name = "collect_candidates",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::contrast}},
     {.launch = launch_collect_candidates, .workspace = workspace}},
};
constexpr Variant<stage::PruneCandidates> prune_candidates_table[] = {
    {{.name = "prune_candidates",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::contrast}},
     {.launch = launch_prune_candidates, .workspace = workspace}},
};

}  // namespace

Family prune_candidates_family() {
  return Family(collect_candidates_table, prune_candidates_table);
}

}  // namespace xcorr::cuda
