// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The shared memory whose size the launch says. Kernels ask for it here, for what stands behind it
// differs: on a GPU the block's shared memory, in the tests on a CPU (tests/simt) a block of memory
// of exactly the size that the launch asked for, so that an access behind its end is found.
#pragma once

#ifndef XCORR_SIMT

namespace xcorr::cuda {

/// The first byte of the block's dynamic shared memory, aligned to 128 bytes. The same in each
/// call.
template <class T>
__device__ T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char dynamic_shared_bytes[];
  return reinterpret_cast<T*>(dynamic_shared_bytes);
}

}  // namespace xcorr::cuda

#else
#include "simt/shared_memory.hpp"
#endif
