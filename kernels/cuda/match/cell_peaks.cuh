// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of single shifts in 8-bit data, and peaks from the best shift of each cell of 8 x 8: where
// that may not be better than its neighbours in other cells, or is suppressed while others of its
// cell are not, the cell is scored again from the pixels. So no score surface is needed.
#pragma once

#include "cuda/common/warp.cuh"
#include "cuda/match/greedy.cuh"
#include "stages/peaks.hpp"
#include "stages/score.hpp"

namespace xcorr::cuda {

using u32 = std::uint32_t;

constexpr int cell = 8;  // shifts, across and down

/// Scores the shifts of one template.
struct Scorer {
  Method method;
  bool minimum;  ///< the least score is the best
  float limit;
  u32 n, right_sum, right_squares;
  const u32 *sums, *squares;  ///< of the windows
  float right_variance;       ///< n^2 times
  /// The terms of may_reach(). All 0: always true.
  float value_product = 0, value_sum = 0, least_square = 0, least_sum = 0;

  __device__ Scorer(const stage::Search::Problem& p, bool minimum, const TemplateSums& right,
                    const u32* window_sums, const u32* window_squares)
      : method(p.method),
        minimum(minimum),
        limit(static_cast<float>(score_limit(p.method, p.threshold, double(p.pixels()), right))),
        n(static_cast<u32>(p.pixels())),
        right_sum(static_cast<u32>(right.sum)),
        right_squares(static_cast<u32>(right.squares)),
        sums(window_sums),
        squares(window_squares),
        right_variance(static_cast<float>(right.n2_variance)) {
    set_terms();
  }

  /// False only where the score of a window does not reach the limit: for ccoeff-normed, it
  /// compares the squares of value and limit * norms, with the value increased and the window's
  /// norm reduced by more than single precision rounds their terms. Few instructions and no
  /// branches, since most shifts need no more.
  __device__ bool may_reach(u32 product, u32 sum, u32 square) const {
    const auto left = static_cast<float>(sum);
    const float value = fmaf(static_cast<float>(product), value_product, -(value_sum * left));
    const float least = fmaf(static_cast<float>(square), least_square, -(least_sum * left) * left);
    return value * fabsf(value) >= least;
  }

  /// Scores below that one are of no interest any more.
  __device__ void raise(float score) {
    if (minimum || !(score > limit)) return;
    limit = score;
    set_terms();
  }

  /// Between these the square of the score lies, or 0 where it is negative; for methods other than
  /// ccoeff-normed they say nothing.
  struct Bounds {
    float low, high;
  };
  __device__ Bounds bounds(u32 product, u32 sum, u32 square) const {
    if (method != Method::ccoeff_normed) return {0, INFINITY};
    const auto left = static_cast<float>(sum), pixels = static_cast<float>(n);
    const float value = static_cast<float>(product) * pixels,
                mean = static_cast<float>(right_sum) * left;
    const float energy = static_cast<float>(square) * pixels;
    const float most = fmaf(value, more, -(less * mean)), least = fmaf(value, less, -(more * mean));
    const float largest = fmaf(energy, more, -(less * left) * left) * right_variance,
                smallest = fmaf(energy, less, -(more * left) * left) * right_variance;
    return {least > 0 ? 0.9995f * least * least / largest : 0,
            most <= 0      ? 0
            : smallest > 0 ? 1.0005f * most * most / smallest
                           : INFINITY};
  }

  /// 0: below the limit.
  __device__ Key key(u32 product, unsigned index) const {
    const u32 sum = sums[index], square = squares[index];
    if (!may_reach(product, sum, square)) return 0;
    const auto value = static_cast<float>(score(
        method, WindowTerms<std::int64_t>{n, product, sum, square, right_sum, right_squares}));
    return (minimum ? value <= limit : value >= limit) ? key_of(value, minimum, index) : 0;
  }

