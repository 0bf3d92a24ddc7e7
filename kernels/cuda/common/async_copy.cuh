// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Copies from global to shared memory that bypass registers and proceed while the thread computes
// (cp.async, compute capability 8.0). Below that they are ordinary loads and stores, complete when
// the call returns. A thread's copies are visible to itself after wait_copies(), and to the block
// after the next __syncthreads().
#pragma once

#include <cstring>

#ifndef XCORR_SIMT

namespace xcorr::cuda {

/// Copies `valid` bytes (0 to `bytes`; bytes is 4, 8 or 16) and fills the rest with zeros. Both
/// addresses must be multiples of `bytes`. Nothing is read where `valid` is 0.
template <int bytes>
__device__ void copy_async(void* shared, const void* global, int valid) {
#if __CUDA_ARCH__ >= 800
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(valid)
                 : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(to), "l"(global), "n"(bytes),
                 "r"(valid)
                 : "memory");
#else
  for (int i = 0; i < bytes; i += 4) {
    unsigned word = 0;
    if (i + 4 <= valid)
      word = static_cast<const unsigned*>(global)[i / 4];
    else
#pragma unroll 1
      for (int k = valid; k > i; --k)
        word = word << 8 | static_cast<const unsigned char*>(global)[k - 1];
    static_cast<unsigned*>(shared)[i / 4] = word;
  }
#endif
}

/// Closes the group of the copies since the last call.
__device__ inline void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/// Waits until at most the `pending` most recently closed groups are still in flight.
template <int pending>
__device__ void wait_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
#endif
}

}  // namespace xcorr::cuda

#else
#include "simt/async_copy.hpp"
#endif
