// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The choice of candidates by one block (PoseChoice): it sorts them, then a warp walks down the
// list, since each that is kept decides on those behind it.
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
    // Each goes behind those that are before it.
    const int i = threadIdx.x;
    const Item mine = i < count ? items[i] : last;
    int place = 0;
    if (i < count)
#pragma unroll 8
      for (int k = 0; k < count; ++k) place += before(items[k], mine);
    __syncthreads();
    if (i < count) items[place] = mine;
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

/// A walk down a sorted list, by all lanes of one warp.
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
    const int lane = threadIdx.x % 32;
    for (int first = 0; first < count; first += 32) {
      PoseCandidate mine{};
      bool open = first + lane < count;
      int crowd = 0;
      if (open) mine = at(first + lane);
#pragma unroll 4
      for (int k = 0; k < done_; ++k)
        if (choice_.hides(steps_, level_, kept_[k], mine, crowd)) open = false;
      while (const unsigned left = __ballot_sync(~0u, open)) {
        const int next = __ffs(static_cast<int>(left)) - 1;
        const PoseCandidate one = from_lane(mine, next);
        if (done_ == choice_.most || one.similarity <= no_similarity || one.similarity < least_)
          return false;
        keep(one, to);
        if (choice_.hides(steps_, level_, one, mine, crowd) || lane == next) open = false;
      }
    }
    return true;
  }

  /// \param tables  for level 0
  __device__ void end(const PoseTables& tables, const Output& to) const {
    const int lane = threadIdx.x % 32;
    if (lane == 0) *to.count = done_;
    if (level_ == 0)  // side by side: each waits for its pose's entries of the tables
      for (int i = lane; i < choice_.most; i += 32)
        to.starts[i] = i < done_ ? start_of(kept_[i], tables) : RefinedPose{};
  }

 private:
  __device__ static PoseCandidate from_lane(const PoseCandidate& mine, int lane) {
    PoseCandidate one{};
    one.similarity = __shfl_sync(~0u, mine.similarity, lane);
    one.score = __shfl_sync(~0u, mine.score, lane);
    one.twice_x = __shfl_sync(~0u, mine.twice_x, lane);
    one.twice_y = __shfl_sync(~0u, mine.twice_y, lane);
    one.pose.angle = __shfl_sync(~0u, mine.pose.angle, lane);
    one.pose.scale = __shfl_sync(~0u, mine.pose.scale, lane);
    return one;
  }

  __device__ void keep(const PoseCandidate& one, const Output& to) {
    const int lane = threadIdx.x % 32;
    const bool is_apart = apart_count_ < choice_.wanted && is_apart_from_all(one);
    if (lane == 0) {
      kept_[done_] = one;
      if (is_apart) apart_[apart_count_] = one;
      to.candidates[done_] = level_ > 0 ? choice_.one_level_down(one) : one;
    }
    __syncwarp();
    ++done_;
    apart_count_ += is_apart;
    if (is_apart && apart_count_ == choice_.wanted && one.similarity - choice_.margin > least_)
      least_ = one.similarity - choice_.margin;
  }
  __device__ bool is_apart_from_all(const PoseCandidate& one) const {
    bool is_apart = true;
    for (int i = threadIdx.x % 32; i < apart_count_; i += 32)
      if (!choice_.apart(one, apart_[i])) is_apart = false;
    return __all_sync(~0u, is_apart);
  }

  PoseChoice choice_;
  const PoseSteps& steps_;
  int level_;
  PoseCandidate *kept_, *apart_;  ///< of the level
  double least_;
  int done_ = 0, apart_count_ = 0;
};

}  // namespace xcorr::cuda
