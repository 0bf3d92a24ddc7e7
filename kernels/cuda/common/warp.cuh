// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums by a warp, over its lanes or over numbers in memory, called by all 32 lanes.
#pragma once

namespace xcorr::cuda {

/// The sum over the lanes up to this one.
template <class T>
__device__ T warp_scan(T value) {
  const int lane = threadIdx.x % 32;
  for (int step = 1; step < 32; step *= 2) {
    const T before = __shfl_up_sync(~0u, value, step);
    if (lane >= step) value += before;
  }
  return value;
}

/// The sum over all lanes, returned to each of them.
template <class T>
__device__ T warp_sum(T value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}

/// The sum of numbers in memory, at most 64, returned to each lane.
template <class T>
__device__ T warp_sum(const T* values, int count) {
  const int lane = threadIdx.x % 32;
  const T own = lane < count ? values[lane] : T(0);
  return warp_sum(own + (lane + 32 < count ? values[lane + 32] : T(0)));
}

}  // namespace xcorr::cuda
