// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of single shifts in 8-bit data, and peaks from the best shift of each cell of 8 x 8: where
// that may not be better than its neighbours in other cells, or is suppressed while others of its
// cell are not, the cell is scored again from the pixels. So no score surface is needed.
#pragma once

#include "cuda/common/row_words.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/match/nms.cuh"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr int cell = 8;  // shifts, across and down

/// The sums of a window: of each plane, and the squares of all.
template <int planes>
struct WindowOf {
  u32 sums[planes], squares;

  /// The sum of the sums' squares.
  __device__ u64 squared_sums() const {
    u64 all = 0;
#pragma unroll
    for (int c = 0; c < planes; ++c) all += u64{sums[c]} * sums[c];
    return all;
  }
};

/// Scores the shifts of one template, whose planes' products are one sum.
template <int planes>
struct ScorerOf {
  /// More than single precision rounds.
  static constexpr float more = 1 + 1e-6f, less = 1 - 1e-6f;

  Method method;
  bool minimum;  ///< the least score is the best
  float limit;
  u32 n, right_sums[planes], right_squares;
  const u32 *sums, *squares;  ///< of the windows
  float right_variance;       ///< n^2 times

  /// \param template_sums, window_sums, window_squares  of all
  __device__ ScorerOf(const stage::Search::Problem& p, bool minimum, int right,
                      const TemplateSums* template_sums, const u32* window_sums,
                      const u32* window_squares)
      : method(p.method),
        minimum(minimum),
        n(static_cast<u32>(p.pixels())),
        sums(window_sums + first_window(p.correlate, right)),
        squares(window_squares + first_window(p.correlate, right)),
        windows_(windows_of(p.correlate)) {
    TemplateSums all = template_sums[right];
    right_sums[0] = static_cast<u32>(all.sum);
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      const TemplateSums& of_plane = template_sums[std::int64_t{c} * p.correlate.rights + right];
      right_sums[c] = static_cast<u32>(of_plane.sum);
      all += of_plane;
    }
    right_squares = static_cast<u32>(all.squares);
    right_variance = static_cast<float>(all.n2_variance);
    limit = static_cast<float>(score_limit(p.method, p.threshold, double(p.pixels()), all));
    set_terms();
  }

  /// Loads a window's sums.
  __device__ WindowOf<planes> window(unsigned index) const {
    WindowOf<planes> w;
    w.sums[0] = sums[index];
    w.squares = squares[index];
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      w.sums[c] = sums[c * windows_ + index];
      w.squares += squares[c * windows_ + index];
    }
    return w;
  }

  /// Of a window's score, for ccoeff-normed, what decides in a few instructions and without
  /// branches, in single precision: more than the value times its amount, and less than the
  /// window's variance, n^2 times, by more than is rounded. For other methods both are 0, and
  /// nothing is known.
  struct Estimate {
    float value2, variance;
  };
  __device__ Estimate estimate(u32 product, const WindowOf<planes>& w) const {
    const auto first = static_cast<float>(w.sums[0]);
    float sums = value_sums[0] * first, square = (variance_sum * first) * first;
#pragma unroll
    for (int c = 1; c < planes; ++c) {
      const auto left = static_cast<float>(w.sums[c]);
      sums = fmaf(value_sums[c], left, sums);
      square = fmaf(variance_sum * left, left, square);
    }
    const float value = fmaf(static_cast<float>(product), value_product, -sums);
    return {value * fabsf(value), fmaf(static_cast<float>(w.squares), variance_square, -square)};
  }

  /// False only where the score does not reach the limit.
  __device__ bool may_reach(const Estimate& e) const {
    return e.value2 >= least_square * e.variance || !excludes;
  }

  /// Scores below that one are of no interest any more.
  __device__ void raise(float score) {
    if (minimum || !(score > limit)) return;
    limit = score;
    set_limit();
  }

  /// Scores from that one on are of interest, too.
  __device__ void lower(float score) {
    limit = fminf(limit, score);
    set_limit();
  }

  /// The square of a score is at most that, and 0 where the score is not positive.
  __device__ float high(const Estimate& e, const WindowOf<planes>& w) const {
    if (e.variance > 0) return fmaxf(__fdividef(e.value2, e.variance) * over_variance, 0);
    const bool is_flat = u64{n} * w.squares == w.squared_sums();
    return method == Method::ccoeff_normed && is_flat ? 0 : INFINITY;
  }
  /// And at least that, or 0.
  __device__ float low(u32 product, const WindowOf<planes>& w) const {
    if (method != Method::ccoeff_normed) return 0;
    const auto pixels = static_cast<float>(n);
    float sums = 0, square = 0;
#pragma unroll
    for (int c = 0; c < planes; ++c) {
      const auto left = static_cast<float>(w.sums[c]);
      sums = fmaf(more * right_sums[c], left, sums);
      square = fmaf(less * left, left, square);
    }
    const float value = fmaf(static_cast<float>(product) * pixels, less, -sums);
    const float variance =
        fmaf(static_cast<float>(w.squares) * pixels, more, -square) * right_variance;
    return value > 0 ? 0.9995f * value * value / variance : 0;
  }

  /// 0: below the limit.
  __device__ Key key(u32 product, unsigned index) const {
    const WindowOf<planes> w = window(index);
    if (!may_reach(estimate(product, w))) return 0;
    using T = std::int64_t;
    ScoreTerms<T> all(
        WindowTerms<T>{n, product, w.sums[0], w.squares, right_sums[0], right_squares});
    // Of the others what is not in those sums over all planes.
#pragma unroll
    for (int c = 1; c < planes; ++c)
      all += ScoreTerms<T>(WindowTerms<T>{n, 0, w.sums[c], 0, right_sums[c], 0});
    const auto value = static_cast<float>(score(method, all));
    return (minimum ? value <= limit : value >= limit) ? key_of(value, minimum, index) : 0;
  }

 private:
  static constexpr float margin_above = 1.001f, margin_below = 0.999f;

  std::int64_t windows_;  ///< of a plane
  float value_product = 0, value_sums[planes] = {}, variance_square = 0, variance_sum = 0;
  float over_variance = 0;  ///< 1 over the template's variance, a little more
  float least_square = 0;  ///< the square of the limit times the template's variance, a little less
  bool excludes = false;   ///< whether the estimate tells what is below the limit

  __device__ void set_terms() {
    if (method != Method::ccoeff_normed) return;
    value_product = more * static_cast<float>(n);
#pragma unroll
    for (int c = 0; c < planes; ++c) value_sums[c] = less * static_cast<float>(right_sums[c]);
    variance_square = less * static_cast<float>(n);
    variance_sum = more;
    over_variance = right_variance > 0 ? margin_above / right_variance : 0;
    set_limit();
  }
  __device__ void set_limit() {
    excludes = method == Method::ccoeff_normed && limit > 0;
    // The margin far exceeds the rounding of squares.
    least_square = margin_below * limit * limit * right_variance;
  }
};

