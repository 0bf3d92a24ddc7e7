// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which device searches which templates.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace xcorr {

/// Positions of costs, ascending, for each of `shares`: the greatest goes first, each to where the
/// least is. So the sums differ by no more than one cost, and equal ones are dealt out in turn.
inline std::vector<std::vector<std::uint32_t>> balance_templates(
    std::span<const std::int64_t> costs, std::size_t shares) {
  std::vector<std::uint32_t> order(costs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::uint32_t i) { return costs[i]; });
  std::vector<std::vector<std::uint32_t>> shared(shares);
  std::vector<std::int64_t> sums(shares);
  for (const std::uint32_t i : order) {
    const auto least = std::ranges::min_element(sums) - sums.begin();
    sums[least] += costs[i];
    shared[least].push_back(i);
  }
  for (auto& share : shared) std::ranges::sort(share);
  return shared;
}

}  // namespace xcorr
