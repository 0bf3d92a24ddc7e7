// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Arithmetic intrinsics and the functions that device code has without a header.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <type_traits>

using std::abs;
using std::fma;
using std::isfinite;
using std::isinf;
using std::isnan;

// CUDA's overloads take mixed integers, which become what arithmetic on them gives.
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(std::fmin(static_cast<T>(a), static_cast<T>(b)));
  else
    return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b) : static_cast<T>(a);
}
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(std::fmax(static_cast<T>(a), static_cast<T>(b)));
  else
    return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b) : static_cast<T>(a);
}

inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float rsqrtf(float x) { return static_cast<float>(1 / std::sqrt(static_cast<double>(x))); }
inline double sinpi(double x) { return std::sin(std::numbers::pi * x); }
inline double cospi(double x) { return std::cos(std::numbers::pi * x); }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1) : 0; }

inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return std::fma(a, b, c); }
// Single operations that the compiler must not join; the emulation is built without contraction.
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline float __fsqrt_rn(float a) { return std::sqrt(a); }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __dmul_rn(double a, double b) { return a * b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __dsqrt_rn(double a) { return std::sqrt(a); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float a) { return 1 / a; }
inline float __frsqrt_rn(float a) { return rsqrtf(a); }
inline float __cosf(float x) { return std::cos(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x ? std::countr_zero(static_cast<unsigned>(x)) + 1 : 0; }
inline int __ffsll(long long x) {
  return x ? std::countr_zero(static_cast<unsigned long long>(x)) + 1 : 0;
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int i = 0; i < 32; ++i) reversed |= (x >> i & 1) << (31 - i);
  return reversed;
}
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = selector >> (4 * i) & 15;
    unsigned byte = bytes >> (8 * (s & 7)) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift & 31) >> 32);
}

inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::uint64_t{static_cast<unsigned>(high)} << 32 |
                               static_cast<unsigned>(low));
}

inline int __mulhi(int a, int b) { return static_cast<int>(std::int64_t{a} * b >> 32); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<unsigned long long>(Wide{a} * b >> 64);
}
inline int __mul24(int a, int b) {
  const auto low = [](int x) { return std::int64_t{static_cast<int>(unsigned(x) << 8)} >> 8; };
  return static_cast<int>(low(a) * low(b));
}
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __sad(int a, int b, unsigned c) {
  return c + static_cast<unsigned>(a < b ? std::int64_t{b} - a : std::int64_t{a} - b);
}

namespace simt {

/// c plus the products of four bytes each, which wrap around like a device's 32-bit integers.
template <class A, class B>
unsigned dot4(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; ++i)
    c += static_cast<unsigned>(int{static_cast<A>(a >> (8 * i))} *
                               int{static_cast<B>(b >> (8 * i))});
  return c;
}

template <class To, class From>
To saturating(From x) {
  if (std::isnan(x)) return 0;
  // The largest To may not be a From; the power of two behind it is.
  if (x >= std::ldexp(From{1}, std::numeric_limits<To>::digits))
    return std::numeric_limits<To>::max();
  if (x <= static_cast<From>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}

}  // namespace simt

inline int __dp4a(int a, int b, int c) {
  return static_cast<int>(
      simt::dot4<signed char, signed char>(unsigned(a), unsigned(b), unsigned(c)));
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return simt::dot4<unsigned char, unsigned char>(a, b, c);
}

/// Two 16-bit halves of a times two bytes of b.
inline int __dp2a_lo(int a, int b, int c) {
  return c + static_cast<short>(a) * static_cast<signed char>(b) +
         (a >> 16) * static_cast<signed char>(b >> 8);
}
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }

inline int __float2int_rn(float x) { return simt::saturating<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return simt::saturating<int>(std::trunc(x)); }
inline int __float2int_rd(float x) { return simt::saturating<int>(std::floor(x)); }
inline int __float2int_ru(float x) { return simt::saturating<int>(std::ceil(x)); }
inline unsigned __float2uint_rn(float x) { return simt::saturating<unsigned>(std::nearbyint(x)); }
inline unsigned __float2uint_rz(float x) { return simt::saturating<unsigned>(std::trunc(x)); }
inline int __double2int_rn(double x) { return simt::saturating<int>(std::nearbyint(x)); }
inline long long __double2ll_rn(double x) { return simt::saturating<long long>(std::nearbyint(x)); }
inline long long __float2ll_rn(float x) { return simt::saturating<long long>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

template <class T>
T __ldg(const T* address) {
  return *address;
}
template <class T>
T __ldcs(const T* address) {
  return *address;
}
template <class T>
T __ldcg(const T* address) {
  return *address;
}
template <class T>
void __stcs(T* address, T value) {
  *address = value;
}
template <class T>
void __stcg(T* address, T value) {
  *address = value;
}
