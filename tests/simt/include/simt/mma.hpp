// SPDX-License-Identifier: LGPL-2.1-or-later
//
// kernels/cuda/tensor/mma.cuh on the CPU: what each lane brings to a matrix instruction.
#pragma once

#include <cstdint>

#include "execution.hpp"

namespace simt {

struct MatrixLoad {
  const std::uint8_t* row;
  std::uint32_t words[4];
  Where where;
};
void complete_matrix_load(void* const* payloads, unsigned mask);

struct MatrixProduct {
  std::uint32_t c[4], a[4], b[2];
  bool with_sign;  ///< of the bytes
};
void complete_matrix_product(void* const* payloads, unsigned mask);

struct Tf32Product {
  float c[4];
  std::uint32_t a[4], b[2];
  bool wanted;
  Where where;
};
void complete_tf32_product(void* const* payloads, unsigned mask);

struct F64Product {
  double c[4], a[2], b;
};
void complete_f64_product(void* const* payloads, unsigned mask);

}  // namespace simt

namespace xcorr::cuda {

inline std::uint32_t load_word(const std::uint8_t* from) {
  return *reinterpret_cast<const std::uint32_t*>(from);
}

inline void load_shared(std::uint32_t (&to)[4], const std::uint8_t* from,
                        simt::Where where = simt::Where::current()) {
  if (reinterpret_cast<std::uintptr_t>(from) % 16)
    simt::report(where, "load_shared: %p is not a multiple of 16", static_cast<const void*>(from));
  for (int i = 0; i < 4; ++i) to[i] = load_word(from + 4 * i);
}

inline void load_matrices(std::uint32_t (&to)[4], const std::uint8_t* row,
                          simt::Where where = simt::Where::current()) {
  simt::MatrixLoad payload{row, {}, where};
  simt::warp_collective({"load_matrices", ~0u, where, simt::complete_matrix_load}, &payload);
  for (int i = 0; i < 4; ++i) to[i] = payload.words[i];
}

inline void multiply_add(std::uint32_t (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                         std::uint32_t b1, simt::Where where = simt::Where::current(),
                         bool with_sign = false) {
  simt::MatrixProduct payload{
      {c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b0, b1}, with_sign};
  simt::warp_collective({"multiply_add", ~0u, where, simt::complete_matrix_product}, &payload);
  for (int i = 0; i < 4; ++i) c[i] = payload.c[i];
}

inline void multiply_add_signed(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                std::uint32_t b0, std::uint32_t b1,
                                simt::Where where = simt::Where::current()) {
  multiply_add(c, a, b0, b1, where, true);
}

inline void multiply_add_tf32(float (&c)[4], const std::uint32_t (&a)[4],
                              const std::uint32_t (&b)[2], bool wanted,
                              simt::Where where = simt::Where::current()) {
  simt::Tf32Product payload{
      {c[0], c[1], c[2], c[3]}, {a[0], a[1], a[2], a[3]}, {b[0], b[1]}, wanted, where};
  simt::warp_collective({"multiply_add_tf32", ~0u, where, simt::complete_tf32_product}, &payload);
  for (int i = 0; i < 4; ++i) c[i] = payload.c[i];
}

inline void multiply_add_f64(double (&c)[4], const double (&a)[2], double b,
                             simt::Where where = simt::Where::current()) {
  simt::F64Product payload{{c[0], c[1], c[2], c[3]}, {a[0], a[1]}, b};
  simt::warp_collective({"multiply_add_f64", ~0u, where, simt::complete_f64_product}, &payload);
  for (int i = 0; i < 4; ++i) c[i] = payload.c[i];
}

}  // namespace xcorr::cuda
