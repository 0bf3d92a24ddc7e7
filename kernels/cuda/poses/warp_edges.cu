// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges of warped templates on the GPU, a block a tile of an image; then their sums, a block an
// image.
#include "cuda/common/block_sums.cuh"
#include "cuda/poses/warped_edges.cuh"
#include "stages/match/score.hpp"

namespace xcorr::cuda {
namespace {

using Tile = WarpedEdgeTile<5>;
constexpr int threads = Tile::threads;

template <int sources>
__global__ void __launch_bounds__(threads, 1)
    warp_edges(stage::WarpTemplate::Problem p, stage::WarpTemplate::Buffers b, Size tiles) {
  __shared__ Tile::Whole memory;
  __shared__ Tile tile;
  const WarpedEdgeSource from{p.pyramid, static_cast<const std::uint8_t*>(b.pixels), b.mask,
                              p.edges};
  const Size one = Tile::size(p.edges.level);
  const int of_image = tiles.width * tiles.height;
  for (int item = blockIdx.x; item < p.count * of_image; item += gridDim.x) {
    const int image = item / of_image, column = item % tiles.width,
              row = item % of_image / tiles.width;
    const WarpMap map = b.maps[image];
    const int left = column * one.width, top = row * one.height;
    if (left < map.width && top < map.height) tile.make<sources>(from, map, column, row, memory);
    for (int i = threadIdx.x; i < one.width * one.height; i += threads) {
      const int u = i % one.width, v = i / one.width, x = left + u, y = top + v;
      if (x >= p.most.width || y >= p.most.height) continue;
      // Past an image's size there is no edge.
      const bool is_inside = x < map.width && y < map.height;
      const std::int64_t at = image * p.most.area() + std::int64_t{y} * p.most.width + x;
      for (int plane = 0; plane < edge_planes; ++plane)
        static_cast<std::uint8_t*>(b.images)[plane * p.edges.plane + at] =
            is_inside ? tile.at(plane, u, v) : std::uint8_t{no_edge};
      b.masks[at] = is_inside;
    }
    __syncthreads();  // the next tile overwrites what is shared
  }
}

constexpr int sum_threads = 256;

__global__ void __launch_bounds__(sum_threads)
    sum_edges(stage::WarpTemplate::Problem p, stage::WarpTemplate::Buffers b) {
  using Sum = unsigned long long;
  for (int image = blockIdx.x; image < p.count; image += gridDim.x) {
    const WarpMap map = b.maps[image];
    const auto* const from = static_cast<const std::uint8_t*>(b.images) + image * p.most.area();
    Sum totals[2] = {};
    for (int i = threadIdx.x; i < map.width * map.height; i += sum_threads) {
      const Sum value = from[std::int64_t{i / map.width} * p.most.width + i % map.width];
      totals[0] += value;
      totals[1] += value * value;
    }
    block_sums<sum_threads / 32>(totals);
    if (threadIdx.x == 0) {
      const std::int64_t counted = std::int64_t{map.width} * map.height, sum = totals[0],
                         squares = totals[1];
      b.sums[image] = {
          {double(sum), double(squares), double(n2_covariance(counted, squares, sum, sum))},
          double(counted)};
    }
  }
}

Status launch(const stage::WarpTemplate::Problem& p, const Device&,
              const stage::WarpTemplate::Buffers& b, PlanState*) {
  const Size tiles = Tile::tiles(p.most, p.edges.level);
  const auto kernel = p.edges.sources == 1 ? warp_edges<1> : warp_edges<color_planes>;
  if (Status s = enqueue("warp_edges", kernel, dim3(grid_extent(p.count * tiles.area())),
                         dim3(threads), 0, b.stream, p, b, tiles);
      !s.ok())
    return s;
  return enqueue("sum_edges", sum_edges, dim3(grid_extent(p.count)), dim3(sum_threads), 0, b.stream,
                 p, b);
}

bool supports(const stage::WarpTemplate::Problem& p, const Device&) {
  return p.edges.made && p.shift_u == 0 && p.shift_v == 0 &&
         (p.edges.sources == 1 || p.edges.sources == color_planes);
}

constexpr Variant<stage::WarpTemplate> table[] = {
    {{.name = "warp_edges",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family warp_edges_family() { return Family(table); }

}  // namespace xcorr::cuda
