// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the lanes of a warp do together: shuffles, votes, matches, reductions.
#pragma once

#include <bit>
#include <cstring>
#include <type_traits>

#include "execution.hpp"

namespace simt {

/// How a shuffle's argument tells the source lane.
enum class From : std::uint8_t { index, up, down, xor_ };

/// The bits of the source lane, for any type.
std::uint64_t shuffle(const char* name, From from, unsigned mask, std::uint64_t bits, int argument,
                      int width, Where where);

/// The types that shuffles take; smaller ones become int, as in CUDA's overloads.
template <class T>
using Shuffle = std::conditional_t<(sizeof(T) < 4), int, T>;

template <class T>
Shuffle<T> shuffle(const char* name, From from, unsigned mask, T value, int argument, int width,
                   Where where) {
  static_assert(std::is_arithmetic_v<T>);
  using Bits = std::conditional_t<sizeof(Shuffle<T>) == 4, std::uint32_t, std::uint64_t>;
  const std::uint64_t bits = std::bit_cast<Bits>(static_cast<Shuffle<T>>(value));
  return std::bit_cast<Shuffle<T>>(
      static_cast<Bits>(shuffle(name, from, mask, bits, argument, width, where)));
}

/// The lanes of the mask for which the predicate holds.
unsigned vote(const char* name, unsigned mask, bool predicate, Where where);

/// The lanes of the mask that brought the same bits.
unsigned match(const char* name, unsigned mask, std::uint64_t bits, Where where);

template <class T>
unsigned match_values(const char* name, unsigned mask, T value, Where where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return match(name, mask, bits, where);
}

// What __reduce_*_sync do, in this order.
struct Plus;
struct Least;
struct Greatest;
struct And;
struct Or;
struct Xor;

template <class F, class T>
void complete_reduction(void* const* payloads, unsigned mask);

/// For 32-bit integers, on a device from compute capability 8.0 on.
template <class F, class T>
T reduce(const char* name, unsigned mask, T value, Where where) {
  static_assert(std::is_same_v<T, int> || std::is_same_v<T, unsigned>);
  warp_collective({name, mask, where, complete_reduction<F, T>}, &value);
  return value;
}

}  // namespace simt

#define SIMT_HERE simt::Where where = simt::Where::current()

inline void __syncwarp(unsigned mask = ~0u, SIMT_HERE) {
  simt::warp_collective({"__syncwarp", mask, where, [](void* const*, unsigned) {}}, nullptr);
}

template <class T>
auto __shfl_sync(unsigned mask, T value, int source, int width = 32, SIMT_HERE) {
  return simt::shuffle("__shfl_sync", simt::From::index, mask, value, static_cast<int>(source),
                       width, where);
}

template <class T>
auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
  return simt::shuffle("__shfl_up_sync", simt::From::up, mask, value, static_cast<int>(delta),
                       width, where);
}

template <class T>
auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
  return simt::shuffle("__shfl_down_sync", simt::From::down, mask, value, static_cast<int>(delta),
                       width, where);
}

template <class T>
auto __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, SIMT_HERE) {
  return simt::shuffle("__shfl_xor_sync", simt::From::xor_, mask, value, static_cast<int>(lanes),
                       width, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate, SIMT_HERE) {
  return simt::vote("__ballot_sync", mask, predicate, where);
}
inline int __any_sync(unsigned mask, int predicate, SIMT_HERE) {
  return simt::vote("__any_sync", mask, predicate, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, SIMT_HERE) {
  return simt::vote("__all_sync", mask, predicate, where) == mask;
}

template <class T>
unsigned __match_any_sync(unsigned mask, T value, SIMT_HERE) {
  return simt::match_values("__match_any_sync", mask, value, where);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, SIMT_HERE) {
  *all = simt::match_values("__match_all_sync", mask, value, where) == mask;
  return *all ? mask : 0;
}

template <class T>
T __reduce_add_sync(unsigned mask, T value, SIMT_HERE) {
  return simt::reduce<simt::Plus>("__reduce_add_sync", mask, value, where);
}
template <class T>
T __reduce_min_sync(unsigned mask, T value, SIMT_HERE) {
  return simt::reduce<simt::Least>("__reduce_min_sync", mask, value, where);
}
template <class T>
T __reduce_max_sync(unsigned mask, T value, SIMT_HERE) {
  return simt::reduce<simt::Greatest>("__reduce_max_sync", mask, value, where);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, SIMT_HERE) {
  return simt::reduce<simt::And>("__reduce_and_sync", mask, value, where);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, SIMT_HERE) {
  return simt::reduce<simt::Or>("__reduce_or_sync", mask, value, where);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, SIMT_HERE) {
  return simt::reduce<simt::Xor>("__reduce_xor_sync", mask, value, where);
}

#undef SIMT_HERE
