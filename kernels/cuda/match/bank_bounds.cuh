// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Bounds of what tensor_bank_wgmma.cu scores, in single precision, from sums in registers: what a
// warp shares of its windows, and the greatest scores that they may have with each right.
#pragma once

#include "cuda/match/part_bounds.cuh"
#include "cuda/tensor/bank_products.cuh"

namespace xcorr::cuda {

constexpr float more = ScorerOf<1>::more, less = ScorerOf<1>::less;

/// Of the group's rights: what bounds need besides products.
template <class T, int planes>
struct OfRights {
  float sums[planes][T::rights];  ///< a little less
  float limits[T::rights], variances[T::rights];
};

/// Of edges.
template <class T>
struct OfRights<T, edge_planes> {
  u32 offsets[T::rights];
  float limits[T::rights], variances[T::rights];
};

/// What a warp shares besides what its products need.
template <class T, int planes>
struct OfWarp {
  static constexpr int windows = T::warp_columns * T::tiles;
  u32 sums[planes][windows], squares[planes][windows];
  u32 products[4][windows];  ///< with four rights
};

/// The rights of a launch among the columns of a group.
struct Columns {
  int first, count;  ///< the launch's right of the first column, may be below 0; of the launch

  __device__ int right(int column) const { return first + column; }
  __device__ bool has(int column) const { return right(column) >= 0 && right(column) < count; }
};

/// Of the eight columns whose sums a lane has, the `c`-th.
__device__ inline int column_of(int lane, int c) { return c / 2 * 8 + lane % 4 * 2 + c % 2; }

/// A warp's windows by their numbers: 16 of each of its tiles.
template <class T>
struct Windows {
  Rect shifts;
  int x0, y0;

  __device__ int x(int k) const { return x0 + k % T::warp_columns; }
  __device__ int y(int k) const { return y0 + T::packed * (k / T::warp_columns); }
  __device__ bool inside(int k) const { return x(k) < shifts.width && y(k) < shifts.height; }
  __device__ unsigned index(int k) const {
    return static_cast<unsigned>(y(k)) * shifts.width + x(k);
  }
  /// That whose sums a lane has: BankSums<T>[tile][4 n + 2 half + i].
  __device__ static int number(int lane, int tile, int half) {
    return T::warp_columns * tile + 8 * half + lane / 4;
  }
};

/// Calls take(c, number, value) for a lane's eight rights and its windows: at least the score times
/// the right's deviation, n times.
template <class T, int planes, class Take>
__device__ void for_window_scores(BankSums<T>& sums, const Windows<T>& windows, u32 n,
                                  const OfWarp<T, planes>& of_warp,
                                  const OfRights<T, planes>& of_rights, Take take) {
  const int lane = threadIdx.x % 32;
  const auto pixels = static_cast<float>(n);
#pragma unroll
  for (int t = 0; t < T::tiles; ++t) {
    if constexpr (planes > 1) hold_registers(sums[t]);  // or loads for all tiles come first
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = windows.number(lane, t, half);
      WindowOf<planes> w{};
      float left[planes], square = 0;
#pragma unroll
      for (int plane = 0; plane < planes; ++plane) {
        w.sums[plane] = of_warp.sums[plane][k];
        w.squares += of_warp.squares[plane][k];
        left[plane] = static_cast<float>(w.sums[plane]);
        square = fmaf(more * left[plane], left[plane], square);
      }
      const float variance = fmaf(static_cast<float>(w.squares), less * pixels, -square);
      float over_deviation = 0;
      if (variance > 0)
        over_deviation = rsqrtf(variance);
      else if (u64{n} * w.squares != w.squared_sums())
        over_deviation = 1e18f;  // rounding has lost it
      if (!windows.inside(k)) over_deviation = 0;
      const float of_product = more * pixels * over_deviation;
#pragma unroll
      for (float& sum : left) sum *= over_deviation;
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const int column = column_of(lane, c);
        float of_sums = of_rights.sums[0][column] * left[0];
#pragma unroll
        for (int plane = 1; plane < planes; ++plane)
          of_sums = fmaf(of_rights.sums[plane][column], left[plane], of_sums);
        const auto product = static_cast<float>(sums[t][c / 2 * 4 + 2 * half + c % 2]);
        take(c, k, fmaf(product, of_product, -of_sums));
      }
    }
  }
}

/// Of each of a lane's eight rights at least the greatest score of the lane's windows times the
/// right's deviation, n times, or 0.
template <class T, int planes>
__device__ void greatest_scores(BankSums<T>& sums, const Windows<T>& windows, u32 n,
                                const OfWarp<T, planes>& of_warp,
                                const OfRights<T, planes>& of_rights, float (&greatest)[8]) {
#pragma unroll
  for (float& value : greatest) value = 0;
  for_window_scores(sums, windows, n, of_warp, of_rights,
                    [&](int c, int, float value) { greatest[c] = fmaxf(greatest[c], value); });
}

/// Of edges: the products of the numbers that they stand for.
template <class T>
__device__ void greatest_scores(BankSums<T>& sums, const Windows<T>& windows, u32,
                                const OfWarp<T, edge_planes>& of_warp,
                                const OfRights<T, edge_planes>& of_rights, float (&greatest)[8]) {
  const int lane = threadIdx.x % 32;
  u32 offsets[8];
  int products[8] = {};
#pragma unroll
  for (int c = 0; c < 8; ++c) offsets[c] = of_rights.offsets[column_of(lane, c)];
#pragma unroll
  for (int t = 0; t < T::tiles; ++t)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int k = windows.number(lane, t, half);
      if (!windows.inside(k)) continue;
      const u32 of_window = no_edge * (of_warp.sums[0][k] + of_warp.sums[1][k]);
#pragma unroll
      for (int c = 0; c < 8; ++c) {
        const u32 product = sums[t][c / 2 * 4 + 2 * half + c % 2] + offsets[c] - of_window;
        products[c] = max(products[c], static_cast<int>(product));
      }
    }
