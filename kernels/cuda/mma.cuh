// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of small matrices of bytes by a whole warp on tensor cores (mma.sync, compute capability
// 7.5 and up), and the loads that go with them. The second way to say each, by shuffles, is what
// the instruction means; it runs where there are no tensor cores.
#pragma once

#include <cstdint>

namespace xcorr::cuda {

/// Four 8x16-byte matrices from shared memory (ldmatrix.x4): lane l gives the address of row l % 8
/// of matrix l / 8, a multiple of 16, and gets bytes 4 (l % 4)... of row l / 4 of each.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const std::uint8_t* row) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#else
  const int lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i) {
    const auto from = __shfl_sync(~0u, reinterpret_cast<unsigned long long>(row), 8 * i + lane / 4);
    to[i] = reinterpret_cast<const std::uint32_t*>(from)[lane % 4];
  }
#endif
}

/// c += a b (mma.m16n8k32, modulo 2^32). a, 16x32: lane l holds the bytes 4 (l % 4)... and
/// 16 + 4 (l % 4)... of rows l / 4 and l / 4 + 8, as row, row + 8, then their second halves. b,
/// 32x8: the bytes of the same numbers of column l / 4. c, 16x8: columns 2 (l % 4) and the next of
/// rows l / 4, then of l / 4 + 8.
__device__ inline void multiply_add(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                    std::uint32_t b0, std::uint32_t b1) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 750
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.s32.u8.u8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // Turing's step is 8x8x16
  const auto step = [](std::uint32_t& c0, std::uint32_t& c1, std::uint32_t left,
                       std::uint32_t right) {
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.u8.u8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(c0), "+r"(c1)
                 : "r"(left), "r"(right));
  };
  step(c[0], c[1], a[0], b0);
  step(c[2], c[3], a[1], b0);
  step(c[0], c[1], a[2], b1);
  step(c[2], c[3], a[3], b1);
#endif
#else
  const int lane = threadIdx.x % 32;
  const auto dot = [](std::uint32_t x, std::uint32_t y) {
    std::uint32_t sum = 0;
    for (int shift = 0; shift < 32; shift += 8) sum += (x >> shift & 255) * (y >> shift & 255);
    return sum;
  };
  for (int k = 0; k < 4; ++k) {
    std::uint32_t row[4];
    for (int i = 0; i < 4; ++i) row[i] = __shfl_sync(~0u, a[i], lane / 4 * 4 + k);
    for (int n = 0; n < 2; ++n) {
      const int column = lane % 4 * 2 + n;
      const std::uint32_t low = __shfl_sync(~0u, b0, column * 4 + k);
      const std::uint32_t high = __shfl_sync(~0u, b1, column * 4 + k);
      c[n] += dot(row[0], low) + dot(row[2], high);
      c[2 + n] += dot(row[1], low) + dot(row[3], high);
    }
  }
#endif
}

}  // namespace xcorr::cuda
