// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches of windows on the CPU know of the frame, and what they do with scores.
#pragma once

#include <algorithm>

#include "stages/displace.hpp"

namespace xcorr::cpu {

/// Of windows of the frame.
struct FrameSums {
  const std::uint32_t *sums = nullptr, *squares = nullptr;
  std::int64_t pitch = 0;

  FrameSums at(int x, int y) const {
    return {sums + y * pitch + x, squares + y * pitch + x, pitch};
  }
};

/// Whether windows overlap so much that it is less to sum all of the frame's, and there is memory
/// for that: half a gigabyte.
inline bool sums_whole_frame(const stage::Displace::Problem& p) {
  const std::int64_t side = p.window + p.shifts() - 1, most = std::int64_t{1} << 26;
  return p.frame.area() <= std::min(most, p.count * side * side);
}

/// From the scores of all places, whose rows lie `pitch` apart.
inline FoundPlace best_of(FieldSubpixel subpixel, const SearchedPlaces& places,
                          const double* scores, int pitch) {
  FoundPlace found{places.from_x, places.from_y, 0, -1, {}};
  const auto score_at = [&](int x, int y) { return scores[std::int64_t{y} * pitch + x]; };
  double best = -2;
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x)
      if (const double here = score_at(x, y); here > best) {
        best = here;
        found.x = x;
        found.y = y;
      }
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x)
      if (!FoundPlace::is_near(x - found.x, y - found.y))
        found.second = std::max(found.second, score_at(x, y));
  for (int i = 0; i < 9; ++i) {
    const int x = found.x + i % 3 - 1, y = found.y + i / 3 - 1;
    found.set_score(subpixel, i, places.contains(x, y) ? score_at(x, y) : 0);
  }
  return found;
}

/// The i-th window's scores of an ensemble so far. `varies`: the pair's window of the reference,
/// without which it has none.
inline void combine(const stage::Displace::Problem& p, const stage::Displace::Buffers& b,
                    std::int64_t i, const SearchedPlaces& places, bool varies, double* scores,
                    int pitch) {
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x) {
      const std::int64_t at = (i * p.shifts() + y) * p.shifts() + x;
      double& score = scores[std::int64_t{y} * pitch + x];
      score = b.next_sums[at] = p.combined(varies ? score : 0, b.sums + at);
    }
}

}  // namespace xcorr::cpu
