// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges of warped templates by a block, tile by tile: the template is warped at full size, its
// edges are made, without those near what does not count, and halved, all in shared memory.
#pragma once

#include "cuda/image/edge_tile.cuh"
#include "cuda/poses/warped_part.cuh"
#include "stages/poses/pyramid_down.hpp"

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
    const int across = level > log2_side ? 1 << (level - log2_side) : 1;  // and down
    if (threadIdx.x == 0) {
      whole_ = from.edges.at_full_size(map);
      places_ =
          WarpedPlaces(WarpedTemplate(from.pyramid, from.pixels, from.mask, whole_.level), whole_);
    }
    __syncthreads();
    XCORR_ROLL
    for (int part = 0; part < across * across; ++part) {
      const int x = part % across, y = part / across;
      make_whole<sources>(from, (column * across + x) * side, (row * across + y) * side, memory);
      halve(min(level, log2_side), log2_side);
      if (across == 1) return;
      // What is left of a tile of full size: a pixel.
      if (threadIdx.x < edge_planes) parts_[threadIdx.x][y][x] = at(threadIdx.x, 0, 0);
      __syncthreads();
    }
    XCORR_ROLL
    for (int i = threadIdx.x; i < edge_planes * across * across; i += threads) {
      const int plane = i / (across * across), x = i % across, y = i / across % across;
      full_[plane][y * side + x] = parts_[plane][y][x];
    }
    __syncthreads();
    halve(level - log2_side, level - log2_side);
  }

  /// What has been made.
  __device__ std::uint8_t at(int plane, int x, int y) const { return made(plane)[y * side + x]; }
  /// Pixels 4 x to 4 x + 3 of a row that is so wide, as numbers with signs in a word: no_edge is 0,
  /// and so is what lies past the image.
  __device__ std::uint32_t numbers(int plane, int x, int y, int width) const {
    const std::uint32_t word =
        reinterpret_cast<const std::uint32_t*>(made(plane))[y * (side / 4) + x];
    return (word ^ edge_signs) & (width < 4 ? (1u << 8 * width) - 1 : ~0u);
  }

 private:
  static constexpr int most_halvings = 8, most_parts = 1 << (most_halvings - log2_side);
  static_assert(most_parts <= side);
  static constexpr int reach = 2 * edge_radius;

  __device__ const std::uint8_t* made(int plane) const {
    return made_ == 0 ? full_[plane] : halved_[plane];
  }

  /// Of full size, from (left, top) on.
  template <int sources>
  __device__ void make_whole(const WarpedEdgeSource& from, int left, int top, Whole& memory) {
    const auto read = [&](int plane, auto bring) {
      const WarpedTemplate pixels(from.pyramid, from.pixels + plane * from.pyramid.area(),
                                  from.mask, whole_.level);
      for_warped_part(pixels, whole_, places_, left, top, {Whole::columns, Whole::rows},
                      [&](auto pixel_at) {
                        bring([&](int x, int y) {
                          const WarpedPixel<std::uint8_t> pixel = pixel_at(x, y);
                          if (plane == 0)
                            set_counts(x, y, pixel.counts);  // of all planes the same ones do
                          return pixel.value;
                        });
                      });
      if (plane > 0) return;
      __syncthreads();
      if (threadIdx.x < side) all_count_[threadIdx.x] = all_count_in(threadIdx.x);
    };
    memory.template make<sources>(
        from.edges.rule, read, [&](int x, int y) { return all_count_[y] >> x & 1; },
        [&](int x, int y, Edge edge) {
          full_[0][y * side + x] = edge.x;
          full_[1][y * side + x] = edge.y;
        });
    if (threadIdx.x == 0) made_ = 0;
    __syncthreads();
  }

  /// Called by a whole warp, whose lanes have 8 x 4 pixels of the part: whether each counts.
  __device__ void set_counts(int x, int y, bool counts) {
    static_assert(Whole::columns % 8 == 0 && Whole::rows % 4 == 0, "warps have whole tiles");
    static_assert(Whole::columns <= 8 * sizeof(counts_[0]) && side <= 32, "a bit a pixel, a place");
    const unsigned of_warp = __ballot_sync(~0u, counts);
    if (x % 8 == 0) counts_[y][x / 8] = static_cast<std::uint8_t>(of_warp >> 8 * (y % 4));
  }
  /// A bit for each place of a row of the tile: whether all counts that has a part in its edge.
  __device__ std::uint32_t all_count_in(int y) const {
    std::uint64_t all = ~std::uint64_t{0};
#pragma unroll
    for (int k = 0; k <= reach; ++k) all &= *reinterpret_cast<const std::uint64_t*>(counts_[y + k]);
    // Of a run of 2, 4, 8, 9 pixels.
    std::uint64_t run = all & all >> 1;
    run &= run >> 2;
    run &= run >> 4;
    static_assert(reach == 8);
    return static_cast<std::uint32_t>(run & all >> reach);
  }

  /// So often what is 2^log2_of pixels wide and high.
  __device__ void halve(int times, int log2_of) {
    XCORR_ROLL
    for (int k = 0; k < times; ++k) {
      --log2_of;
      const bool odd = k % 2;
      for (int i = threadIdx.x; i < edge_planes << 2 * log2_of; i += threads) {
        const int plane = i >> 2 * log2_of, x = i & ((1 << log2_of) - 1),
                  y = i >> log2_of & ((1 << log2_of) - 1);
        const std::uint8_t* const upper = (odd ? halved_[plane] : full_[plane]) + 2 * y * side;
        (odd ? full_[plane] : halved_[plane])[y * side + x] =
            pyramid_down_pixel(upper, upper + side, x);
      }
      if (threadIdx.x == 0) made_ = (k + 1) % 2;
      __syncthreads();
    }
  }

  alignas(4) std::uint8_t full_[edge_planes][side * side], halved_[edge_planes][side / 2 * side];
  alignas(8) std::uint8_t counts_[Whole::rows][8];  ///< a bit for each pixel of the part
  std::uint32_t all_count_[side];
  WarpMap whole_;  ///< of the image of full size
  WarpedPlaces places_;
  std::uint8_t parts_[edge_planes][most_parts][most_parts];
  int made_;  ///< which of the two
};

}  // namespace xcorr::cuda
