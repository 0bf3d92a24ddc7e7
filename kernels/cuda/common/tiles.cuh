// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of an image by tiles of 8 x 4, one warp per tile. What is read for the pixels of a
// tile at any angle lies in few lines of the cache, each of which takes an access of its own; for
// 32 pixels of a row it may lie in as many lines.
#pragma once

#include <xcorr/types.hpp>

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {

/// Calls visit(x, y) for the pixels that fall to this lane of the warp, one of `warps`.
template <class Visit>
__device__ void for_tiles(Size size, int warp, int warps, Visit visit) {
  constexpr int wide = 8, high = 4;
  const int lane = threadIdx.x % 32, across = ceil_div(size.width, wide),
            tiles = across * ceil_div(size.height, high);
  const int rows_on = warps / across, columns_on = warps % across;
  int row = warp / across, column = warp % across;
  for (int tile = warp; tile < tiles; tile += warps) {
    const int x = column * wide + lane % wide, y = row * high + lane / wide;
    if (x < size.width && y < size.height) visit(x, y);
    row += rows_on;
    column += columns_on;
    if (column >= across) {
      column -= across;
      ++row;
    }
  }
}

}  // namespace xcorr::cuda
