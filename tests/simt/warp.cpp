// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The common part of what a warp's lanes do together, see simt/warp.hpp. What lanes bring are bits,
// so that one function does for all types.
#include "simt/warp.hpp"

#include <algorithm>
#include <bit>

namespace simt {
namespace {

/// Calls f(lane) for each lane of the mask.
template <class F>
void for_lanes(unsigned mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

struct Shuffled {
  std::uint64_t bits;  ///< its own before, another lane's after
  int source;          ///< the lane
  Where where;
};

void complete_shuffle(void* const* payloads, unsigned mask) {
  std::uint64_t before[32];
  for_lanes(mask, [&](int i) { before[i] = static_cast<Shuffled*>(payloads[i])->bits; });
  for_lanes(mask, [&](int i) {
    auto& mine = *static_cast<Shuffled*>(payloads[i]);
    if (!(mask >> mine.source & 1))
      report(mine.where, "shuffle: lane %d reads lane %d, which is not in the mask 0x%08x", i,
             mine.source, mask);
    mine.bits = before[mine.source];
  });
}

/// A lane that would be outside the part of `width` lanes is the own one.
int source_lane(From from, int argument, int width) {
  const int first = lane & ~(width - 1), last = first + width - 1;
  switch (from) {
    case From::index:
      return first + (argument & (width - 1));
    case From::up:
      return lane - argument < first ? lane : lane - argument;
    case From::down:
      return lane + argument > last ? lane : lane + argument;
    case From::xor_:
      return (lane ^ argument) > last ? lane : lane ^ argument;
  }
  return lane;
}

struct Vote {
  bool predicate;
  unsigned ballot;
};

void complete_vote(void* const* payloads, unsigned mask) {
  unsigned ballot = 0;
  for_lanes(mask, [&](int i) {
    if (static_cast<Vote*>(payloads[i])->predicate) ballot |= 1u << i;
  });
  for_lanes(mask, [&](int i) { static_cast<Vote*>(payloads[i])->ballot = ballot; });
}

struct Match {
  std::uint64_t bits;
  unsigned equal;
};

void complete_match(void* const* payloads, unsigned mask) {
  for_lanes(mask, [&](int i) {
    auto& mine = *static_cast<Match*>(payloads[i]);
    mine.equal = 0;
    for_lanes(mask, [&](int j) {
      if (static_cast<Match*>(payloads[j])->bits == mine.bits) mine.equal |= 1u << j;
    });
  });
}

}  // namespace

std::uint64_t shuffle(const char* name, From from, unsigned mask, std::uint64_t bits, int argument,
                      int width, Where where) {
  if (width < 1 || width > 32 || width & (width - 1))
    report(where, "%s: width %d is not a power of two up to 32", name, width);
  Shuffled payload{bits, source_lane(from, argument, width), where};
  warp_collective({name, mask, where, complete_shuffle}, &payload);
  return payload.bits;
}

unsigned vote(const char* name, unsigned mask, bool predicate, Where where) {
  Vote payload{predicate, 0};
  warp_collective({name, mask, where, complete_vote}, &payload);
  return payload.ballot;
}

unsigned match(const char* name, unsigned mask, std::uint64_t bits, Where where) {
  Match payload{bits, 0};
  warp_collective({name, mask, where, complete_match}, &payload);
  return payload.equal;
}

struct Plus {
  // Wraps around, as a device's integers do.
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
  }
};
struct Least {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Greatest {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct And {
  unsigned operator()(unsigned a, unsigned b) const { return a & b; }
};
struct Or {
  unsigned operator()(unsigned a, unsigned b) const { return a | b; }
};
struct Xor {
  unsigned operator()(unsigned a, unsigned b) const { return a ^ b; }
};

template <class F, class T>
void complete_reduction(void* const* payloads, unsigned mask) {
  T sum = *static_cast<T*>(payloads[std::countr_zero(mask)]);
  for_lanes(mask & (mask - 1), [&](int i) { sum = F()(sum, *static_cast<T*>(payloads[i])); });
  for_lanes(mask, [&](int i) { *static_cast<T*>(payloads[i]) = sum; });
}

template void complete_reduction<Plus, int>(void* const*, unsigned);
template void complete_reduction<Least, int>(void* const*, unsigned);
template void complete_reduction<Greatest, int>(void* const*, unsigned);
template void complete_reduction<Plus, unsigned>(void* const*, unsigned);
template void complete_reduction<Least, unsigned>(void* const*, unsigned);
template void complete_reduction<Greatest, unsigned>(void* const*, unsigned);
template void complete_reduction<And, unsigned>(void* const*, unsigned);
template void complete_reduction<Or, unsigned>(void* const*, unsigned);
template void complete_reduction<Xor, unsigned>(void* const*, unsigned);

}  // namespace simt