 private:
  /// More than single precision rounds.
  static constexpr float more = 1 + 1e-6f, less = 1 - 1e-6f;

  __device__ void set_terms() {
    if (method != Method::ccoeff_normed || limit <= 0) return;
    // A margin of a thousandth far exceeds the rounding of squares.
    const float least = 0.999f * limit * limit * right_variance;
    value_product = more * static_cast<float>(n);
    value_sum = less * static_cast<float>(right_sum);
    least_square = less * static_cast<float>(n) * least;
    least_sum = more * least;
  }
};

/// The cells of one template: each block of the grid has the same number of them.
struct Cells {
  int columns, rows, skew;
  __host__ __device__ std::int64_t count() const { return std::int64_t{columns} * rows; }
};

/// What scoring cells again takes.
struct CellInputs {
  stage::Search::Problem problem;
  bool minimum;
  const std::byte *left, *templates;
  const TemplateSums* template_sums;
  const u32 *window_sums, *window_squares;
  int first_right;
  Cells cells;

  __device__ Scorer scorer(int right) const {
    const std::int64_t window = first_window(problem.correlate, first_right + right);
    return {problem, minimum, template_sums[first_right + right], window_sums + window,
            window_squares + window};
  }
};

/// The shifts of a cell and those around it.
constexpr int rim_cell = cell + 2;

/// The best shift of a cell that beats its neighbours and is suppressed by none of the peaks; 0:
/// there is none. Scores are computed from the pixels by the whole block, a row of shifts a warp.
__device__ inline Key best_in_cell(const CellInputs& from, int right, int column, int row,
                                   const Taken& taken) {
  __shared__ Key keys[rim_cell][rim_cell];
  __shared__ Key best[cell * cell];
  const Problem& p = from.problem.correlate;
  const Scorer scorer = from.scorer(right);
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(
      from.templates + std::int64_t{from.first_right + right} * p.right_stride);
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int x0 = column * cell - from.cells.skew - 1, y0 = row * cell - 1;
  for (int r = threadIdx.x / 32; r < rim_cell; r += warps) {
    const int y = y0 + r;
    u32 products[rim_cell] = {};
    if (y >= 0 && y < p.shifts.height)
      for (int j = 0; j < p.right.height; ++j) {
        const auto* of_left = reinterpret_cast<const std::uint8_t*>(
            from.left + p.left_offset(from.first_right + right) +
            (p.shifts.y + y + j) * p.left_pitch + p.shifts.x);
        const auto* of_right = reinterpret_cast<const std::uint8_t*>(
            reinterpret_cast<const std::byte*>(pixels) + j * p.right_pitch);
        for (int i = lane; i < p.right.width; i += 32)
#pragma unroll
          for (int k = 0; k < rim_cell; ++k) {
            const int x = x0 + k;
            if (x >= 0 && x < p.shifts.width) products[k] += u32{of_left[x + i]} * of_right[i];
          }
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
      keys[r][lane] = inside ? scorer.key(mine, static_cast<unsigned>(y) * p.shifts.width + x) : 0;
  }
  __syncthreads();
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
    const int column = (u + from.cells.skew) / cell, row = v / cell;
    found |= best[std::int64_t{row} * from.cells.columns + column] > key;
  }
  return found;
}

/// Lists the best shift of each cell among those that beat their neighbours. Each block takes
/// list_threads cells.
static __global__ void __launch_bounds__(list_threads, 1)
    list_cells(CellInputs from, const Key* best, PeakLists lists) {
  __shared__ int open[list_threads];  // cells to be scored again
  __shared__ int open_count;
  wait_for_previous();
  const Cells& cells = from.cells;
  const int right = blockIdx.y;
  best += right * cells.count();
  if (threadIdx.x == 0) open_count = 0;
  const std::int64_t first = std::int64_t{blockIdx.x} * list_threads, mine = first + threadIdx.x;
  const Key key = mine < cells.count() ? best[mine] : 0;
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
