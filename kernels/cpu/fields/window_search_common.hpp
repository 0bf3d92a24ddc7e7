// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the scores of all places of an interrogation window to its vector, for the searches on the
// CPU.
#pragma once

#include <algorithm>

#include "cpu/common/common.hpp"
#include "stages/fields/window_search.hpp"

namespace xcorr::cpu {

/// Sums of pixels and of their squares over the windows of the frame.
template <class Number>
struct FrameSums {
  const Number *sums = nullptr, *squares = nullptr;
  std::int64_t pitch = 0;

  FrameSums at(int x, int y) const {
    return {sums + y * pitch + x, squares + y * pitch + x, pitch};
  }
};

/// The largest of some values that are above -2; -2 of none.
inline double largest_of(const double* values, int count) {
  double most[4] = {-2, -2, -2, -2};
  int i = 0;
  for (; i + 4 <= count; i += 4)
    for (int k = 0; k < 4; ++k) most[k] = values[i + k] > most[k] ? values[i + k] : most[k];
  for (; i < count; ++i) most[0] = std::max(most[0], values[i]);
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

/// From the scores of all places, whose rows lie `pitch` apart.
inline FoundPlace best_of(FieldSubpixel subpixel, const SearchedPlaces& places,
                          const double* scores, int pitch) {
  FoundPlace found{places.from_x, places.from_y, 0, -1, {}};
  const auto row_of = [&](int y) { return scores + std::int64_t{y} * pitch; };
  const auto largest = [&](int y, int from, int until) {
    return largest_of(row_of(y) + from, until - from);
  };
  double best = -2, in_row[2 * FieldLimits::range + 1];
  for (int y = places.from_y; y < places.until_y; ++y) {
    in_row[y] = largest(y, places.from_x, places.until_x);
    if (in_row[y] > best) {
      best = in_row[y];
      found.y = y;
    }
  }
  if (best > -2)
    while (row_of(found.y)[found.x] != best) ++found.x;
  constexpr int reach = FoundPlace::reach;
  for (int y = places.from_y; y < places.until_y; ++y) {
    if (FoundPlace::is_near(0, y - found.y))
      in_row[y] = std::max(largest(y, places.from_x, found.x - reach),
                           largest(y, found.x + reach + 1, places.until_x));
    found.second = std::max(found.second, in_row[y]);
  }
  for (int i = 0; i < 9; ++i) {
    const int x = found.x + i % 3 - 1, y = found.y + i / 3 - 1;
    found.set_score(subpixel, i, places.contains(x, y) ? row_of(y)[x] : 0);
  }
  return found;
}

/// The i-th window's scores of an ensemble so far. `varies`: the pair's window of the reference,
/// without which it has none.
inline void combine(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                    std::int64_t i, const SearchedPlaces& places, bool varies, double* scores,
                    int pitch) {
  for (int y = places.from_y; y < places.until_y; ++y)
    for (int x = places.from_x; x < places.until_x; ++x) {
      const std::int64_t at = (i * p.shifts() + y) * p.shifts() + x;
      double& score = scores[std::int64_t{y} * pitch + x];
      score = b.next_sums[at] = p.combined(varies ? score : 0, b.sums + at);
    }
}

/// The i-th window's vector. \param score  makes its scores, whose rows lie `pitch` apart, and
/// returns whether the window of the reference varies; if not, there are none
template <class Score>
FieldVector measured(const stage::WindowSearch::Problem& p, const stage::WindowSearch::Buffers& b,
                     std::int64_t i, double* scores, int pitch, const Score& score) {
  const InterrogationWindow& window = b.windows[i];
  if (window.status != FieldStatus::ok) return vector_without(window, p.window, window.status);
  const SearchedPlaces places(window, p.frame, p.window, p.range);
  if (places.empty()) return vector_without(window, p.window, FieldStatus::out_of_range);
  const bool varies = score(window, places);
  if (p.pairs > 1)
    combine(p, b, i, places, varies, scores, pitch);
  else if (!varies)
    return vector_without(window, p.window, FieldStatus::flat);
  return vector_of(p, window, places, best_of(p.subpixel, places, scores, pitch));
}

}  // namespace xcorr::cpu
