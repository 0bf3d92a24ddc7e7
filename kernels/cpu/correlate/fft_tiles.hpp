// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the FFT family divides the outputs into tiles. Overlap-save: a transform of columns x rows
// points gives the outputs of (columns - right.width + 1) x (rows - right.height + 1) shifts.
// Pixels are real: the upper half of a spectrum is all of it.
#pragma once

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu::fft {

struct Tiling {
  int columns = 0, rows = 0;                ///< of a transform
  int useful_columns = 0, useful_rows = 0;  ///< outputs of a tile
  int tiles_x = 0, tiles_y = 0;

  std::int64_t points() const { return std::int64_t{columns} * rows; }
  std::int64_t tiles() const { return std::int64_t{tiles_x} * tiles_y; }
  /// With enough tiles each slot works on its own; otherwise all work on one.
  bool runs_in_parallel(int lefts) const { return lefts * tiles() >= 2 * slot_count(); }
  /// Rows of a spectrum, in groups of so many: the upper half, the middle one and what fills up.
  int spectrum_rows(int lanes) const { return rows / 2 + lanes; }
};

/// What a transform of a size costs a point, in operations and accesses to memory, and the radix to
/// begin with.
struct TransformCost {
  double cost;
  int radix;
};

inline TransformCost cost_of_transform(int size) {
  if (size == 1) return {0, 1};
  TransformCost best{std::numeric_limits<double>::infinity(), 0};
  constexpr std::pair<int, double> radices[] = {{8, 13.5}, {6, 13.6}, {10, 19},
                                                {4, 10},   {5, 16},   {3, 11}};
  for (const auto& [radix, cost] : radices) {
    if (size % radix) continue;
    const double all = cost + cost_of_transform(size / radix).cost;
    if (all < best.cost) best = {all, radix};
  }
  return best;
}

/// Of the cheapest way to a transform of so many points.
inline std::vector<int> radices_of(int size) {
  std::vector<int> radices;
  for (; size > 1; size /= radices.back()) radices.push_back(cost_of_transform(size).radix);
  return radices;
}

/// The next size 16 * 2^a 3^b 5^c: whole vectors of columns.
inline int next_fast_size(int size) {
  while (true) {
    size = static_cast<int>(ceil_div(size, 16)) * 16;
    int rest = size;
    for (int radix : {2, 3, 5})
      while (rest % radix == 0) rest /= radix;
    if (rest == 1) return size;
    ++size;
  }
}

/// A transform's size along one axis, the outputs that it gives, and how many it takes.
struct Piece {
  int size, useful, count;
  double cost;  ///< of a point

  std::int64_t points() const { return std::int64_t{size} * count; }
};

/// The sizes that may be worth it, ascending: all smaller ones compute more points altogether.
inline std::vector<Piece> pieces_of(int right, int shifts) {
  std::vector<Piece> pieces;
  const int largest = next_fast_size(right + shifts - 1);
  for (int size = next_fast_size(right); size <= largest; size = next_fast_size(size + 1)) {
    const int useful = std::min(size - right + 1, shifts);
    Piece piece{size, useful, static_cast<int>(ceil_div(shifts, useful)), 0};
    if (!pieces.empty() && piece.points() >= pieces.back().points()) continue;
    piece.cost = cost_of_transform(size).cost;
    pieces.push_back(piece);
  }
  return pieces;
}

/// Relative time of a tile, as measured (64 x 64 in 1080p, 2 MiB of second-level cache for two
/// threads): what the transforms cost and what is done besides, which is more where a tile and a
/// right's spectrum leave the cache.
inline double tile_cost(const Piece& columns, const Piece& rows) {
  const double points = static_cast<double>(columns.size) * rows.size, bytes = 16 * points;
  const double memory = bytes > 1.6e7    ? 2.5
                        : bytes > 6e6    ? 1.8
                        : bytes > 2.4e6  ? 1.5
                        : bytes > 1.25e6 ? 1.3
                                         : 1.0;
  return points * (columns.cost + rows.cost + 40) * memory;
}

/// The cheapest division of the shifts.
inline Tiling choose_tiling(const Problem& p) {
  const std::vector<Piece> rows = pieces_of(p.right.height, p.shifts.height);
  Tiling best;
  double least = std::numeric_limits<double>::infinity();
  for (const Piece& x : pieces_of(p.right.width, p.shifts.width))
    for (const Piece& y : rows) {
      const Tiling t{x.size, y.size, x.useful, y.useful, x.count, y.count};
      const std::int64_t tiles = p.lefts * t.tiles(), slots = slot_count();
      // Threads wait for each other between the steps of a tile that they share.
      const double rounds = t.runs_in_parallel(p.lefts)
                                ? static_cast<double>(ceil_div(tiles, slots) * slots)
                                : 1.15 * static_cast<double>(tiles);
      // A right's own spectrum takes half a tile's time.
      const double work = rounds + 0.4 * static_cast<double>(p.total_rights());
      const double cost = work * tile_cost(x, y);
      if (cost >= least) continue;
      least = cost;
      best = t;
    }
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
