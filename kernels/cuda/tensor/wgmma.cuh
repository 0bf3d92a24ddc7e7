// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Asynchronous products of byte matrices by four warps together (wgmma.mma_async, on compute
// capability 9.0 only). The left is in registers, as in mma.cuh; the right in shared memory, as
// core matrices: 8 columns of 16 bytes of k each, one after the other. Core matrices may overlap,
// so a banded matrix takes no more memory than its diagonals. A sparse left, of whose every four
// neighbours along k two are not stored, takes half the time.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef XCORR_SIMT

// Defined for code that may use what only 9.0 has (sm_90a).
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define XCORR_WGMMA 1
#else
#define XCORR_WGMMA 0
#endif

namespace xcorr::cuda {

/// A matrix in shared memory: 2 core matrices along k, 4 where the left is sparse, for each eight
/// columns. Its descriptor has two halves, of which offsets change only one.
class RightMatrix {
 public:
  /// `first`: its first core matrix; `along_k`, `across`: bytes to the next one. All are multiples
  /// of 16.
  __device__ RightMatrix(const std::uint8_t* first, int along_k, int across)
      : low_(static_cast<unsigned>(__cvta_generic_to_shared(first)) >> 4 | along_k >> 4 << 16),
        high_(across >> 4) {}
  /// The one `bytes` further, a multiple of 16.
  __device__ RightMatrix at(int bytes) const {
    RightMatrix other = *this;
    other.low_ += bytes >> 4;
    return other;
  }
  __device__ std::uint64_t bits() const { return std::uint64_t{high_} << 32 | low_; }

 private:
  std::uint32_t low_, high_;
};

/// Makes what this thread's copies and stores left in shared memory visible to products. Call
/// before the barrier after which the products begin.
__device__ inline void show_to_products() {
#if XCORR_WGMMA
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/// Call before the first product, and after writing registers that products use.
__device__ inline void begin_products() {
#if XCORR_WGMMA
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

/// Keeps the instructions that write these registers before the next product.
template <std::size_t count>
__device__ void hold_registers(std::uint32_t (&registers)[count]) {
#pragma unroll
  for (std::uint32_t& r : registers) asm volatile("" : "+r"(r)::"memory");
}

/// Closes the group of products since the last call.
__device__ inline void commit_products() {
#if XCORR_WGMMA
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/// Waits until at most the `pending` most recently closed groups are still in flight. The registers
/// of a group's products must not be touched before that.
template <int pending>
__device__ void wait_products() {
#if XCORR_WGMMA
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#endif
}

/// c += a b (wgmma.m64n32k32), modulo 2^32, by four warps with the same b. Each warp has 16 rows of
/// a and c, as for multiply_add() of mma.cuh: a, 16 x 32; c, 16 x 8 four times, of columns 8 n on.
/// `add` false: c = a b, without writing registers first, which would make products wait.
template <bool add>
__device__ void multiply_async(std::uint32_t (&c)[16], const std::uint32_t (&a)[4],
                               const RightMatrix& b) {
#if XCORR_WGMMA
#define XCORR_PRODUCT(how)                                                                      \
  asm volatile(                                                                                 \
      "wgmma.mma_async.sync.aligned.m64n32k32.s32.u8.u8 "                                       \
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, %20, %21;"   \
      : how(c[0]), how(c[1]), how(c[2]), how(c[3]), how(c[4]), how(c[5]), how(c[6]), how(c[7]), \
        how(c[8]), how(c[9]), how(c[10]), how(c[11]), how(c[12]), how(c[13]), how(c[14]),       \
        how(c[15])                                                                              \
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "n"(add))
  if constexpr (add)
    XCORR_PRODUCT("+r");
  else
    XCORR_PRODUCT("=r");
#undef XCORR_PRODUCT
#else
  __trap();
#endif
}

#if XCORR_WGMMA
#define XCORR_TEN(t) \
  "%" t "0,%" t "1,%" t "2,%" t "3,%" t "4,%" t "5,%" t "6,%" t "7,%" t "8,%" t "9,"
#define XCORR_SUMS_4(i) "+r"(c[i]), "+r"(c[i + 1]), "+r"(c[i + 2]), "+r"(c[i + 3])
#define XCORR_SUMS_16(i) \
  XCORR_SUMS_4(i), XCORR_SUMS_4(i + 4), XCORR_SUMS_4(i + 8), XCORR_SUMS_4(i + 12)
#define XCORR_SPARSE_PRODUCT(n, c_names, other_names, ...)                         \
  asm volatile("wgmma.mma_async.sp.sync.aligned.m64n" #n "k64.s32.u8.u8 {" c_names \
               "}, " other_names ", 0, 1;"                                         \
               : __VA_ARGS__                                                       \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b.bits()), "r"(places))
#endif

/// c += a b (wgmma.sp.m64nNk64), modulo 2^32, by four warps with the same b of N = 2 `count`
/// columns, 64 or 256. Of every four neighbours of a row of a along k two are stored, and `a` has
/// what is stored as multiply_async() has its left. `places`: where these two are. Lane l tells it
/// of row l / 4 + 8 (l & 1) of its warp; bits 4 q on are of the four whose first is
/// 4 q + 32 (l >> 1 & 1): two bits of the first one's place, two of the second one's.
template <std::size_t count>
__device__ void multiply_sparse_async(std::uint32_t (&c)[count], const std::uint32_t (&a)[4],
                                      const RightMatrix& b, std::uint32_t places) {
  static_assert(count == 32 || count == 128);
#if XCORR_WGMMA
  if constexpr (count == 32)
    XCORR_SPARSE_PRODUCT(64, XCORR_TEN("") XCORR_TEN("1") XCORR_TEN("2") "%30,%31",
                         "{%32,%33,%34,%35}, %36, %37", XCORR_SUMS_16(0), XCORR_SUMS_16(16));
  else
    XCORR_SPARSE_PRODUCT(256,
                         XCORR_TEN("") XCORR_TEN("1") XCORR_TEN("2") XCORR_TEN("3") XCORR_TEN("4")
                             XCORR_TEN("5") XCORR_TEN("6") XCORR_TEN("7") XCORR_TEN("8")
                                 XCORR_TEN("9") XCORR_TEN("10")
                                     XCORR_TEN("11") "%120,%121,%122,%123,%124,%125,%126,%127",
                         "{%128,%129,%130,%131}, %132, %133", XCORR_SUMS_16(0), XCORR_SUMS_16(16),
                         XCORR_SUMS_16(32), XCORR_SUMS_16(48), XCORR_SUMS_16(64), XCORR_SUMS_16(80),
                         XCORR_SUMS_16(96), XCORR_SUMS_16(112));
#else
  __trap();
#endif
}

#undef XCORR_TEN
#undef XCORR_SUMS_4
#undef XCORR_SUMS_16
#undef XCORR_SPARSE_PRODUCT

}  // namespace xcorr::cuda

#else
#include "simt/wgmma.hpp"
#endif