/// The cells of one template: each block of the grid has the same number of them.
struct Cells {
  int columns, rows, skew;
  __host__ __device__ std::int64_t count() const { return std::int64_t{columns} * rows; }
};

/// The shifts of a cell and those around it.
constexpr int rim_cell = cell + 2;
using WindowKeys = Key[rim_cell][rim_cell];

/// What scoring cells again takes.
struct CellInputs {
  stage::Search::Problem problem;
  bool minimum;
  const std::byte *left, *templates;
  const TemplateSums* template_sums;
  const u32 *window_sums, *window_squares;
  int first_right;
  Cells cells;

  template <int planes>
  __device__ ScorerOf<planes> scorer(int right) const {
    return {problem, minimum, first_right + right, template_sums, window_sums, window_squares};
  }

  /// The keys of the shifts from (x0, y0) on, 0 outside, computed from the pixels by the whole
  /// block, one warp per row of shifts. Ends with a barrier.
  __device__ void score_windows(int right, int x0, int y0, WindowKeys& keys) const;
};

inline __device__ void CellInputs::score_windows(int right, int x0, int y0,
                                                 WindowKeys& keys) const {
  const Problem& p = problem.correlate;
  const ScorerOf<1> scores = scorer<1>(right);
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(
      templates + std::int64_t{first_right + right} * p.right_stride);
  const auto* region =
      reinterpret_cast<const std::uint8_t*>(left + p.left_offset(first_right + right));
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int words_across = ceil_div(p.right.width, 4);
  for (int r = threadIdx.x / 32; r < rim_cell; r += warps) {
    const int y = y0 + r;
    u32 products[rim_cell] = {};
    if (y >= 0 && y < p.shifts.height)
      // A lane has four pixels of the template, which each shift multiplies by others.
      for (int i = lane; i < words_across * p.right.height; i += 32) {
        const int j = i / words_across, column = 4 * (i - j * words_across);
        u32 four[1], row[(rim_cell + 2) / 4 + 1];
        load_words(pixels + j * p.right_pitch, column, p.right.width, four);
        load_words(region + (p.shifts.y + y + j) * p.left_pitch, p.shifts.x + x0 + column,
                   p.left.width, row);
#pragma unroll
        for (int k = 0; k < rim_cell; ++k)
          products[k] = __dp4a(__funnelshift_r(row[k / 4], row[k / 4 + 1], 8 * (k % 4)), four[0],
                               products[k]);
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
    const int column = (u + from.cells.skew) / cell, row = v / cell;
    found |= best[std::int64_t{row} * from.cells.columns + column] > key;
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
