// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What matrix instructions do with all lanes' operands, see simt/mma.hpp and simt/mma_halves.hpp.
// The layouts are those of the PTX manual: ldmatrix, mma.m16n8k32, mma.m16n8k8, mma.m16n8k16,
// mma.m16n8k4.
#include "simt/mma.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "simt/mma_halves.hpp"
#include "simt/sanitizer.hpp"

namespace simt {

void complete_matrix_load(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> MatrixLoad& { return *static_cast<MatrixLoad*>(payloads[l]); };
  for (int l = 0; l < 32; ++l) {
    if (reinterpret_cast<std::uintptr_t>(of(l).row) % 16)
      report(of(l).where, "load_matrices: %p of lane %d is not a multiple of 16",
             static_cast<const void*>(of(l).row), l);
    check_range(const_cast<std::uint8_t*>(of(l).row), 16, "load_matrices");
  }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 4; ++i)
      std::memcpy(&of(l).words[i], of(8 * i + l / 4).row + 4 * (l % 4), 4);
}

void complete_matrix_product(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> MatrixProduct& {
    return *static_cast<MatrixProduct*>(payloads[l]);
  };
  std::uint8_t a[16][32], b[8][32];
  for (int l = 0; l < 32; ++l)
    for (int half = 0; half < 2; ++half) {
      const int k = 16 * half + 4 * (l % 4);
      std::memcpy(&a[l / 4][k], &of(l).a[2 * half], 4);
      std::memcpy(&a[l / 4 + 8][k], &of(l).a[2 * half + 1], 4);
      std::memcpy(&b[l / 4][k], &of(l).b[half], 4);
    }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 4; ++i) {
      const std::uint8_t* const row = a[l / 4 + i / 2 * 8];
      const std::uint8_t* const column = b[2 * (l % 4) + i % 2];
      const auto number = [&](std::uint8_t byte) {
        return of(l).with_sign ? static_cast<std::int8_t>(byte) : int{byte};
      };
      std::uint32_t sum = 0;
      for (int k = 0; k < 32; ++k)
        sum += static_cast<std::uint32_t>(number(row[k]) * number(column[k]));
      of(l).c[i] += sum;
    }
}

namespace {

/// What tensor cores take of a float32: 8 bits of exponent and 10 of fraction.
double tf32(std::uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000u); }

/// The float32 next to it towards zero.
float cut_off(double value) {
  const float nearest = static_cast<float>(value);
  return std::abs(double{nearest}) > std::abs(value) ? std::nextafter(nearest, 0.0f) : nearest;
}

/// Adds lane l's products in float32. a: rows; b: columns, as rows.
template <int depth>
void add_products(float (&c)[4], int l, const double (&a)[16][depth], const double (&b)[8][depth]) {
  for (int i = 0; i < 4; ++i) {
    const double* const row = a[l / 4 + i / 2 * 8];
    const double* const column = b[2 * (l % 4) + i % 2];
    double sum = c[i];
    for (int k = 0; k < depth; ++k) sum += row[k] * column[k];
    c[i] = cut_off(sum);
  }
}

double half(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31), fraction = bits & 0x3ff;
  const double value =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(0x400 + fraction, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

}  // namespace

void complete_tf32_product(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> Tf32Product& { return *static_cast<Tf32Product*>(payloads[l]); };
  double a[16][8], b[8][8];
  for (int l = 0; l < 32; ++l) {
    if (of(l).wanted != of(0).wanted)
      report(of(l).where, "multiply_add_tf32: wanted by some lanes and not by others");
    for (int half = 0; half < 2; ++half) {
      const int k = 4 * half + l % 4;
      a[l / 4][k] = tf32(of(l).a[2 * half]);
      a[l / 4 + 8][k] = tf32(of(l).a[2 * half + 1]);
      b[l / 4][k] = tf32(of(l).b[half]);
    }
  }
  if (!of(0).wanted) return;
  for (int l = 0; l < 32; ++l) add_products(of(l).c, l, a, b);
}

void complete_f64_product(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> F64Product& { return *static_cast<F64Product*>(payloads[l]); };
  double a[16][4], b[8][4];
  for (int l = 0; l < 32; ++l) {
    a[l / 4][l % 4] = of(l).a[0];
    a[l / 4 + 8][l % 4] = of(l).a[1];
    b[l / 4][l % 4] = of(l).b;
  }
  for (int l = 0; l < 32; ++l)
    for (int i = 0; i < 4; ++i)
      for (int k = 0; k < 4; ++k)
        of(l).c[i] = std::fma(a[l / 4 + i / 2 * 8][k], b[2 * (l % 4) + i % 2][k], of(l).c[i]);
}

void complete_half_product(void* const* payloads, unsigned) {
  const auto of = [&](int l) -> HalfProduct& { return *static_cast<HalfProduct*>(payloads[l]); };
  double a[16][16], b[8][16];
  for (int l = 0; l < 32; ++l)
    for (int pair = 0; pair < 2; ++pair)
      for (int i = 0; i < 2; ++i) {
        const int k = 8 * pair + 2 * (l % 4) + i;
        a[l / 4][k] = half(of(l).a[2 * pair] >> 16 * i);
        a[l / 4 + 8][k] = half(of(l).a[2 * pair + 1] >> 16 * i);
        b[l / 4][k] = half(of(l).b[pair] >> 16 * i);
      }
  for (int l = 0; l < 32; ++l) add_products(of(l).c, l, a, b);
}

}  // namespace simt
