// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/tensor/wgmma.cuh on the CPU. Products are computed only when a warp waits for them,
// with the contents of registers and shared memory at that time, so that overwriting these too
// early is detected. Each warp runs by itself: of four, each has its own rows.
#pragma once

#include <cstdint>

#include "execution.hpp"

namespace simt {

struct AsyncProduct {
  std::uint32_t* c;
  const std::uint32_t* a;
  const std::uint8_t* b;
  int along_k, across;
  bool add;
  int columns;           ///< of b and c
  bool sparse;           ///< k is 64, of which a has half
  std::uint32_t places;  ///< where these are
  Where where;
};

/// Adds it to the running thread's open group.
void remember_product(const AsyncProduct& product);
void close_products();
/// Does the products of all closed groups but the last `pending`, with all lanes of the warp.
void finish_products(int pending, Where where);

}  // namespace simt

namespace xcorr::cuda {

class RightMatrix {
 public:
  RightMatrix(const std::uint8_t* first, int along_k, int across)
      : first_(first), along_k_(along_k), across_(across) {}
  RightMatrix at(int bytes) const { return {first_ + bytes, along_k_, across_}; }
  /// The product of this one and a dense left.
  simt::AsyncProduct product(std::uint32_t* c, const std::uint32_t* a, bool add, int columns,
                             simt::Where where) const {
    return {c, a, first_, along_k_, across_, add, columns, false, 0, where};
  }

 private:
  const std::uint8_t* first_;
  int along_k_, across_;
};

inline void show_to_products() {}
inline void begin_products() {}
template <std::size_t count>
void hold_registers(std::uint32_t (&)[count]) {}
inline void commit_products() { simt::close_products(); }

template <int pending>
void wait_products(simt::Where where = simt::Where::current()) {
  simt::finish_products(pending, where);
}

template <bool add>
void multiply_async(std::uint32_t (&c)[16], const std::uint32_t (&a)[4], const RightMatrix& b,
                    simt::Where where = simt::Where::current()) {
  simt::remember_product(b.product(c, a, add, 32, where));
}

template <std::size_t count>
void multiply_sparse_async(std::uint32_t (&c)[count], const std::uint32_t (&a)[4],
                           const RightMatrix& b, std::uint32_t places,
                           simt::Where where = simt::Where::current()) {
  simt::AsyncProduct product = b.product(c, a, true, 2 * count, where);
  product.sparse = true;
  product.places = places;
  simt::remember_product(product);
}

}  // namespace xcorr::cuda
