// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of single shifts in 8-bit data, and peaks from the best shift of each cell of 8 x 8: where
// that may not be better than its neighbours in other cells, or is suppressed while others of its
// cell are not, the cell is scored again from the pixels. So no score surface is needed.
#pragma once

#include "cuda/common/row_words.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/refinement.cuh"
#include "cuda/match/scorer.cuh"

namespace xcorr::cuda {

constexpr int cell = 8;  // shifts, across and down

/// The cells of one template: each block of the grid has the same number of them.
struct Cells {
  int columns, rows, skew;
  __host__ __device__ std::int64_t count() const { return std::int64_t{columns} * rows; }
  /// Of a shift, the cell's number.
  __device__ int at(int x, int y) const { return y / cell * columns + (x + skew) / cell; }
  /// Of a cell's first shift, which may be outside.
  __device__ int x(int number) const { return number % columns * cell - skew; }
  __device__ int y(int number) const { return number / columns * cell; }
};

/// The shifts of a cell and those around it.
constexpr int rim_cell = cell + 2;
using WindowKeys = Key[rim_cell][rim_cell];

/// Calls take(k, word) with the four pixels of a row of the frame from x + k on, for k below
/// `count`.
template <int count, class Take>
__device__ inline void for_words_beside(const std::uint8_t* row, int x, int width, Take take) {
  constexpr int needed = (count + 2) / 4 + 1;
  u32 words[needed];
  const int skew = skew_of(row + x), first = x - skew;
  if (first >= 0 && first + 4 * (needed + 1) <= width)
    words_between(skew, words, [&](int i) { return reinterpret_cast<const u32*>(row + first)[i]; });
  else
    load_words(row, x, width, words);
#pragma unroll
  for (int k = 0; k < count; ++k)
    take(k, k % 4 ? __funnelshift_r(words[k / 4], words[k / 4 + 1], 8 * (k % 4)) : words[k / 4]);
}

/// Adds to `count` products, of shifts beside each other, those of four pixels of a template's row
/// with the frame's, which are at x for the first shift.
template <int count>
__device__ inline void add_products(const std::uint8_t* pixels, int column, int columns,
                                    const std::uint8_t* row, int x, int width,
                                    u32 (&products)[count]) {
  u32 four[1];
  load_words(pixels, column, columns, four);
  for_words_beside<count>(
      row, x, width, [&](int k, u32 word) { products[k] = __dp4a(word, four[0], products[k]); });
}

/// What scoring cells again takes.
struct CellInputs : MatchInputs<u32> {
  stage::Search::Problem problem;
  bool minimum;
  int first_right;
  Cells cells;

  template <int planes>
  __device__ ScorerOf<planes> scorer(int right) const {
    return {problem, minimum, first_right + right, template_sums, window_sums, window_squares};
  }

  __device__ const std::byte* frame_of(int right) const {
    const Problem& p = problem.correlate;  // not left_offset(), which takes registers
    return p.own_lefts ? left + (first_right + right) * p.left_stride : left;
  }
  __device__ const std::uint8_t* template_row(int right, int plane, int y) const {
    const Problem& p = problem.correlate;
    const std::int64_t image = std::int64_t{plane} * p.rights + first_right + right;
    return reinterpret_cast<const std::uint8_t*>(templates + image * p.right_stride +
                                                 y * p.right_pitch);
  }
  __device__ const std::uint8_t* frame_row(int right, int plane, int y) const {
    const Problem& p = problem.correlate;
    return reinterpret_cast<const std::uint8_t*>(frame_of(right) + plane * p.left_plane +
                                                 y * p.left_pitch);
  }

