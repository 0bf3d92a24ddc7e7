// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the FFT family divides the outputs into tiles. Overlap-save: a transform of columns x rows
// points gives the outputs of (columns - right.width + 1) x (rows - right.height + 1) shifts.
// Pixels are real: the upper half of a spectrum is all of it.
#pragma once

#include <cmath>
#include <limits>

#include "cpu/common/common.hpp"

namespace xcorr::cpu::fft {

struct Tiling {
  int columns = 0, rows = 0;                ///< of a transform
  int useful_columns = 0, useful_rows = 0;  ///< outputs of a tile
  int tiles_x = 0, tiles_y = 0;

  std::int64_t points() const { return std::int64_t{columns} * rows; }
  std::int64_t tiles() const { return std::int64_t{tiles_x} * tiles_y; }
  /// Rows of a spectrum, in groups of so many: the upper half, the middle one and what fills up.
  int spectrum_rows(int lanes) const { return rows / 2 + lanes; }
};

/// The next size 16 * 4^a 3^b 5^c: whole vectors of columns, and no pass of radix 2, which costs
/// KissFFT nearly what one of radix 4 does.
inline int next_fast_size(int size) {
  while (true) {
    size = static_cast<int>(ceil_div(size, 16)) * 16;
    int rest = size;
    for (int radix : {4, 3, 5})
      while (rest % radix == 0) rest /= radix;
    if (rest == 1) return size;
    ++size;
  }
}

/// Relative time of a tile, as measured (64 x 64 and 400 x 300 in 1080p, 1 and 2 MiB of
/// second-level cache): constant per point while half a surface of complex doubles is small, then
/// bound by memory.
inline double tile_cost(const Tiling& t) {
  const double points = static_cast<double>(t.points()), bytes = 8 * points;
  return points * (bytes > 8e6 ? 2.5 : bytes > 3.3e6 ? 1.7 : bytes > 1.2e6 ? 1.25 : 1.0);
}

/// The cheapest division of the shifts.
inline Tiling choose_tiling(const Problem& p) {
  const auto each_size = [](int right, int shifts, auto&& body) {
    const int largest = next_fast_size(right + shifts - 1);
    for (int size = next_fast_size(right); size <= largest; size = next_fast_size(size + 1))
      body(size, std::min(size - right + 1, shifts));
  };
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  each_size(p.right.width, p.shifts.width, [&](int columns, int useful_columns) {
    each_size(p.right.height, p.shifts.height, [&](int rows, int useful_rows) {
      const Tiling t{columns,
                     rows,
                     useful_columns,
                     useful_rows,
                     static_cast<int>(ceil_div(p.shifts.width, useful_columns)),
                     static_cast<int>(ceil_div(p.shifts.height, useful_rows))};
      const double cost = static_cast<double>(t.tiles()) * tile_cost(t);
      if (cost >= least) return;
      least = cost;
      best = t;
    });
  });
  return best;
}

/// Bound on the error of a sum of 8-bit products. Each of the three two-dimensional transforms has
/// an error of at most about 10 epsilon for each doubling of its size, relative in the 2-norm (the
/// twiddle factors by 7); no element of a convolution exceeds the product of the 2-norms, which are
/// at most 255 sqrt(points) of a tile and 255 sqrt(n) of the right.
inline double error_bound(const Tiling& t, const Problem& p) {
  const double points = static_cast<double>(t.points());
  const double norms = 255.0 * 255.0 * std::sqrt(points * static_cast<double>(p.right.area()));
  return 3 * 10 * 0x1p-53 * std::log2(points) * norms;
}

/// The middle of 8-bit pixels.
inline constexpr double u8_middle = 128;

/// Error in single precision of sums of centred 8-bit products, as a share of the right's norm: as
/// of noise, some epsilons of a tile's norm.
inline float single_error(const Tiling& t) {
  const double norm = u8_middle * std::sqrt(static_cast<double>(t.points()));
  return static_cast<float>(4 * 0x1p-24 * norm);
}

}  // namespace xcorr::cpu::fft
