// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the lanes of a warp do together: shuffles, votes, matches, reductions.
#pragma once

#include <cstring>
#include <type_traits>

#include "execution.hpp"

namespace simt {

/// What a lane brings to a shuffle and takes from it. `complete` moves bits only, so that one does
/// for every type.
struct Shuffled {
  std::uint64_t bits;  ///< its own before, another lane's after
  int source;          ///< the lane
  Where where;
};

void complete_shuffle(void* const* payloads, unsigned mask);

/// The types that shuffles take; smaller ones become int, as in CUDA's overloads.
template <class T>
using Shuffle = std::conditional_t<(sizeof(T) < 4), int, T>;

template <class T>
Shuffle<T> shuffle(const char* name, unsigned mask, T value, int source, Where where) {
  static_assert(std::is_arithmetic_v<T>);
  const auto wide = static_cast<Shuffle<T>>(value);
  Shuffled payload{0, source, where};
  std::memcpy(&payload.bits, &wide, sizeof wide);
  warp_collective({name, mask, where, complete_shuffle}, &payload);
  Shuffle<T> result;
  std::memcpy(&result, &payload.bits, sizeof result);
  return result;
}

inline void check_width(int width, Where where) {
  if (width < 1 || width > 32 || width & (width - 1))
    report(where, "shuffle: width %d is not a power of two up to 32", width);
}

/// The first and the last lane of the running thread's part of the warp.
struct Part {
  int first, last;
  Part(int width, Where where) {
    check_width(width, where);
    first = lane & ~(width - 1);
    last = first + width - 1;
  }
};

struct Vote {
  bool predicate;
  unsigned ballot;
};

void complete_vote(void* const* payloads, unsigned mask);

inline unsigned vote(const char* name, unsigned mask, bool predicate, Where where) {
  Vote payload{predicate, 0};
  warp_collective({name, mask, where, complete_vote}, &payload);
  return payload.ballot;
}

struct Match {
  std::uint64_t bits;
  unsigned equal;  ///< the lanes that brought the same
};

void complete_match(void* const* payloads, unsigned mask);

template <class T>
unsigned match(const char* name, unsigned mask, T value, Where where) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8);
  Match payload{};
  std::memcpy(&payload.bits, &value, sizeof value);
  warp_collective({name, mask, where, complete_match}, &payload);
  return payload.equal;
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
  const simt::Part part(width, where);
  return simt::shuffle("__shfl_sync", mask, value, part.first + (source & (width - 1)), where);
}

template <class T>
auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
  const simt::Part part(width, where);
  const int own = simt::lane, source = own - static_cast<int>(delta);
  return simt::shuffle("__shfl_up_sync", mask, value, source < part.first ? own : source, where);
}

template <class T>
auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, SIMT_HERE) {
  const simt::Part part(width, where);
  const int own = simt::lane, source = own + static_cast<int>(delta);
  return simt::shuffle("__shfl_down_sync", mask, value, source > part.last ? own : source, where);
}

template <class T>
auto __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, SIMT_HERE) {
  const simt::Part part(width, where);
  const int own = simt::lane, source = own ^ lanes;
  return simt::shuffle("__shfl_xor_sync", mask, value, source > part.last ? own : source, where);
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
  return simt::match("__match_any_sync", mask, value, where);
}
template <class T>
unsigned __match_all_sync(unsigned mask, T value, int* all, SIMT_HERE) {
  *all = simt::match("__match_all_sync", mask, value, where) == mask;
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
