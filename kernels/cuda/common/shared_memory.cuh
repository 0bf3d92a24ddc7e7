// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The shared memory whose size the launch sets. Kernels get it here because its source differs: on
// a GPU it is the block's shared memory, in the CPU emulation (tests/simt) a block of memory of
// exactly the size requested, so that an access past its end is detected.
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
