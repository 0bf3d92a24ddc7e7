// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Why most windows need not be scored: an upper bound of ccoeff-normed from block means.
//
// Let f and t be window and template less their means over the pixels that count, P the projection
// on pictures that are constant on each of some blocks of side x side such pixels, 0 elsewhere and
// 0 in sum, and v any such picture. Since what P leaves is orthogonal to these,
//   <t, f> = <v, f> + <Pt - v, Pf> + <t - Pt, f - Pf>
//         <= <v, f> + |Pt - v| |Pf| + |t - Pt| |f - Pf|,
// where |Pf| <= |f|, and the score is <t, f> / (|t| |f|). For v = Pt but for the rounding of its
// blocks to 8 bits <v, f> is a sum of products of the blocks' sums: exact in integers, and
// side^2 times cheaper than <t, f>. The other sums are needed once for a window, whatever the
// number of templates that share a mask.
#pragma once

#include <cmath>

#include "stages/peaks.hpp"
#include "stages/score.hpp"

namespace xcorr {

/// The blocks of windows of a size: `columns` x `rows` in their middle, of which those count whose
/// pixels all do.
struct BlockGrid {
  std::int32_t side = 0, columns = 0, rows = 0, x = 0, y = 0;

  BlockGrid() = default;
  XCORR_HD BlockGrid(Size window, int side)
      : side(side),
        columns(window.width / side),
        rows(window.height / side),
        x(window.width % side / 2),
        y(window.height % side / 2) {}
  XCORR_HD int count() const { return columns * rows; }
  /// Whether all pixels of a block count. `mask` may be null: all do.
  XCORR_HD bool counts(const std::uint8_t* mask, int width, int column, int row) const {
    if (!mask) return true;
    for (int j = 0; j < side; ++j)
      for (int i = 0; i < side; ++i)
        if (!mask[std::int64_t{y + row * side + j} * width + x + column * side + i]) return false;
    return true;
  }
  /// That much is taken off a block's sum, so that it fits into 16 bits.
  XCORR_HD int middle() const { return 128 * side * side; }
};

/// What is known of a window.
struct WindowNorms {
  float all;     ///< |f|
  float beside;  ///< |f - Pf|, or a little more
};

/// All are whole numbers, whose products double precision holds.
/// \param sum, squares              of the pixels that count, `pixels` in number
/// \param blocks                    how many count
/// \param block_sum, block_squares  of their sums less BlockGrid::middle()
XCORR_HD inline WindowNorms window_norms(double pixels, double sum, double squares, int side,
                                         double blocks, double block_sum, double block_squares) {
  const double f = n2_covariance(pixels, squares, sum, sum) / pixels;
  const double of_blocks = n2_covariance(blocks, block_squares, block_sum, block_sum) /
                           (blocks > 0 ? blocks * side * side : 1);
  const double rest = f - of_blocks;
  return {static_cast<float>(sqrt(f)), static_cast<float>(sqrt((rest > 0 ? rest : 0) + 1e-6 * f))};
}

/// The template's part in the bound.
struct BlockBound {
  float of_product = 0;  ///< <v, f> for one of the sum of weights times block sums
  float of_beside = 0;   ///< |t - Pt|
  float of_all = 0;      ///< what is to be exceeded, for one of |f|,
  float least = 0;       ///< and besides

  /// False only where the window's score does not reach the limit.
  XCORR_HD bool may_reach(std::int32_t product, const WindowNorms& window) const {
    return of_product * static_cast<float>(product) + of_beside * window.beside >
           of_all * window.all + least;
  }
};

/// Chooses v for a template. `sum_of(k)`: the sum of its block k below `count`; negative: that
/// block does not count. Calls take(k, weight) for those that do: weights fit into 8 bits and are 0
/// in sum. \param limit  of the score; 0 and less: nothing is excluded \param norm2  |t|^2
template <class SumOf, class Take>
XCORR_HD BlockBound block_bound(int count, int side, double limit, double norm2, SumOf sum_of,
                                Take take) {
  constexpr int most_weight = 126;  // one less than fits, for what makes their sum 0
  std::int64_t counted = 0, sum = 0;
  std::int32_t low = 0x7fffffff, high = 0;
  for (int k = 0; k < count; ++k) {
    const std::int32_t of_block = sum_of(k);
    if (of_block < 0) continue;
    ++counted;
    sum += of_block;
    low = of_block < low ? of_block : low;
    high = of_block > high ? of_block : high;
  }
  const double mean = counted ? static_cast<double>(sum) / static_cast<double>(counted) : 0;
  const double most = high - mean > mean - low ? high - mean : mean - low;
  const double scale = counted && most > 0 ? most_weight / most : 0;
  int excess = 0;
  for (int k = 0; k < count; ++k)
    if (const std::int32_t of_block = sum_of(k); of_block >= 0)
      excess += static_cast<int>(floor((of_block - mean) * scale + 0.5));
  // In sums of blocks: |v|^2 and such are these squares over side^2.
  double squares = 0, error2 = 0;
  for (int k = 0; k < count; ++k) {
    const std::int32_t of_block = sum_of(k);
    if (of_block < 0) continue;
    const double exact = of_block - mean;
    int weight = static_cast<int>(floor(exact * scale + 0.5));
    const int change = excess > 0 ? -1 : excess < 0 ? 1 : 0;
    weight += change;
    excess += change;
    const double error = scale > 0 ? exact - weight / scale : exact;
    squares += exact * exact;
    error2 += error * error;
    take(k, weight);
  }
  // Far more than single precision rounds.
  constexpr double margin = 1e-5;
  if (!(limit > margin)) return {0, 0, 0, -1};
  const double pixels = static_cast<double>(side) * side;
  const double rest = norm2 - squares / pixels, norm = sqrt(norm2);
  return {scale > 0 ? static_cast<float>(1 / (scale * pixels)) : 0.0f,
          static_cast<float>(sqrt(rest > 0 ? rest : 0) + margin * norm),
          static_cast<float>((limit - margin) * norm - sqrt(error2 / pixels)), 0};
}

/// Whether the bound is known for such a search, whose sums then fit into 32 bits.
constexpr bool is_bounded_by_blocks(const stage::Search::Problem& p, int side) {
  const Size window = p.correlate.right;
  return p.method == Method::ccoeff_normed && std::min(window.width, window.height) >= 2 * side;
}

}  // namespace xcorr