  /// The keys of the shifts from (x0, y0) on, 0 outside, computed from the pixels by the whole
  /// block, one warp per row of shifts. Ends with a barrier.
  __device__ void score_windows(int right, int x0, int y0, WindowKeys& keys) const;
};

inline __device__ void CellInputs::score_windows(int right, int x0, int y0,
                                                 WindowKeys& keys) const {
  const Problem& p = problem.correlate;
  const ScorerOf<1> scores = scorer<1>(right);
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int words_across = ceil_div(p.right.width, 4);
  for (int r = threadIdx.x / 32; r < rim_cell; r += warps) {
    const int y = y0 + r;
    u32 products[rim_cell] = {};
    if (y >= 0 && y < p.shifts.height)
      // A lane has four pixels of the template, which each shift multiplies by others.
      for (int i = lane; i < words_across * p.right.height; i += 32) {
        const int j = i / words_across, column = 4 * (i - j * words_across);
        add_products(template_row(right, 0, j), column, p.right.width,
                     frame_row(right, 0, p.shifts.y + y + j), p.shifts.x + x0 + column,
                     p.left.width, products);
      }
    u32 mine = 0;
#pragma unroll
    for (int k = 0; k < rim_cell; ++k) {
      const u32 product = warp_sum(products[k]);
      if (lane == k) mine = product;
    }
    const int x = x0 + lane;
    const bool inside = x >= 0 && x < p.shifts.width && y >= 0 && y < p.shifts.height;
    if (lane < rim_cell)
      keys[r][lane] = inside ? scores.key(mine, static_cast<unsigned>(y) * p.shifts.width + x) : 0;
  }
  __syncthreads();
}

/// The best shift of a cell that beats its neighbours and is suppressed by none of the peaks; 0:
/// there is none.
__device__ inline Key best_in_cell(const CellInputs& from, int right, int column, int row,
                                   const Taken& taken) {
  __shared__ WindowKeys keys;
  __shared__ Key best[cell * cell];
  from.score_windows(right, column * cell - from.cells.skew - 1, row * cell - 1, keys);
  if (threadIdx.x < cell * cell) {
    const int x = threadIdx.x % cell + 1, y = threadIdx.x / cell + 1;
    const Key key = keys[y][x];
    bool is_beaten = false;
    for (int i = 0; i < 9; ++i) is_beaten |= keys[y + i / 3 - 1][x + i % 3 - 1] > key;
    best[threadIdx.x] = key && !is_beaten && !taken.suppress(from.problem, key) ? key : 0;
  }
  __syncthreads();
  Key found = 0;
  for (const Key key : best) found = found < key ? key : found;
  __syncthreads();  // shared memory is overwritten
  return found;
}

constexpr int list_threads = 32 * rim_cell;

/// Whether one of a key's neighbours in other cells may beat it.
__device__ inline bool may_be_beaten(const CellInputs& from, const Key* best, Key key) {
  const Rect s = from.problem.correlate.shifts;
  const int x = index_of(key) % s.width, y = index_of(key) / s.width;
  bool found = false;
  for (int i = 0; i < 9; ++i) {
    const int u = x + i % 3 - 1, v = y + i / 3 - 1;
    if (u < 0 || v < 0 || u >= s.width || v >= s.height) continue;
    found |= best[from.cells.at(u, v)] > key;
  }
  return found;
}

/// Lists the best shift of each cell among those that beat their neighbours. Each block takes
/// list_threads cells. `least`: of their scores, null: all count; `asked`: whether there is
/// anything to do, null: there is.
static __global__ void __launch_bounds__(list_threads, 1)
    list_cells(CellInputs from, const Key* best, PeakLists lists, const float* least,
               const int* asked) {
  __shared__ int open[list_threads];  // cells to be scored again
  __shared__ int open_count;
  wait_for_previous();
  if (asked && !*asked) return;
  const Cells& cells = from.cells;
  const int right = blockIdx.y;
  best += right * cells.count();
  if (threadIdx.x == 0) open_count = 0;
  const std::int64_t first = std::int64_t{blockIdx.x} * list_threads, mine = first + threadIdx.x;
  Key key = mine < cells.count() ? best[mine] : 0;
  if (least && key && score_of(key, from.minimum) < *least) key = 0;
  if (!__syncthreads_or(key != 0)) return;
  if (key) {
    if (may_be_beaten(from, best, key))
      open[atomicAdd(&open_count, 1)] = threadIdx.x;
    else
      lists.append(right, key);
  }
  __syncthreads();
  for (int k = 0; k < open_count; ++k) {
    const std::int64_t place = first + open[k];
    const Key found = best_in_cell(from, right, static_cast<int>(place % cells.columns),
                                   static_cast<int>(place / cells.columns), {nullptr, 0});
    if (found && threadIdx.x == 0) lists.append(right, found);
  }
}

/// Keys that stand for the shifts of their cells.
struct CellShifts {
  CellInputs from;

  __device__ bool covers(const stage::Peaks::Problem& p, const Box& box, Key key) const {
    const Rect s = p.correlate.shifts;
    const int x0 = column(key) * cell - from.cells.skew, y0 = row(key) * cell;
    return box.has(max(x0, 0), max(y0, 0)) &&
           box.has(min(x0 + cell, s.width) - 1, min(y0 + cell, s.height) - 1);
  }
  __device__ Key left_of(int right, Key key, const Taken& taken) const {
    return best_in_cell(from, right, column(key), row(key), taken);
  }
  __device__ int column(Key key) const {
    return (static_cast<int>(index_of(key) % width()) + from.cells.skew) / cell;
  }
  __device__ int row(Key key) const { return index_of(key) / width() / cell; }
  __device__ unsigned width() const { return from.problem.correlate.shifts.width; }
};

}  // namespace xcorr::cuda
