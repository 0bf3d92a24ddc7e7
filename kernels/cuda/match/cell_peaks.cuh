// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of single shifts in 8-bit data, and non-maximum suppression on the best shift of each cell
// of 8 x 8: a cell's best is a peak unless a better one lies nearby; where a better cell lies only
// partly nearby, the scores of that part are recomputed from the pixels. So no score surface is
// needed.
#pragma once

#include "cuda/common/warp.cuh"
#include "cuda/match/peak_list.cuh"
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

constexpr int pick_warps = 8, pick_threads = 32 * pick_warps;
static_assert(pick_warps == cell);  // one warp per row of a cell

/// Shifts, both ends included.
struct Box {
  int x0, y0, x1, y1;
  __device__ bool has(int x, int y) const { return x >= x0 && x <= x1 && y >= y0 && y <= y1; }
};

/// The shifts that can suppress a key, and the cells that they lie in.
struct Neighbourhood {
  Key key;
  Box near, cells;
  __device__ Neighbourhood(const stage::Search::Problem& p, const Cells& c, Key key) : key(key) {
    const Rect s = p.correlate.shifts;
    const int x = index_of(key) % s.width, y = index_of(key) / s.width;
    near = {max(x - p.distance_x + 1, 0), max(y - p.distance_y + 1, 0),
            min(x + p.distance_x - 1, s.width - 1), min(y + p.distance_y - 1, s.height - 1)};
    cells = {(near.x0 + c.skew) / cell, near.y0 / cell, (near.x1 + c.skew) / cell, near.y1 / cell};
  }
  __device__ int count() const { return (cells.x1 - cells.x0 + 1) * (cells.y1 - cells.y0 + 1); }
  /// Column and row of the i-th cell.
  __device__ int column(int i) const { return cells.x0 + i % (cells.x1 - cells.x0 + 1); }
  __device__ int row(int i) const { return cells.y0 + i / (cells.x1 - cells.x0 + 1); }
};

/// How a cell's best compares with a key.
enum class Standing { below, beats, unknown };

/// unknown: it is better, but not nearby; another shift of the cell may be both.
__device__ inline Standing standing(const Neighbourhood& of, Key other, int width) {
  if (other <= of.key) return Standing::below;
  return of.near.has(index_of(other) % width, index_of(other) / width) ? Standing::beats
                                                                       : Standing::unknown;
}

/// Whether one of a cell's shifts near `of` beats it: their scores are computed from the pixels by
/// the whole block, one warp per row of the cell. Every thread returns the same.
__device__ inline bool is_beaten_by_pixels(const stage::Search::Problem& problem,
                                           const std::byte* left, const std::uint8_t* right,
                                           const Scorer& scorer, const Neighbourhood& of,
                                           int cell_x, int cell_y) {
  const Problem& p = problem.correlate;
  const int lane = threadIdx.x % 32, y = cell_y + threadIdx.x / 32;
  bool beaten = false;
  if (y >= of.near.y0 && y <= of.near.y1) {
    u32 products[cell] = {};
    for (int j = 0; j < p.right.height; ++j) {
      const auto* row = reinterpret_cast<const std::uint8_t*>(
          left + (p.shifts.y + y + j) * p.left_pitch + p.shifts.x);
      const auto* pixels = reinterpret_cast<const std::uint8_t*>(
          reinterpret_cast<const std::byte*>(right) + j * p.right_pitch);
      for (int i = lane; i < p.right.width; i += 32)
#pragma unroll
        for (int k = 0; k < cell; ++k) {
          const int x = cell_x + k;
          if (x >= of.near.x0 && x <= of.near.x1) products[k] += u32{row[x + i]} * pixels[i];
        }
    }
    u32 mine = 0;
#pragma unroll
    for (int k = 0; k < cell; ++k) {
      const u32 product = warp_sum(products[k]);
      if (lane == k) mine = product;
    }
    const int x = cell_x + lane;
    if (lane < cell && of.near.has(x, y))
      beaten = scorer.key(mine, static_cast<unsigned>(y) * p.shifts.width + x) > of.key;
  }
  return __syncthreads_or(beaten);
}

/// Appends the best shift of each cell to the lists unless a nearby one beats it. Each block takes
/// pick_threads cells; a warp compares one key with the cells around it.
static __global__ void __launch_bounds__(pick_threads, 1)
    pick_peaks(stage::Search::Problem problem, bool minimum, const std::byte* left,
               const std::byte* templates, const TemplateSums* template_sums, int first_right,
               Cells cells, const u32* window_sums, const u32* window_squares, const Key* best,
               PeakLists lists) {
  __shared__ Key open[pick_threads];  // those not yet beaten
  __shared__ bool is_open_cell[pick_threads];
  __shared__ int open_count;
  wait_for_previous();
  const Problem& p = problem.correlate;
  const int right = blockIdx.y, lane = threadIdx.x % 32, width = p.shifts.width;
  best += right * cells.count();
  if (threadIdx.x == 0) open_count = 0;
  const std::int64_t mine = std::int64_t{blockIdx.x} * pick_threads + threadIdx.x;
  const Key key = mine < cells.count() ? best[mine] : 0;
  if (!__syncthreads_or(key != 0)) return;

  for (unsigned left_over = __ballot_sync(~0u, key != 0); left_over; left_over &= left_over - 1) {
    const Neighbourhood of(problem, cells, __shfl_sync(~0u, key, __ffs(left_over) - 1));
    bool beaten = false, unknown = false;
    for (int i = lane; i < of.count() && !beaten; i += 32) {
      const Standing other =
          standing(of, best[std::int64_t{of.row(i)} * cells.columns + of.column(i)], width);
      beaten = other == Standing::beats;
      unknown |= other == Standing::unknown;
    }
    if (__any_sync(~0u, beaten)) continue;
    unknown = __any_sync(~0u, unknown);
    if (lane > 0) continue;
    if (unknown)
      open[atomicAdd(&open_count, 1)] = of.key;
    else
      lists.append(right, of.key);
  }
  __syncthreads();

  const Scorer scorer(problem, minimum, template_sums[first_right + right], window_sums,
                      window_squares);
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(
      templates + std::int64_t{first_right + right} * p.right_stride);
  for (int k = 0; k < open_count; ++k) {
    const Neighbourhood of(problem, cells, open[k]);
    bool beaten = false;
    for (int base = 0; base < of.count() && !beaten; base += pick_threads) {
      const int i = base + threadIdx.x;
      is_open_cell[threadIdx.x] =
          i < of.count() &&
          standing(of, best[std::int64_t{of.row(i)} * cells.columns + of.column(i)], width) ==
              Standing::unknown;
      __syncthreads();
      for (int c = 0; c < pick_threads && !beaten; ++c)
        if (is_open_cell[c])
          beaten =
              is_beaten_by_pixels(problem, left, pixels, scorer, of,
                                  of.column(base + c) * cell - cells.skew, of.row(base + c) * cell);
      __syncthreads();  // is_open_cell is overwritten
    }
    if (!beaten && threadIdx.x == 0) lists.append(right, of.key);
  }
}

}  // namespace xcorr::cuda
