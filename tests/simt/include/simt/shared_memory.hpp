// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/common/shared_memory.cuh on the CPU.
#pragma once

#include "execution.hpp"

namespace xcorr::cuda {

template <class T>
T* dynamic_shared() {
  return static_cast<T*>(simt::dynamic_shared_memory());
}

}  // namespace xcorr::cuda
