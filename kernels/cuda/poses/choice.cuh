// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of candidates by one block (PoseChoice): it sorts them, then walks down the list,
// since each that is kept decides on those behind it.
#pragma once

#include "cuda/common/launch.cuh"
#include "stages/poses/prune_candidates.hpp"

namespace xcorr::cuda {

__host__ __device__ constexpr int power_of_two_above(int count) {
  int length = 1;
  while (length < count) length *= 2;
  return length;
}

/// Sorts by the whole block.
/// \param items   of room for power_of_two_above(count)
/// \param last    behind all others
/// \param before  of two different ones exactly one is before the other
template <class Item, class Before>
__device__ void sort_by_block(Item* items, int count, Item last, Before before) {
  __syncthreads();
  if (count <= static_cast<int>(blockDim.x)) {
    // Each goes behind those that are before it, which lanes side by side count.
    int log2_lanes = 0;
    while (log2_lanes < 5 && count << (log2_lanes + 1) <= static_cast<int>(blockDim.x))
      ++log2_lanes;
    const int lanes = 1 << log2_lanes, i = static_cast<int>(threadIdx.x) >> log2_lanes;
    const Item mine = i < count ? items[i] : last;
    int place = 0;
    if (i < count)
#pragma unroll 8
      for (int k = threadIdx.x & (lanes - 1); k < count; k += lanes)
        place += before(items[k], mine);
    for (int step = 1; step < lanes; step *= 2) place += __shfl_xor_sync(~0u, place, step);
    __syncthreads();
    if (i < count && (threadIdx.x & (lanes - 1)) == 0) items[place] = mine;
  } else {  // Batcher's bitonic network
    const int length = power_of_two_above(count);
    for (int i = count + threadIdx.x; i < length; i += blockDim.x) items[i] = last;
    for (int run = 2; run <= length; run *= 2)
      for (int step = run / 2; step > 0; step /= 2) {
        __syncthreads();
        for (int i = threadIdx.x; i < length / 2; i += blockDim.x) {
          const int low = 2 * i - (i & (step - 1)), high = low + step;
          const bool falls = (low & run) == 0;
          if (before(items[high], items[low]) != falls) continue;
          const Item item = items[low];
          items[low] = items[high];
          items[high] = item;
        }
      }
  }
  __syncthreads();
}

/// A walk down a sorted list, by the whole block: 32 candidates at a time, of which all warps find
/// out what they are to each other and to those kept before. Then one warp, a lane a candidate,
/// keeps the best one left until none is.
class PoseWalk {
 public:
  /// Where the chosen go.
  struct Output {
    PoseCandidate* candidates;
    std::int32_t* count;
    RefinedPose* starts;  ///< at level 0
  };
  static __host__ __device__ constexpr std::size_t bytes(int most) {
    return 2 * most * sizeof(PoseCandidate);
  }

  /// `memory`: of bytes() of it.
  __device__ PoseWalk(const PoseChoice& choice, const PoseSteps& steps, int level, void* memory)
      : choice_(choice),
        steps_(steps),
        level_(level),
        kept_(static_cast<PoseCandidate*>(memory)),
        apart_(kept_ + choice.most),
        least_(choice.least) {}

  /// Goes on with the next candidates, at(0) to at(count - 1); false: no more are wanted.
  template <class At>
  __device__ bool go_on(int count, At at, const Output& to) {
    __shared__ Group group;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (warp == 0) group.clear(lane);
    for (int first = 0; first < count; first += 32) {
      __syncthreads();
      const bool exists = first + lane < count;
      const PoseCandidate mine = exists ? at(first + lane) : PoseCandidate{};
      compare(mine, group);
      __syncthreads();
      if (warp == 0) {
        const bool more = keep(mine, exists, group, to);
        __syncwarp();  // all lanes have read what is cleared
        group.clear(lane);
        if (lane == 0) {
          group.done = done_;
          group.apart_count = apart_count_;
          group.ended = !more;
        }
      }
      __syncthreads();
      done_ = group.done;
      apart_count_ = group.apart_count;
      if (group.ended) return false;
    }
    return true;
  }

  /// \param tables  for level 0
  __device__ void end(const PoseTables& tables, const Output& to) const {
    if (threadIdx.x == 0) *to.count = done_;
    if (level_ == 0)  // side by side: each waits for its pose's entries of the tables
      for (int i = threadIdx.x; i < choice_.most; i += blockDim.x)
        to.starts[i] = i < done_ ? start_of(kept_[i], tables) : RefinedPose{};
  }

