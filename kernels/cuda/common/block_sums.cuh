// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums over the threads of a block, returned to all of them.
#pragma once

#include "cuda/common/warp.cuh"

namespace xcorr::cuda {

/// Replaces each value by its sum over all threads of the block, which has `warps` warps; the order
/// of additions is the same for all sums.
template <int warps, int count, class T>
__device__ void block_sums(T (&values)[count]) {
  __shared__ T partial[warps][count];
  const int warp = threadIdx.x / 32;
#pragma unroll
  for (T& value : values) value = warp_sum(value);
  if (threadIdx.x % 32 == 0)
#pragma unroll
    for (int k = 0; k < count; ++k) partial[warp][k] = values[k];
  __syncthreads();
#pragma unroll
  for (T& value : values) value = 0;
#pragma unroll 1
  for (int i = 0; i < warps; ++i)
#pragma unroll
    for (int k = 0; k < count; ++k) values[k] += partial[i][k];
  __syncthreads();  // the next sums overwrite `partial`
}

}  // namespace xcorr::cuda
