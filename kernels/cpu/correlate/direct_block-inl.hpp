// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of a block of a right at some rows of shifts, in registers: a vector of the left
// is used for several rows, a tap for several vectors. Included once for each of Highway's targets.
#if defined(XCORR_CPU_DIRECT_BLOCK_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef XCORR_CPU_DIRECT_BLOCK_INL_HPP
#undef XCORR_CPU_DIRECT_BLOCK_INL_HPP
#else
#define XCORR_CPU_DIRECT_BLOCK_INL_HPP
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include <hwy/highway.h>

#include "cpu/common/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_DIRECT_BLOCK
#define XCORR_CPU_DIRECT_BLOCK
namespace xcorr::cpu::direct {

constexpr int tile_rows = 64, tile_columns = 128;  ///< shifts of a tile, at most
constexpr int block_side = 64;                     ///< of the right; 64 x 64 x 255^2 < 2^32
constexpr int row_group = 4;                       ///< rows of shifts in registers
constexpr int slack = 32;                          ///< how far a vector may read past a row

constexpr int region_rows = tile_rows + block_side;
constexpr int region_pitch = tile_columns + block_side + slack;
constexpr int taps_rows = block_side + 2 * (row_group - 1);

/// The cells of a row of a block from the first to the last that is not 0.
struct TapRange {
  int first, last;

  void include(const TapRange& other) {
    if (other.first == other.last) return;
    *this =
        first == last ? other : TapRange{std::min(first, other.first), std::max(last, other.last)};
  }
};

/// The unpacked pixels of a tile and the taps of a block. Cell: an unpacked pixel.
template <class Cell>
struct TileCells {
  alignas(64) Cell region[region_rows * region_pitch];
  alignas(64) Cell taps[taps_rows * block_side];  ///< row_group - 1 rows of zeros at each end
  TapRange used[block_side + row_group - 1];      ///< of row_group rows of taps each
};

}  // namespace xcorr::cpu::direct
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

/// How many vectors of shifts share a tap.
constexpr int most_vectors = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 4 : 2;

/// `count` cells from column x of a row on, each `step` pixels after the last.
/// Past the row's ends lie pixels whose products are 0.
template <class Op>
void unpack(const typename Op::Pixel* row, int width, int x, int count, int step,
            typename Op::Cell* cells) {
  typename Op::Pixel line[2 * region_pitch];
  std::fill(std::begin(line), std::end(line), Op::outside);
  const int pixels = (count - 1) * step + Op::taps;
  const int begin = std::clamp(-x, 0, pixels), end = std::clamp(width - x, begin, pixels);
  if (row && end > begin) std::memcpy(line + begin, row + x + begin, (end - begin) * sizeof *row);
  for (int k = 0; k < count; ++k) cells[k] = Op::cell(line + k * step);
}

/// The pixels that so many shifts from (x, y) on need of a block of that size.
template <class Op, class Left>
void unpack_region(const Left& left, int x, int y, Size shifts, Size block,
                   TileCells<typename Op::Cell>& to) {
  const int rows = (shifts.height + row_group - 1) / row_group * row_group + block.height - 1;
  for (int j = 0; j < rows; ++j) {
    const bool inside = y + j >= 0 && y + j < left.size.height;
    unpack<Op>(inside ? left.row(y + j) : nullptr, left.size.width, x,
               shifts.width + block.width + slack, 1, to.region + j * region_pitch);
  }
}

/// A block of the right as taps, and which of them are used.
template <class Op, class Right>
void unpack_taps(const Right& right, const Rect& block, TileCells<typename Op::Cell>& to) {
  const int cells = (block.width + Op::taps - 1) / Op::taps;
  TapRange of_row[taps_rows] = {};
  for (int j = 0; j < block.height + 2 * (row_group - 1); ++j) {
    const int y = j - (row_group - 1);
    const bool inside = y >= 0 && y < block.height;
    auto* const row = to.taps + j * block_side;
    unpack<Op>(inside ? right.row(block.y + y) + block.x : nullptr, block.width, 0, cells, Op::taps,
               row);
    const auto is_used = [](auto cell) { return cell != 0; };
    const auto* const first = std::find_if(row, row + cells, is_used);
    const auto* last = row + cells;
    while (last > first && last[-1] == 0) --last;
    of_row[j] = {static_cast<int>(first - row), static_cast<int>(last - row)};
  }
  for (int j = 0; j < block.height + row_group - 1; ++j) {
    to.used[j] = of_row[j];
    for (int r = 1; r < row_group; ++r) to.used[j].include(of_row[j + r]);
  }
}

/// Adds a block's part at row_group rows of `vectors` vectors of shifts. `left`: the cell of the
/// first of them and the block's first tap.
template <class Op, int vectors, class Sum>
HWY_INLINE void add_block(const typename Op::Cell* left, const TileCells<typename Op::Cell>& cells,
                          int block_rows, Sum* out) {
  constexpr int lanes = hn::MaxLanes(typename Op::D());
  typename Op::Accumulator sums[row_group][vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = Op::zero();
  for (int row = 0; row < block_rows + row_group - 1; ++row) {
    const auto* line = left + row * region_pitch;
    const auto* tap = cells.taps + row * block_side;  // of the last of the rows of shifts
    const TapRange used = cells.used[row];
    for (int c = used.first; c < used.last; ++c) {
      typename Op::V pixels[vectors];
      for (int v = 0; v < vectors; ++v) pixels[v] = Op::load(line + c * Op::taps + v * lanes);
      for (int r = 0; r < row_group; ++r) {
        const auto t = Op::broadcast(tap[(row_group - 1 - r) * block_side + c]);
        for (int v = 0; v < vectors; ++v) Op::add(sums[r][v], pixels[v], t);
      }
    }
  }
  for (int r = 0; r < row_group; ++r)
    for (int v = 0; v < vectors; ++v)
      Op::store_added(sums[r][v], out + r * tile_columns + v * lanes);
}

/// The same at a row of tile_columns shifts or less.
template <class Op, class Sum>
HWY_INLINE void add_rows(const TileCells<typename Op::Cell>& cells, int y, int width,
                         int block_rows, Sum* out) {
  constexpr int lanes = hn::MaxLanes(typename Op::D());
  const auto* const left = cells.region + y * region_pitch;
  int x = 0;
  for (; width - x > lanes; x += most_vectors * lanes)
    add_block<Op, most_vectors>(left + x, cells, block_rows, out + x);
  if (x < width) add_block<Op, 1>(left + x, cells, block_rows, out + x);
}

}  // namespace xcorr::cpu::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
