// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The common part of what a warp's lanes do together, see simt/warp.hpp. What lanes bring are bits,
// so that one function does for all types.
#include "simt/warp.hpp"

#include <algorithm>
#include <bit>

namespace simt {

/// Calls f(lane) for each lane of the mask.
template <class F>
void for_lanes(unsigned mask, F f) {
  for (; mask; mask &= mask - 1) f(std::countr_zero(mask));
}

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

void complete_vote(void* const* payloads, unsigned mask) {
  unsigned ballot = 0;
  for_lanes(mask, [&](int i) {
    if (static_cast<Vote*>(payloads[i])->predicate) ballot |= 1u << i;
  });
  for_lanes(mask, [&](int i) { static_cast<Vote*>(payloads[i])->ballot = ballot; });
}

void complete_match(void* const* payloads, unsigned mask) {
  for_lanes(mask, [&](int i) {
    auto& mine = *static_cast<Match*>(payloads[i]);
    mine.equal = 0;
    for_lanes(mask, [&](int j) {
      if (static_cast<Match*>(payloads[j])->bits == mine.bits) mine.equal |= 1u << j;
    });
  });
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
