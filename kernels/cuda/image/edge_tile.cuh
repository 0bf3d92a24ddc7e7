// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tile of edges by a block, whose threads share its pixels: it brings the pixels of the tile and
// round it to shared memory, adds up columns there, then rows to gradients, marks the ridges among
// those, and finds the edges that are near one. Of several planes each is added up in the same
// memory, and leaves the gradients that are longer than those of the planes before.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/tiles.cuh"
#include "stages/image/edges.hpp"

namespace xcorr::cuda {

/// \tparam turned  its pixels are read at any angle, see for_tiles()
template <int wide_, int high_, int threads_, bool turned = false>
class EdgeTile {
 public:
  static constexpr int threads = threads_, wide = wide_, high = high_;
  /// The pixels that are read.
  static constexpr int columns = wide + 2 * edge_radius, rows = high + 2 * edge_radius;

  /// Calls put(x, y, edge) for each place of the tile, by the thread whose place it is. Ends with
  /// all threads there.
  /// \param pixel_at  the pixel of a plane at (x, y) of those that are read, each once
  template <int planes, class PixelAt, class Put>
  __device__ void make(const EdgeRule& rule, PixelAt pixel_at, Put put) {
    const int thread = threadIdx.x;
    XCORR_ROLL
    for (int plane = 0; plane < planes; ++plane) {
      const auto bring = [&](int x, int y) { pixels_[y][x] = pixel_at(plane, x, y); };
      if constexpr (turned)
        for_tiles({columns, rows}, thread / 32, threads / 32, bring);
      else
        for (int i = thread; i < rows * columns; i += threads) bring(i % columns, i / columns);
      __syncthreads();
      for (int i = thread; i < gradient_rows * columns; i += threads) {
        const int x = i % columns, y = i / columns;
        const auto at = [&](int k) { return static_cast<int>(pixels_[y + k][x]); };
        smooth_[y][x] = static_cast<std::int16_t>(edge_smooth(at));
        slope_[y][x] = static_cast<std::int16_t>(edge_slope(at));
      }
      __syncthreads();
      // A gradient is the same thread's in all planes.
      for (int i = thread; i < gradient_rows * gradient_columns; i += threads) {
        const int x = i % gradient_columns, y = i / gradient_columns;
        const int right = edge_slope([&](int k) { return static_cast<int>(smooth_[y][x + k]); });
        const int below = edge_smooth([&](int k) { return static_cast<int>(slope_[y][x + k]); });
        const int square = right * right + below * below;
        if (plane > 0 && !takes_over(square, squares_[y][x])) continue;
        across_[y][x] = static_cast<std::int16_t>(right);
        down_[y][x] = static_cast<std::int16_t>(below);
        squares_[y][x] = square;
      }
    }
    __syncthreads();
    for (int i = thread; i < ridge_rows * ridge_columns; i += threads) {
      const int x = i % ridge_columns, y = i / ridge_columns;
      ridges_[y][x] = is_ridge(across_[y + 1][x + 1], down_[y + 1][x + 1], rule,
                               [&](int dx, int dy) { return squares_[y + 1 + dy][x + 1 + dx]; });
    }
    __syncthreads();
    for (int i = thread; i < high * wide; i += threads) {
      const int u = i % wide + reach, v = i / wide + reach;
      const bool near_ridge =
          is_near_ridge([&](int dx, int dy) { return ridges_[v + dy][u + dx]; });
      put(i % wide, i / wide,
          edge_of(across_[v + 1][u + 1], down_[v + 1][u + 1], near_ridge, rule));
    }
    __syncthreads();
  }

 private:
  /// Pixels round a tile that have gradients, and those that may be ridges.
  static constexpr int margin = edge_radius - gradient_radius, reach = margin - 1;
  static constexpr int gradient_columns = wide + 2 * margin, gradient_rows = high + 2 * margin;
  static constexpr int ridge_columns = wide + 2 * reach, ridge_rows = high + 2 * reach;

  std::uint8_t pixels_[rows][columns];
  std::int16_t smooth_[gradient_rows][columns], slope_[gradient_rows][columns];
  std::int16_t across_[gradient_rows][gradient_columns];
  std::int16_t down_[gradient_rows][gradient_columns];
  std::int32_t squares_[gradient_rows][gradient_columns];
  bool ridges_[ridge_rows][ridge_columns];
};

}  // namespace xcorr::cuda
