// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How many blocks of a kernel a multiprocessor is to hold at once.
#pragma once

namespace xcorr::cuda {

/// For __launch_bounds__: the blocks for which a multiprocessor must have registers; before 8.0, as
/// it holds fewer threads, at most so many.
__host__ __device__ constexpr int resident_blocks(int blocks, [[maybe_unused]] int most_before_8) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
  return blocks < most_before_8 ? blocks : most_before_8;
#else
  return blocks;
#endif
}

}  // namespace xcorr::cuda
