// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/tensor/mma_halves.cuh on the CPU.
#pragma once

#include <bit>
#include <cstdint>

#include "execution.hpp"

namespace simt {

struct HalfProduct {
  float c[4];
  std::uint32_t a[4], b[2];
};
void complete_half_product(void* const* payloads, unsigned mask);

/// The bits of a whole number below 2^11 as a half.
inline std::uint32_t half_of(unsigned number) {
  if (number == 0) return 0;
  const unsigned exponent = std::bit_width(number) - 1;
  return (exponent + 15) << 10 | (number << (10 - exponent) & 0x3ff);
}

}  // namespace simt

namespace xcorr::cuda {

inline void halves_of(std::uint32_t word, std::uint32_t& first, std::uint32_t& second) {
  const auto half = [&](int byte) { return simt::half_of(word >> 8 * byte & 0xff); };
  first = half(0) | half(1) << 16;
  second = half(2) | half(3) << 16;
}

inline void multiply_add_halves(float (&c)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2],
                                simt::Where where = simt::Where::current()) {
  simt::HalfProduct payload{{c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  simt::warp_collective({"multiply_add_halves", ~0u, where, simt::complete_half_product}, &payload);
  for (int i = 0; i < 4; ++i) c[i] = payload.c[i];
}

}  // namespace xcorr::cuda
