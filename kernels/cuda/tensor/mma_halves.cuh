// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of small matrices of halves (FP16) by a whole warp on tensor cores (mma.sync), and bytes
// and floats as halves.
#pragma once

#include <cstdint>

#include "cuda/tensor/half.hpp"

#ifndef XCORR_SIMT

namespace xcorr::cuda {

/// Bytes 0 and 1 of a word as a pair of halves, then bytes 2 and 3: 0x6400 + b are the bits of 1024
/// + b.
__device__ inline void halves_of(std::uint32_t word, std::uint32_t& first, std::uint32_t& second) {
#if __CUDA_ARCH__ >= 530
  constexpr std::uint32_t bias = 0x64006400;
  const auto less_bias = [](std::uint32_t pair) {
    std::uint32_t halves;
    asm("sub.f16x2 %0, %1, %2;" : "=r"(halves) : "r"(pair), "r"(bias));
    return halves;
  };
  first = less_bias(__byte_perm(word, bias, 0x7170));
  second = less_bias(__byte_perm(word, bias, 0x7372));
#else
  __trap();
#endif
}

/// The nearest half.
__device__ inline std::uint16_t half_of(float value) {
  std::uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(value));
  return half;
}

/// The nearest halves, the first one in the lower bits.
__device__ inline std::uint32_t halves_of(float first, float second) {
  return pair_of_halves(half_of(first), half_of(second));
}

/// c += a b (mma.m16n8k16; before compute capability 8.0 two m16n8k8) in float32, whose sums tensor
/// cores truncate: exact while c is a whole number below 2^24. a, 16x16: lane l holds halves
/// 2 (l % 4) and the next of rows l / 4 and l / 4 + 8, then those 8 further. b, 16x8: the halves of
/// the same numbers of column l / 4. c as in multiply_add().
__device__ inline void multiply_add_halves(float (&c)[4], const std::uint32_t (&a)[4],
                                           const std::uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#else
  for (int i = 0; i < 2; ++i)
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2 * i]), "r"(a[2 * i + 1]), "r"(b[i]));
#endif
}

}  // namespace xcorr::cuda

#else
#include "simt/mma_halves.hpp"
#endif
