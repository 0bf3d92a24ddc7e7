// SPDX-License-Identifier: LGPL-2.1-or-later
#include "stages/match/mask.hpp"

#include <algorithm>
#include <numeric>

#include "stages/match/mask_runs.hpp"

namespace xcorr {

Masking masking_of(std::span<const std::uint8_t> mask, Size size) {
  if (mask.empty()) return {};
  return {std::accumulate(mask.begin(), mask.end(), std::int64_t{0}),
          std::ssize(mask_runs(mask.data(), size)), std::ranges::max(mask) > 1};
}

Rect counted_part(std::span<const std::uint8_t> mask, Size size) {
  Rect part{size.width, size.height, 0, 0};
  int right = 0, bottom = 0;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (mask[std::int64_t{y} * size.width + x]) {
        part.x = std::min(part.x, x);
        part.y = std::min(part.y, y);
        right = std::max(right, x + 1);
        bottom = y + 1;
      }
  part.width = right - part.x;
  part.height = bottom - part.y;
  return part;
}

std::vector<std::uint8_t> part_of(std::span<const std::uint8_t> mask, int width, const Rect& part) {
  std::vector<std::uint8_t> made;
  for (int y = part.y; y < part.y + part.height; ++y) {
    const auto row = mask.subspan(std::int64_t{y} * width + part.x, part.width);
    made.insert(made.end(), row.begin(), row.end());
  }
  return made;
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