 private:
  /// What 32 candidates are: to those kept before, and to each other, a bit each.
  struct Group {
    int crowds[32];   ///< how many of those kept are near, at least choice.share if one hides it
    unsigned beside;  ///< which are not apart from one of those that are
    unsigned near[32], same[32], apart[32];
    int done, apart_count;  ///< of the walk
    bool ended;

    __device__ void clear(int lane) {
      crowds[lane] = 0;
      if (lane == 0) beside = 0;
    }
  };

  /// By all warps, each with the same 32.
  __device__ void compare(const PoseCandidate& mine, Group& group) const {
    const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
    int crowd = 0;
    bool is_beside = false;
    for (int k = threadIdx.x / 32; k < done_; k += warps) {
      if (!choice_.near_each_other(kept_[k], mine)) continue;
      crowd += choice_.same(steps_, level_, kept_[k], mine) ? choice_.share : 1;
    }
    const bool wants_apart = apart_count_ < choice_.wanted;
    if (wants_apart)
      for (int k = threadIdx.x / 32; k < apart_count_; k += warps)
        is_beside = is_beside || !choice_.apart(mine, apart_[k]);
    if (crowd > 0) atomicAdd(&group.crowds[lane], crowd);
    if (is_beside) atomicOr(&group.beside, 1u << lane);
    for (int k = threadIdx.x / 32; k < 32; k += warps) {
      const PoseCandidate one = from_lane(mine, k);
      const unsigned near = __ballot_sync(~0u, choice_.near_each_other(one, mine)),
                     same = __ballot_sync(~0u, choice_.same(steps_, level_, one, mine)),
                     apart = wants_apart ? __ballot_sync(~0u, choice_.apart(one, mine)) : 0;
      if (lane > 0) continue;
      group.near[k] = near;
      group.same[k] = same;
      group.apart[k] = apart;
    }
  }

  /// By one warp. False: no more are wanted.
  __device__ bool keep(const PoseCandidate& mine, bool exists, const Group& group,
                       const Output& to) {
    const int lane = threadIdx.x % 32;
    const unsigned near = group.near[lane], same = group.same[lane];
    int crowd = group.crowds[lane];
    bool open = exists && crowd < choice_.share, more = true;
    unsigned kept = 0, apart = 0;
    const int done = done_, apart_count = apart_count_;
    while (const unsigned left = __ballot_sync(~0u, open)) {
      const int next = __ffs(static_cast<int>(left)) - 1;
      const double similarity = __shfl_sync(~0u, mine.similarity, next);
      more = done_ < choice_.most && similarity > no_similarity && similarity >= least_;
      if (!more) break;
      kept |= 1u << next;
      ++done_;
      if (apart_count_ < choice_.wanted && !(group.beside >> next & 1) &&
          (apart & ~group.apart[next]) == 0) {
        apart |= 1u << next;
        if (++apart_count_ == choice_.wanted) least_ = fmax(least_, similarity - choice_.margin);
      }
      crowd += near >> next & 1;
      open = open && lane != next && crowd < choice_.share && !(same >> next & 1);
    }
    const unsigned below = (1u << lane) - 1;
    if (kept >> lane & 1) {
      const int place = done + __popc(kept & below);
      kept_[place] = mine;
      to.candidates[place] = level_ > 0 ? choice_.one_level_down(mine) : mine;
    }
    if (apart >> lane & 1) apart_[apart_count + __popc(apart & below)] = mine;
    return more;
  }

  __device__ static PoseCandidate from_lane(const PoseCandidate& mine, int lane) {
    PoseCandidate one{};
    one.twice_x = __shfl_sync(~0u, mine.twice_x, lane);
    one.twice_y = __shfl_sync(~0u, mine.twice_y, lane);
    one.pose.angle = __shfl_sync(~0u, mine.pose.angle, lane);
    one.pose.scale = __shfl_sync(~0u, mine.pose.scale, lane);
    return one;
  }

  PoseChoice choice_;
  const PoseSteps& steps_;
  int level_;
  PoseCandidate *kept_, *apart_;  ///< the latter are far from each other
  double least_;                  ///< of the warp that keeps
  int done_ = 0, apart_count_ = 0;
};

}  // namespace xcorr::cuda
