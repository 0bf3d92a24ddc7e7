// SPDX-License-Identifier: LGPL-2.1-or-later
//
// CUDA's vector types, aligned as on a device, and dim3.
#pragma once

#include <type_traits>

#define SIMT_VECTORS(scalar, name, align2, align4)                                     \
  struct name##1 {                                                                     \
    scalar x;                                                                          \
  };                                                                                   \
  struct alignas(align2) name##2 {                                                     \
    scalar x, y;                                                                       \
  };                                                                                   \
  struct name##3 {                                                                     \
    scalar x, y, z;                                                                    \
  };                                                                                   \
  struct alignas(align4) name##4 {                                                     \
    scalar x, y, z, w;                                                                 \
  };                                                                                   \
  constexpr name##1 make_##name##1(scalar x) { return {x}; }                           \
  constexpr name##2 make_##name##2(scalar x, scalar y) { return {x, y}; }              \
  constexpr name##3 make_##name##3(scalar x, scalar y, scalar z) { return {x, y, z}; } \
  constexpr name##4 make_##name##4(scalar x, scalar y, scalar z, scalar w) { return {x, y, z, w}; }

SIMT_VECTORS(signed char, char, 2, 4)
SIMT_VECTORS(unsigned char, uchar, 2, 4)
SIMT_VECTORS(short, short, 4, 8)
SIMT_VECTORS(unsigned short, ushort, 4, 8)
SIMT_VECTORS(int, int, 8, 16)
SIMT_VECTORS(unsigned int, uint, 8, 16)
SIMT_VECTORS(long long, longlong, 16, 16)
SIMT_VECTORS(unsigned long long, ulonglong, 16, 16)
SIMT_VECTORS(float, float, 8, 16)
SIMT_VECTORS(double, double, 16, 16)
#undef SIMT_VECTORS

struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
