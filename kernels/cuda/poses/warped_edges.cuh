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
class WarpedEdgeTile {
 public:
  static constexpr int threads = EdgeTile::threads;

  /// Its size: what comes of a tile of full size, or a pixel that comes of several.
  __host__ __device__ static Size size(int level) {
    return {level < log2_wide ? EdgeTile::wide >> level : 1,
            level < log2_high ? EdgeTile::high >> level : 1};
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
                       EdgeTile& memory) {
    const int level = from.edges.level;
    const WarpMap whole = from.edges.at_full_size(map);
    const int across = level > log2_wide ? 1 << (level - log2_wide) : 1,
              down = level > log2_high ? 1 << (level - log2_high) : 1;
    const int halvings = min(level, log2_high);
    XCORR_ROLL
    for (int part = 0; part < across * down; ++part) {
      const int x = part % across, y = part / across;
      make_whole<sources>(from, whole, (column * across + x) * EdgeTile::wide,
                          (row * down + y) * EdgeTile::high, memory);
      halve(halvings, {EdgeTile::wide, EdgeTile::high});
      if (across * down == 1) return;
      // What is left of a tile of full size: a row of two pixels.
      if (threadIdx.x < edge_planes * left_of_part) {
        const int plane = threadIdx.x / left_of_part, i = threadIdx.x % left_of_part;
        parts_[plane][y][left_of_part * x + i] = at(plane, i, 0);
      }
      __syncthreads();
    }
    const int side = 1 << (level - log2_high);
    for (int i = threadIdx.x; i < edge_planes * side * side; i += threads) {
      const int plane = i / (side * side), x = i % side, y = i / side % side;
      full_[plane][y * EdgeTile::wide + x] = parts_[plane][y][x];
    }
    __syncthreads();
    halve(level - log2_high, {side, side});
  }

  /// What has been made.
  __device__ std::uint8_t at(int plane, int x, int y) const {
    return made_ == 0 ? full_[plane][y * EdgeTile::wide + x]
                      : halved_[plane][y * EdgeTile::wide + x];
  }

 private:
  static constexpr int log2_wide = 6, log2_high = 5;
  static_assert(EdgeTile::wide == 1 << log2_wide && EdgeTile::high == 1 << log2_high);
  static constexpr int most_halvings = 8, left_of_part = EdgeTile::wide >> log2_high,
                       most_parts = 1 << (most_halvings - log2_high);
  static constexpr int reach = 2 * edge_radius;

  /// Of full size, from (left, top) on.
  template <int sources>
  __device__ void make_whole(const WarpedEdgeSource& from, const WarpMap& whole, int left, int top,
                             EdgeTile& memory) {
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
    memory.make<sources>(from.edges.rule, pixel_at, [&](int x, int y, Edge edge) {
      full_[0][y * EdgeTile::wide + x] = edge.x;
      full_[1][y * EdgeTile::wide + x] = edge.y;
    });
    // Where all counts that has a part in it.
    for (int i = threadIdx.x; i < EdgeTile::rows * EdgeTile::wide; i += threads) {
      const int x = i % EdgeTile::wide, y = i / EdgeTile::wide;
      bool all = true;
      for (int k = 0; k <= reach; ++k) all = all && counts_[y][x + k];
      rows_count_[y][x] = all;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < EdgeTile::high * EdgeTile::wide; i += threads) {
      const int x = i % EdgeTile::wide, y = i / EdgeTile::wide;
      bool all = true;
      for (int k = 0; k <= reach; ++k) all = all && rows_count_[y + k][x];
      if (!all) full_[0][i] = full_[1][i] = no_edge;
    }
    if (threadIdx.x == 0) made_ = 0;
    __syncthreads();
  }

  /// So often what is of that size.
  __device__ void halve(int times, Size of) {
    XCORR_ROLL
    for (int k = 0; k < times; ++k) {
      of = {of.width / 2, of.height / 2};
      const bool odd = k % 2;
      const int area = of.width * of.height;
      for (int i = threadIdx.x; i < edge_planes * area; i += threads) {
        const int plane = i / area, x = i % area % of.width, y = i % area / of.width;
        const std::uint8_t* const upper =
            (odd ? halved_[plane] : full_[plane]) + 2 * y * EdgeTile::wide;
        (odd ? full_[plane] : halved_[plane])[y * EdgeTile::wide + x] =
            pyramid_down_pixel(upper, upper + EdgeTile::wide, x);
      }
      if (threadIdx.x == 0) made_ = (k + 1) % 2;
      __syncthreads();
    }
  }

  std::uint8_t full_[edge_planes][EdgeTile::high * EdgeTile::wide];
  std::uint8_t halved_[edge_planes][EdgeTile::high / 2 * EdgeTile::wide];
  bool counts_[EdgeTile::rows][EdgeTile::columns], rows_count_[EdgeTile::rows][EdgeTile::wide];
  std::uint8_t parts_[edge_planes][most_parts][most_parts];
  int made_;  ///< which of the two
};

}  // namespace xcorr::cuda
