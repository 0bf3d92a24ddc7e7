// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stages/match/mask.hpp"

#include <algorithm>

#include "stages/match/mask_runs.hpp"

namespace xcorr {

Masking masking_of(std::span<const std::uint8_t> mask, Size size) {
  if (mask.empty()) return {};
  return {std::ranges::count(mask, 1), std::ssize(mask_runs(mask.data(), size))};
}

std::vector<std::uint8_t> inset_mask(std::span<const std::uint8_t> mask, Size size, int inset) {
  const auto at = [&](int x, int y) { return std::int64_t{y} * size.width + x; };
  const auto counts_around = [&](int x, int y) {
    if (x < inset || y < inset || x >= size.width - inset || y >= size.height - inset) return false;
    for (int j = -inset; j <= inset && !mask.empty(); ++j)
      for (int i = -inset; i <= inset; ++i)
        if (!mask[at(x + i, y + j)]) return false;
    return true;
  };
  std::vector<std::uint8_t> left(size.area());
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) left[at(x, y)] = counts_around(x, y);
  return left;
}

}  // namespace xcorr
