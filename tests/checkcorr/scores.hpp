// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How far two computations in double of the score of floating-point data may differ.
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "stage_test.hpp"
#include "stages/match/score.hpp"

namespace checkcorr {

using xcorr::Method;
using xcorr::TemplateSums;

/// One window's sums, as doubles. Of several planes `sum` is the root of their sums' squares, which
/// makes the spread that of all.
struct Window {
  double n, sum, squares;

  double spread() const { return squares - sum * sum / n; }
  /// How much larger the terms are than their difference, the spread.
  double cancellation() const { return squares / std::max(spread(), DBL_MIN); }
  /// So close to the limit of no variance that rounding decides.
  bool undecided() const { return std::abs(spread() / squares / xcorr::flat_share - 1) < 0.1; }
};

inline Window window_at(const Scenario& s, std::size_t place) {
  double sums = 0, squares = 0;
  for (int plane = 0; plane < s.problem.correlate.planes; ++plane) {
    const auto at = static_cast<std::size_t>(plane * windows_of(s.problem.correlate)) + place;
    sums += s.window_sum_at(at) * s.window_sum_at(at);
    squares += s.window_square_at(at);
  }
  return {static_cast<double>(s.problem.pixels()), std::sqrt(sums), squares};
}

/// How far two computations in double of the score of floating-point data may differ.
inline double score_bound(Method method, const Window& w, const TemplateSums& right,
                          double expected) {
  constexpr double eps = 32 * DBL_EPSILON;
  const double energy = std::sqrt(w.squares * right.squares);
  const double terms = w.squares + 2 * energy + right.squares;
  switch (method) {
    case Method::sqdiff:
      return eps * terms;
    case Method::sqdiff_normed:
      return energy > 0 ? eps * terms / energy : 0;
    case Method::ccorr:
      return eps * energy;
    case Method::ccorr_normed:
    case Method::cosine_distance:
      return eps;
    case Method::ccoeff:
      return eps * energy;
    case Method::ccoeff_normed:
      if (w.undecided()) return 2;
      return eps * (std::abs(expected) * w.cancellation() + std::sqrt(w.cancellation()));
    case Method::orientation:  // is of bytes
      break;
  }
  return 0;
}

}  // namespace checkcorr
