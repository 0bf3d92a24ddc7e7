// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/tensor/mma_halves.cuh on the CPU.
#pragma once

#include <cstdint>

#include "cuda/tensor/half.hpp"
#include "execution.hpp"

namespace simt {

struct HalfProduct {
  float c[4];
  std::uint32_t a[4], b[2];
};
void complete_half_product(void* const* payloads, unsigned mask);

}  // namespace simt

namespace xcorr::cuda {

inline void halves_of(std::uint32_t word, std::uint32_t& first, std::uint32_t& second) {
  const auto half = [&](int byte) {
    return half_bits(static_cast<float>(word >> 8 * byte & 0xff));
  };
  first = pair_of_halves(half(0), half(1));
  second = pair_of_halves(half(2), half(3));
}

inline std::uint16_t half_of(float value) { return half_bits(value); }

inline std::uint32_t halves_of(float first, float second) {
  return pair_of_halves(half_bits(first), half_bits(second));
}

inline void multiply_add_halves(float (&c)[4], const std::uint32_t (&a)[4],
                                const std::uint32_t (&b)[2],
                                simt::Where where = simt::Where::current()) {
  simt::HalfProduct payload{{c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  simt::warp_collective({"multiply_add_halves", ~0u, where, simt::complete_half_product}, &payload);
  for (int i = 0; i < 4; ++i) c[i] = payload.c[i];
}

}  // namespace xcorr::cuda
