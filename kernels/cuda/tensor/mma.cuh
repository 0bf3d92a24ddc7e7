// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products of small matrices by a whole warp on tensor cores (mma.sync: of bytes from compute
// capability 7.5 on, of TF32 and float64 from 8.0 on), and the loads that go with them.
#pragma once

#include <cstdint>

#ifndef XCORR_SIMT

namespace xcorr::cuda {

/// Four 8x16-byte matrices from shared memory (ldmatrix.x4): lane l gives the address of row l % 8
/// of matrix l / 8, a multiple of 16, and gets bytes 4 (l % 4)... of row l / 4 of each.
__device__ inline void load_matrices(std::uint32_t (&to)[4], const std::uint8_t* row) {
#if __CUDA_ARCH__ >= 750
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(row));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
#else
  __trap();
#endif
}

/// A word of shared memory, loaded here even if another register already holds it.
__device__ inline std::uint32_t load_word(const std::uint8_t* from) {
  std::uint32_t word;
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

/// Four words of shared memory, whose address is a multiple of 16, loaded here.
__device__ inline void load_shared(std::uint32_t (&to)[4], const std::uint8_t* from) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(from));
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(address)
               : "memory");
}

/// multiply_add() of bytes of a type.
#if __CUDA_ARCH__ >= 800
#define XCORR_MULTIPLY_ADD(type)                                            \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." type "." type       \
               ".s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])             \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))
#elif __CUDA_ARCH__ >= 750  // whose step is 8x8x16
#define XCORR_MULTIPLY_ADD(type)                                                 \
  const auto step = [](std::uint32_t& c0, std::uint32_t& c1, std::uint32_t left, \
                       std::uint32_t right) {                                    \
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32." type "." type           \
                 ".s32 {%0,%1}, {%2}, {%3}, {%0,%1};"                            \
                 : "+r"(c0), "+r"(c1)                                            \
                 : "r"(left), "r"(right));                                       \
  };                                                                             \
  step(c[0], c[1], a[0], b0);                                                    \
  step(c[2], c[3], a[1], b0);                                                    \
  step(c[0], c[1], a[2], b1);                                                    \
  step(c[2], c[3], a[3], b1)
#else
#define XCORR_MULTIPLY_ADD(type) __trap()
#endif
/// c += a b (mma.m16n8k32), modulo 2^32. a, 16x32: lane l holds the bytes 4 (l % 4)... and
/// 16 + 4 (l % 4)... of rows l / 4 and l / 4 + 8, in the order row, row + 8, then their second
/// halves. b, 32x8: the bytes of the same numbers of column l / 4. c, 16x8: columns 2 (l % 4) and
/// the next, of row l / 4, then of row l / 4 + 8.
__device__ inline void multiply_add(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                    std::uint32_t b0, std::uint32_t b1) {
  XCORR_MULTIPLY_ADD("u8");
}
/// The same of bytes with a sign.
__device__ inline void multiply_add_signed(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                           std::uint32_t b0, std::uint32_t b1) {
  XCORR_MULTIPLY_ADD("s8");
}
#undef XCORR_MULTIPLY_ADD

/// c += a b if `wanted`, which must be the same in all lanes (mma.m16n8k8). a, 16x8: lane l holds
/// column l % 4 of rows l / 4 and l / 4 + 8, then column l % 4 + 4 of the same. b, 8x8: rows l % 4
/// and l % 4 + 4 of column l / 4. c as above. Of the float32 bits in a and b the lower 13 must be
/// zero: the hardware ignores them. Sums are truncated, not rounded, to float32.
__device__ inline void multiply_add_tf32(float (&c)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2], bool wanted) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "{\n\t"
      ".reg .pred wanted;\n\t"
      "setp.ne.s32 wanted, %10, 0;\n\t"
      "@wanted mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n\t"
      "}"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(int{wanted}));
#else
  __trap();
#endif
}

/// c += a b (mma.m16n8k4), each product and sum rounded as by fma(). a, 16x4: lane l holds column
/// l % 4 of rows l / 4 and l / 4 + 8. b, 4x8: row l % 4 of column l / 4. c as above. Two
/// instructions of eight rows have half of this one's rate.
__device__ inline void multiply_add_f64(double (&c)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 "
      "{%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(b));
#elif __CUDA_ARCH__ >= 800
#pragma unroll
  for (int half = 0; half < 2; ++half)
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[2 * half]), "+d"(c[2 * half + 1])
                 : "d"(a[half]), "d"(b));
#else
  __trap();
#endif
}

}  // namespace xcorr::cuda

#else
#include "simt/mma.hpp"
#endif
