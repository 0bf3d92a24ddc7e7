// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Elements of the output to which several workers contribute: each adds its part to memory zeroed
// before. The order is not fixed, so sums of floating-point numbers may differ in their last bits
// from run to run.
#pragma once

#include <type_traits>

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {

/// Zeroes the outputs of a launch; they must be dense.
inline Status clear_products(const Problem& p, const stage::Correlate::Buffers& b) {
  const std::int64_t elements = std::int64_t{p.lefts} * b.right_count * p.shifts.size().area();
  return check(
      cudaMemsetAsync(b.products, 0, elements * size_of(p.output_type()), native(b.stream)),
      "clearing the outputs");
}

template <class T>
__device__ void add_part(T* sum, T part) {
  // CUDA's 64-bit atomicAdd is unsigned only; in two's complement the result is the same.
  if constexpr (std::is_same_v<T, long long>)
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(part));
  else
    atomicAdd(sum, part);
}

}  // namespace xcorr::cuda
