// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the register_tile family divides a problem: what a thread, a warp and a block compute, where
// a stage's pixels lie in shared memory so that a warp's 16-byte loads have no bank conflicts, and
// how they are copied there.
#pragma once

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"

namespace xcorr::cuda {

/// One tuning. A thread computes x * y shifts for each pair of `lefts` and `rights` matrices; the
/// lanes of a warp and the warps of a block lie side by side along the same axes. `share` warps
/// compute the same outputs from different rows, and add their sums at the end.
struct Tile {
  int x, y, lefts = 1, rights = 1;
  int lanes_x = 1, lanes_y = 1, lanes_lefts = 1, lanes_rights = 1;
  int share = 1, warps_y = 1, warps_lefts = 1;
  int blocks = 1;           ///< that should fit a multiprocessor: bounds the registers of f32
  int rows;                 ///< of a left, staged at a time; a multiple of `share`
  bool every_type = false;  ///< else f32 only, to limit the code compiled

  constexpr int lanes() const { return lanes_x * lanes_y * lanes_lefts * lanes_rights; }
  constexpr int groups() const { return warps_y * warps_lefts; }
  constexpr int threads() const { return 32 * share * groups(); }
  constexpr int block_x() const { return x * lanes_x; }
  constexpr int block_y() const { return y * lanes_y * warps_y; }
  constexpr int block_lefts() const { return lefts * lanes_lefts * warps_lefts; }
  constexpr int block_rights() const { return rights * lanes_rights; }
  /// Outputs of a warp, and of the block.
  constexpr int warp_outputs() const { return 32 * x * y * lefts * rights; }
  constexpr int outputs() const { return warp_outputs() * groups(); }
};

/// Columns of a right staged at a time.
constexpr int segment = 32;

/// Shared memory in units of four values, the width of a load. A warp's load has no bank conflicts
/// when its lanes' units differ modulo 8; pitches and strides are chosen for that: neighbouring
/// rows lie an odd number of units apart, neighbouring matrices as many as there are lanes before
/// them.
struct StageLayout {
  int left_pitch, left_stride, right_rows, right_pitch, right_stride;
  int left_units, units;

  static constexpr int at_least(int units, int residue) {
    while (units % 8 != residue % 8) ++units;
    return units;
  }
  static constexpr StageLayout of(const Tile& t) {
    StageLayout s{};
    s.left_pitch = ((segment + t.block_x()) / 4) | 1;
    s.left_stride = at_least(s.left_pitch * t.rows, 1);
    s.right_rows = t.rows + t.block_y() - 1;
    s.right_pitch = (segment / 4) | 1;
    s.right_stride = at_least(s.right_pitch * s.right_rows, t.lanes_y);
    s.left_units = s.left_stride * t.block_lefts();
    s.units = s.left_units + s.right_stride * t.block_rights();
    return s;
  }
};

// ---- staging --------------------------------------------------------------------------------

/// Rows of some matrices in global memory; zero outside.
struct Source {
  const std::byte* first;
  std::int64_t pitch, stride;
  Size size;
  int count;     ///< number of matrices
  bool aligned;  ///< every address of a multiple of four columns is one of 16 bytes
};

/// Four values, of which the first `valid` exist.
template <class E>
__device__ void stage_four(typename E::Value* to, const typename E::In* from, int valid,
                           bool aligned) {
  using Value = typename E::Value;
  if constexpr (sizeof(typename E::In) != sizeof(Value)) {
    for (int i = 0; i < 4; ++i) to[i] = i < valid ? Value(from[i]) : Value(0);
  } else if (aligned) {
    constexpr int per_copy = 16 / sizeof(Value);
    for (int i = 0; i < 4; i += per_copy)
      copy_async<16>(to + i, from + i, min(max(valid - i, 0), per_copy) * int(sizeof(Value)));
  } else {
    for (int i = 0; i < 4; ++i)
      copy_async<sizeof(Value)>(to + i, from + i, i < valid ? sizeof(Value) : 0);
  }
}

/// From (x, y) on, x a multiple of four. A thread keeps the same four columns of one row for every
/// matrix, so that it computes only once which of them exist.
template <class E, int threads, int matrices, int row_count, int units, int pitch, int stride>
__device__ void stage(typename E::Value* to, const Source& from, int x, int y, int thread) {
  using In = typename E::In;
  constexpr int places = row_count * units, at_once = threads / places ? threads / places : 1;
#pragma unroll
  for (int first = 0; first < at_once * places; first += threads) {
    const int index = first + thread, place = index % places;
    if (index >= at_once * places) return;
    const int unit = place % units, row = place / units, column = x + 4 * unit;
    const bool inside = unsigned(y + row) < unsigned(from.size.height) && column >= 0;
    const int valid = inside ? min(max(from.size.width - column, 0), 4) : 0;
    const int first_matrix = index / places;
    const std::byte* source = from.first + first_matrix * from.stride + (y + row) * from.pitch +
                              column * std::int64_t{sizeof(In)};
    typename E::Value* target = to + (first_matrix * stride + row * pitch + unit) * 4;
#pragma unroll 4
    for (int m = first_matrix; m < matrices; m += at_once) {
      stage_four<E>(target, reinterpret_cast<const In*>(source), m < from.count ? valid : 0,
                    from.aligned);
      source += at_once * from.stride;
      target += at_once * stride * 4;
    }
  }
}

}  // namespace xcorr::cuda