#pragma unroll
  for (int c = 0; c < 8; ++c) greatest[c] = static_cast<float>(products[c]);
}

/// The same as of one plane, but for a little less: in place of their last bits the values have the
/// numbers of the windows.
template <class T>
__device__ void greatest_numbered(BankSums<T>& sums, const Windows<T>& windows, u32 n,
                                  const OfWarp<T, 1>& of_warp, const OfRights<T, 1>& of_rights,
                                  float (&greatest)[8]) {
#pragma unroll
  for (float& value : greatest) value = 0;
  for_window_scores(sums, windows, n, of_warp, of_rights, [&](int c, int k, float value) {
    constexpr int numbers = OfWarp<T, 1>::windows;
    static_assert((numbers & (numbers - 1)) == 0);
    greatest[c] = fmaxf(greatest[c], __int_as_float((__float_as_int(value) & ~(numbers - 1)) | k));
  });
}

/// Of eight values in each lane the greatest over the lanes with the same lane % 4, shared out:
/// each of these returns another one, number_of() it.
__device__ inline float greatest_of(float (&values)[8]) {
#pragma unroll
  for (int count = 8, step = 16; count > 1; count /= 2, step /= 2)
#pragma unroll
    for (int k = 0; k < count / 2; ++k) {
      const bool upper = threadIdx.x & step;
      const float kept = upper ? values[k + count / 2] : values[k],
                  given = upper ? values[k] : values[k + count / 2];
      values[k] = fmaxf(kept, __shfl_xor_sync(~0u, given, step));
    }
  return values[0];
}
__device__ inline int number_of(int lane) {
  return lane / 16 * 4 + lane / 8 % 2 * 2 + lane / 4 % 2;
}
/// The lanes to which number c goes: four from that one on.
constexpr int first_lane_of(int c) { return c / 4 * 16 + c / 2 % 2 * 8 + c % 2 * 4; }

/// By the first threads of a block, before a barrier.
template <class T, int planes>
__device__ void ask_for_rights(const CellInputs& from, const Columns& columns,
                               OfRights<T, planes>& of_rights) {
  const int column = threadIdx.x;
  if (column >= T::rights) return;
#pragma unroll
  for (auto& of_plane : of_rights.sums) of_plane[column] = 0;
  of_rights.variances[column] = 0;
  of_rights.limits[column] = INFINITY;
  if (!columns.has(column)) return;
  const Problem& p = from.problem.correlate;
  const int right = from.first_right + columns.right(column);
  TemplateSums sums = from.template_sums[right];
  of_rights.sums[0][column] = less * static_cast<float>(sums.sum);
#pragma unroll
  for (int plane = 1; plane < planes; ++plane) {
    const TemplateSums& of_plane = from.template_sums[std::int64_t{plane} * p.rights + right];
    of_rights.sums[plane][column] = less * static_cast<float>(of_plane.sum);
    sums += of_plane;
  }
  const auto limit = static_cast<float>(score_limit(from.problem.method, from.problem.threshold,
                                                    double(from.problem.pixels()), sums));
  of_rights.variances[column] = static_cast<float>(sums.n2_variance);
  // All scores of a right without variance are 0.
  if (sums.n2_variance > 0 || limit <= 0) of_rights.limits[column] = limit;
}

/// Of edges.
template <class T>
__device__ void ask_for_rights(const CellInputs& from, const Columns& columns,
                               OfRights<T, edge_planes>& of_rights) {
  const int column = threadIdx.x;
  if (column >= T::rights) return;
  of_rights.offsets[column] = 0;
  of_rights.variances[column] = 0;
  of_rights.limits[column] = INFINITY;
  if (!columns.has(column)) return;
  const ScorerOf<edge_planes> scorer = from.scorer<edge_planes>(columns.right(column));
  const auto energy = static_cast<float>(scorer.energy);
  of_rights.offsets[column] = scorer.offset;
  of_rights.variances[column] = energy * energy;
  if (energy > 0 || scorer.limit <= 0) of_rights.limits[column] = scorer.limit;
}

/// Where windows are of a launch: warps one after the other have windows below each other.
template <class T>
struct WindowOrder {
  Rect shifts;
  int down;  ///< warps in a column

  __host__ __device__ explicit WindowOrder(const Rect& s)
      : shifts(s), down(T::warps_down(s.height)) {}
  /// A warp's place, which may be past the last one.
  __device__ Windows<T> at(int place) const {
    const int across = place / down;
    return {shifts, across * T::warp_columns, T::first_row(place - across * down)};
  }
  __host__ __device__ int count() const { return ceil_div(shifts.width, T::warp_columns) * down; }
};

/// Asks for what bounds and scores need of a warp's windows, by copies.
template <class T, int planes>
__device__ void ask_for_windows(const CellInputs& from, const Windows<T>& windows,
                                OfWarp<T, planes>& of_warp) {
#pragma unroll
  for (int k = threadIdx.x % 32; k < OfWarp<T, planes>::windows; k += 32) {
    std::int64_t at = windows.inside(k) ? windows.index(k) : 0;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane, at += windows_of(from.problem.correlate)) {
      copy_async<4>(&of_warp.sums[plane][k], from.window_sums + at, 4);
      if constexpr (planes != edge_planes)
        copy_async<4>(&of_warp.squares[plane][k], from.window_squares + at, 4);
    }
  }
  commit_copies();
}

}  // namespace xcorr::cuda
