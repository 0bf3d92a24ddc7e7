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

/// Of sums in each lane of a warp, `step` lanes apart, the sums over the lanes. They are shared
/// out: a lane keeps half of what it had, and at the end the one of number(). All indices are known
/// when it is compiled: else they would not stay in registers.
template <int count, int step>
struct WarpSums {
  static constexpr int half = (count + 1) / 2;
  using Rest = WarpSums<half, step / 2>;

  template <class T>
  __device__ static void find(T* sums) {
    const bool upper = threadIdx.x & step;
#pragma unroll
    for (int k = 0; k < half; ++k) {
      const T other = k + half < count ? sums[k + half] : 0;
      const T theirs = __shfl_xor_sync(~0u, upper ? sums[k] : other, step);
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
template <int count>
struct WarpSums<count, 0> {
  static_assert(count == 1, "at most one sum per lane");
  template <class T>
  __device__ static void find(T*) {}
  __device__ static int number() { return 0; }
};

/// Calls take(number, sum) for the sums over the lanes of a warp, each by a lane of its own. They
/// are lost.
template <int count, class T, class Take>
__device__ void for_warp_sums(T (&sums)[count], Take take) {
  using OfWarp = WarpSums<count, 16>;
  OfWarp::find(sums);
  if (const int k = OfWarp::number(); k < count) take(k, sums[0]);
}

}  // namespace xcorr::cuda
