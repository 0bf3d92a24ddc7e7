// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums over the threads of a block, for all of them.
#pragma once

#include "cuda/common/warp.cuh"

namespace xcorr::cuda {

/// Replaces each value by its sum over the threads of the block of so many warps, for all of them;
/// the order of additions is the same for all sums.
template <int warps, int count, class T>
__device__ void block_sums(T (&values)[count]) {
  __shared__ T partial[warps][count];
  const int warp = threadIdx.x / 32;
  for (T& value : values) value = warp_sum(value);
  if (threadIdx.x % 32 == 0)
    for (int k = 0; k < count; ++k) partial[warp][k] = values[k];
  __syncthreads();
  for (T& value : values) value = 0;
#pragma unroll 1
  for (int i = 0; i < warps; ++i)
    for (int k = 0; k < count; ++k) values[k] += partial[i][k];
  __syncthreads();  // partial is written anew by the next sums
}

}  // namespace xcorr::cuda
