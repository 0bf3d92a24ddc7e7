// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Asynchronous products of byte matrices by four warps together (wgmma.mma_async, on compute
// capability 9.0 only). The left is in registers, as in mma.cuh; the right in shared memory, as
// core matrices: 8 columns of 16 bytes of k each, one after the other. Core matrices may overlap,
// so a banded matrix takes no more memory than its diagonals.
#pragma once

#include <cstdint>

#ifndef XCORR_SIMT

// Defined for code that may use what only 9.0 has (sm_90a).
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define XCORR_WGMMA 1
#else
#define XCORR_WGMMA 0
#endif

namespace xcorr::cuda {

/// 32 x 32 bytes in shared memory: 2 x 4 core matrices. Its descriptor has two halves, of which
/// offsets change only one.
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

}  // namespace xcorr::cuda

#else
#include "simt/wgmma.hpp"
#endif
