// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The sum of products over one overlap, by a group of threads (a warp, a block) that divide its
// elements among themselves: shared by the families whose worker is larger than a thread. Each
// thread gets a partial sum; the family adds those.
#pragma once

#include "cuda/common/overlap.cuh"

namespace xcorr::cuda {

/// The elements of both matrices of a pair that meet at one shift, or some rows of them.
template <class E>
struct Overlap {
  const std::byte *left, *right;  ///< the first elements that meet
  std::int64_t left_pitch, right_pitch;
  int width, height;  ///< not positive where nothing meets

  /// Moves on to other elements.
  __device__ void advance(std::int64_t left_bytes, std::int64_t right_bytes) {
    left += left_bytes;
    right += right_bytes;
  }
  /// Of the current elements.
  __device__ typename E::Row product() const {
    using In = typename E::In;
    using Row = typename E::Row;
    return Row(*reinterpret_cast<const In*>(left)) * Row(*reinterpret_cast<const In*>(right));
  }
};

/// Rows `rows` (of the right) of the overlap at shift (dx, dy).
template <class E>
__device__ Overlap<E> overlap_of(const Problem& p, const std::byte* lefts, const std::byte* rights,
                                 const Pair& pair, int dx, int dy, Span rows) {
  const Span columns = overlap(dx, p.left.width, p.right.width);
  const auto left = matrix<E>(lefts, pair.left, p.left_stride, p.left_pitch);
  const auto right = matrix<E>(rights, pair.right, p.right_stride, p.right_pitch);
  return {reinterpret_cast<const std::byte*>(left.row(rows.begin + dy) + columns.begin + dx),
          reinterpret_cast<const std::byte*>(right.row(rows.begin) + columns.begin),
          p.left_pitch,
          p.right_pitch,
          columns.end - columns.begin,
          rows.end - rows.begin};
}

/// Thread `rank` of `size`: the elements rank, rank + size, ... of the overlap's rows taken one
/// after the other. No thread idles before the last step, but each has to handle the ends of rows.
/// The step is always the same, so this takes a single division.
template <int size, class E>
__device__ typename E::Out serial_sum(Overlap<E> o, int rank) {
  typename E::Out sum = 0;
  if (o.width <= 0 || o.height <= 0) return sum;
  constexpr int element = sizeof(typename E::In);
  const int step_rows = size / o.width, step_columns = size % o.width;
  const std::int64_t left_step = step_rows * o.left_pitch + step_columns * element,
                     right_step = step_rows * o.right_pitch + step_columns * element;
  const std::int64_t left_wrap = o.left_pitch - std::int64_t{o.width} * element,
                     right_wrap = o.right_pitch - std::int64_t{o.width} * element;
  const int row = rank / o.width;
  int column = rank % o.width;
  o.advance(row * o.left_pitch + column * element, row * o.right_pitch + column * element);
  // Counted beforehand, so that the loads of several steps can be in flight together.
  const int steps = static_cast<int>((std::int64_t{o.width} * o.height - rank + size - 1) / size);
#pragma unroll 4
  for (int step = 0; step < steps; ++step) {
    sum += o.product();
    column += step_columns;
    const bool wraps = column >= o.width;
    if (wraps) column -= o.width;
    o.advance(left_step + (wraps ? left_wrap : 0), right_step + (wraps ? right_wrap : 0));
  }
  return sum;
}

/// Thread `rank` of `size`: the columns rank, rank + size, ... from the first row to the last.
/// Loads are aligned to rows and indices are simple, but threads idle where the width is not a
/// multiple of `size`.
template <int size, class E>
__device__ typename E::Out column_sum(const Overlap<E>& o, int rank) {
  typename E::Out sum = 0;
  for (int column = rank; column < o.width; column += size) {
    Overlap<E> at = o;
    at.advance(column * sizeof(typename E::In), column * sizeof(typename E::In));
#pragma unroll 4
    for (int row = 0; row < o.height; ++row) {
      sum += at.product();
      at.advance(o.left_pitch, o.right_pitch);
    }
  }
  return sum;
}

}  // namespace xcorr::cuda
