// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums over the threads of all blocks of a cluster, in the same order in each of them: each block
// puts its own where the others have theirs, and adds up what all have put.
#pragma once

#include "cuda/common/cluster.cuh"
#include "cuda/common/warp.cuh"

namespace xcorr::cuda {

/// Blocks of a cluster, at most.
inline constexpr int most_cluster = 8;

/// Calls put(number, sum) for the sums over the threads of the block, each by all lanes of a warp.
template <int warps, class Term, int count, class Put>
__device__ void put_block_sums(Term (&sums)[count], Put put) {
  __shared__ Term partial[warps][count];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for_warp_sums(sums, [&](int k, Term sum) { partial[warp][k] = sum; });
  __syncthreads();
  for (int k = warp; k < count; k += warps)
    put(k, warp_sum(lane < warps ? double(partial[lane][k]) : 0));
}

/// Of each block of the cluster its sums, which have `of` and `count`, as PoseRefineSums has.
template <class Sums>
using ClusterParts = Sums[most_cluster];

/// For put_block_sums(): puts a sum where each block of the cluster has those of all.
template <class Sums>
__device__ auto to_all(const Cluster& cluster, ClusterParts<Sums>& parts) {
  return [&](int k, double sum) {
    if (const int block = threadIdx.x % 32; block < cluster.size)
      cluster.in_block(&parts[cluster.rank], block)->of[k] = sum;
  };
}

/// Adds them up, by a thread a sum.
template <class Sums>
__device__ void add_parts(const Cluster& cluster, const ClusterParts<Sums>& parts, Sums& all) {
  const int k = threadIdx.x;
  if (k >= Sums::count) return;
  double sum = 0;
  for (int block = 0; block < cluster.size; ++block) sum += parts[block].of[k];
  all.of[k] = sum;
}

}  // namespace xcorr::cuda
