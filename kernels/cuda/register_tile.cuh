// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the register_tile family cuts a problem: what a thread, a warp and a block compute, and where
// a stage's pixels lie in shared memory so that a warp's 16-byte loads meet no bank twice.
#pragma once

#include "launch.cuh"

namespace xcorr::cuda {

/// One tuning. A thread computes x * y shifts for each pair of `lefts` and `rights` matrices; the
/// lanes of a warp and the warps of a block lie side by side along the same axes. `share` warps
/// compute the same outputs from different rows, and add them up at the end.
struct Tile {
  int x, y, lefts, rights;
  int lanes_x, lanes_y, lanes_lefts, lanes_rights;
  int share, warps_y, warps_lefts;
  int blocks;       ///< that should fit a multiprocessor: bounds the registers of f32
  int rows;         ///< of a left, staged at a time; a multiple of `share`
  bool every_type;  ///< else f32 only, to keep what is compiled in bounds

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

/// Shared memory in units of four values, the width of a load. A warp's load is served at once when
/// its lanes' units differ modulo 8; pitches and strides are chosen for that: neighbouring rows lie
/// an odd number of units apart, neighbouring matrices as many as there are lanes before them.
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

}  // namespace xcorr::cuda
