// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/weights.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace xcorr {

std::vector<std::uint8_t> heavy_ones(std::span<const std::uint8_t> weights) {
  std::array<std::int64_t, 256> weight_of{};  // of all pixels with that weight
  for (const std::uint8_t weight : weights) weight_of[weight] += weight;
  const auto from = [&](int least) {
    return std::accumulate(weight_of.begin() + least, weight_of.end(), std::int64_t{0});
  };
  int least = std::max(1, (std::ranges::max(weights) + 1) / 2);
  while (least > 1 && 2 * from(least) < from(0)) --least;
  std::vector<std::uint8_t> heavy;
  for (const std::uint8_t weight : weights) heavy.push_back(weight >= least);
  return heavy;
}

}  // namespace xcorr
