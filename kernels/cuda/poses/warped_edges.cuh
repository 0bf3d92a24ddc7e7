// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges of warped templates by a block, tile by tile: the template is warped at full size, its
// edges are made, without those near what does not count, and halved, all in shared memory.
#pragma once

#include "cuda/common/row_words.cuh"
#include "cuda/image/edge_tile.cuh"
#include "stages/poses/pyramid_down.hpp"
#include "stages/poses/warp_template.hpp"

namespace xcorr::cuda {

/// What edges are made of.
struct WarpedEdgeSource {
  TemplatePyramid pyramid;
  const std::uint8_t *pixels, *mask;
  WarpEdges edges;
};

/// A tile of an image of a level.
/// \tparam log2_side  of the tile of full size that it is made of, which is square: what lies round
/// a
///                    turned template costs less than with long ones
template <int log2_side>
class WarpedEdgeTile {
 public:
  static constexpr int side = 1 << log2_side;
  static constexpr int threads = 320;
  using Whole = EdgeTile<side, side, threads, true>;

  /// Its size: what comes of a tile of full size, or a pixel that comes of several.
  __host__ __device__ static Size size(int level) {
    const int one = level < log2_side ? side >> level : 1;
    return {one, one};
  }
  /// How many there are of an image.
  __host__ __device__ static Size tiles(Size image, int level) {
    const Size one = size(level);
    return {ceil_div(image.width, one.width), ceil_div(image.height, one.height)};
  }

  /// Makes tile (column, row) of the image with that map. Called by all threads of the block, which
  /// are there at its end.
  /// \param memory  free for others before and after
  template <int sources>
  __device__ void make(const WarpedEdgeSource& from, const WarpMap& map, int column, int row,
                       Whole& memory) {
    const int level = from.edges.level;
    const WarpMap whole = from.edges.at_full_size(map);
    const int across = level > log2_side ? 1 << (level - log2_side) : 1;  // and down
    XCORR_ROLL
    for (int part = 0; part < across * across; ++part) {
      const int x = part % across, y = part / across;
      make_whole<sources>(from, whole, (column * across + x) * side, (row * across + y) * side,
                          memory);
      halve(min(level, log2_side), side);
      if (across == 1) return;
      // What is left of a tile of full size: a pixel.
      if (threadIdx.x < edge_planes) parts_[threadIdx.x][y][x] = at(threadIdx.x, 0, 0);
      __syncthreads();
    }
    for (int i = threadIdx.x; i < edge_planes * across * across; i += threads) {
      const int plane = i / (across * across), x = i % across, y = i / across % across;
      full_[plane][y * side + x] = parts_[plane][y][x];
    }
    __syncthreads();
    halve(level - log2_side, across);
  }

  /// What has been made.
  __device__ std::uint8_t at(int plane, int x, int y) const {
    return made_ == 0 ? full_[plane][y * side + x] : halved_[plane][y * side + x];
  }

 private:
  static constexpr int most_halvings = 8, most_parts = 1 << (most_halvings - log2_side);
  static_assert(most_parts <= side);
  static constexpr int reach = 2 * edge_radius;

  /// Of full size, from (left, top) on.
  template <int sources>
  __device__ void make_whole(const WarpedEdgeSource& from, const WarpMap& whole, int left, int top,
                             Whole& memory) {
    const auto pixel_at = [&](int plane, int x, int y) {
      std::uint8_t value = 0;
      bool counts = false;
      if (const int u = left + x, v = top + y; u < whole.width && v < whole.height) {
        const WarpedTemplate pixels(from.pyramid, from.pixels + plane * from.pyramid.area(),
                                    from.mask, whole.level);
        const WarpedPixel pixel(
            pixels, whole, {pixels, whole, v}, u, v,
            [](int fraction) { return CubicWeights(fraction); }, ReadWords());
        value = pixel.value;
        counts = pixel.counts;
      }
      counts_[y][x] = counts;
      return value;
    };
    memory.template make<sources>(from.edges.rule, pixel_at, [&](int x, int y, Edge edge) {
      full_[0][y * side + x] = edge.x;
      full_[1][y * side + x] = edge.y;
    });
    // Where all counts that has a part in it.
    for (int i = threadIdx.x; i < Whole::rows * side; i += threads) {
      const int x = i % side, y = i / side;
      bool all = true;
      for (int k = 0; k <= reach; ++k) all = all && counts_[y][x + k];
      rows_count_[y][x] = all;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < side * side; i += threads) {
      const int x = i % side, y = i / side;
      bool all = true;
      for (int k = 0; k <= reach; ++k) all = all && rows_count_[y + k][x];
      if (!all) full_[0][i] = full_[1][i] = no_edge;
    }
    if (threadIdx.x == 0) made_ = 0;
    __syncthreads();
  }

  /// So often what is so many pixels wide and high.
  __device__ void halve(int times, int of) {
    XCORR_ROLL
    for (int k = 0; k < times; ++k) {
      of /= 2;
      const bool odd = k % 2;
      for (int i = threadIdx.x; i < edge_planes * of * of; i += threads) {
        const int plane = i / (of * of), x = i % of, y = i / of % of;
        const std::uint8_t* const upper = (odd ? halved_[plane] : full_[plane]) + 2 * y * side;
        (odd ? full_[plane] : halved_[plane])[y * side + x] =
            pyramid_down_pixel(upper, upper + side, x);
      }
      if (threadIdx.x == 0) made_ = (k + 1) % 2;
      __syncthreads();
    }
  }

  std::uint8_t full_[edge_planes][side * side], halved_[edge_planes][side / 2 * side];
  bool counts_[Whole::rows][Whole::columns], rows_count_[Whole::rows][side];
  std::uint8_t parts_[edge_planes][most_parts][most_parts];
  int made_;  ///< which of the two
};

}  // namespace xcorr::cuda
