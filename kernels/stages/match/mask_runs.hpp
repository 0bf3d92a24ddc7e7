// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A mask as runs of pixels, for sums over them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <xcorr/types.hpp>

namespace xcorr {

/// Adjacent pixels of a row that count, all so often, as many as there are up to max_mask_run.
struct MaskRun {
  std::int32_t x, y, length, weight;
};

/// The most pixels of 8 bits whose squares add up to less than 2^32.
inline constexpr int max_mask_run = 66051;

/// In the order of rows.
inline std::vector<MaskRun> mask_runs(const std::uint8_t* mask, Size size) {
  std::vector<MaskRun> runs;
  for (int y = 0; y < size.height; ++y) {
    const std::uint8_t* const row = mask + std::int64_t{y} * size.width;
    const std::uint8_t* const end = row + size.width;
    const auto next = [end](const std::uint8_t* from) {
      return std::find_if(from, end, [](std::uint8_t weight) { return weight != 0; });
    };
    for (const std::uint8_t* first = next(row); first != end;) {
      const std::uint8_t* last =
          std::find_if(first, end, [first](std::uint8_t weight) { return weight != *first; });
      last = std::min(last, first + std::min<std::ptrdiff_t>(end - first, max_mask_run));
      runs.push_back({static_cast<std::int32_t>(first - row), y,
                      static_cast<std::int32_t>(last - first), *first});
      first = next(last);
    }
  }
  return runs;
}

}  // namespace xcorr
