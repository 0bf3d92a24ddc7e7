// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the GPU, a block a tile, whose threads share its pixels. A block reads the pixels of its
// tile and round it to shared memory, adds up columns there, then rows to gradients, marks the
// ridges among those, and writes the edges that are near one. Of several planes each is added up in
// the same memory, and leaves the gradients that are longer than those of the planes before.
#include "cuda/common/launch.cuh"
#include "cuda/common/resident.cuh"
#include "stages/image/edges.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 512, tile_columns = 64, tile_rows = 32;
constexpr int columns = tile_columns + 2 * edge_radius, rows = tile_rows + 2 * edge_radius;
/// Pixels round a tile that have gradients, and those that may be ridges.
constexpr int margin = edge_radius - gradient_radius, reach = margin - 1;
constexpr int gradient_columns = tile_columns + 2 * margin, gradient_rows = tile_rows + 2 * margin;
constexpr int ridge_columns = tile_columns + 2 * reach, ridge_rows = tile_rows + 2 * reach;

__device__ int clamped(int value, int count) { return min(max(value, 0), count - 1); }

/// The tile whose first pixel of the region is (left, top). Ends with all threads there.
template <int planes>
__device__ void make_tile(const stage::Edges::Problem& p, const std::uint8_t* image,
                          const std::uint8_t* mask, std::uint8_t* edges, int left, int top) {
  __shared__ std::uint8_t pixels[rows][columns];
  __shared__ std::int16_t smooth[gradient_rows][columns], slope[gradient_rows][columns];
  __shared__ std::int16_t across[gradient_rows][gradient_columns];
  __shared__ std::int16_t down[gradient_rows][gradient_columns];
  __shared__ std::int32_t squares[gradient_rows][gradient_columns];
  __shared__ bool ridges[ridge_rows][ridge_columns];
  const int thread = threadIdx.x;
  XCORR_ROLL
  for (int plane = 0; plane < planes; ++plane, image += p.plane) {
    for (int i = thread; i < rows * columns; i += threads) {
      const int x = clamped(p.region.x + left + i % columns - edge_radius, p.size.width);
      const int y = clamped(p.region.y + top + i / columns - edge_radius, p.size.height);
      pixels[i / columns][i % columns] = image[y * p.pitch + x];
    }
    __syncthreads();
    for (int i = thread; i < gradient_rows * columns; i += threads) {
      const int x = i % columns, y = i / columns;
      const auto at = [&](int k) { return static_cast<int>(pixels[y + k][x]); };
      smooth[y][x] = static_cast<std::int16_t>(edge_smooth(at));
      slope[y][x] = static_cast<std::int16_t>(edge_slope(at));
    }
    __syncthreads();
    // A gradient is the same thread's in all planes.
    for (int i = thread; i < gradient_rows * gradient_columns; i += threads) {
      const int x = i % gradient_columns, y = i / gradient_columns;
      const int right = edge_slope([&](int k) { return static_cast<int>(smooth[y][x + k]); });
      const int below = edge_smooth([&](int k) { return static_cast<int>(slope[y][x + k]); });
      const int square = right * right + below * below;
      if (plane > 0 && !takes_over(square, squares[y][x])) continue;
      across[y][x] = static_cast<std::int16_t>(right);
      down[y][x] = static_cast<std::int16_t>(below);
      squares[y][x] = square;
    }
  }
  __syncthreads();
  for (int i = thread; i < ridge_rows * ridge_columns; i += threads) {
    const int x = i % ridge_columns, y = i / ridge_columns;
    ridges[y][x] = is_ridge(across[y + 1][x + 1], down[y + 1][x + 1], p.rule,
                            [&](int dx, int dy) { return squares[y + 1 + dy][x + 1 + dx]; });
  }
  __syncthreads();
  for (int i = thread; i < tile_rows * tile_columns; i += threads) {
    const int x = left + i % tile_columns, y = top + i / tile_columns;
    if (x >= p.region.width || y >= p.region.height) continue;
    const int u = i % tile_columns + reach, v = i / tile_columns + reach;
    const bool near_ridge = is_near_ridge([&](int dx, int dy) { return ridges[v + dy][u + dx]; });
    Edge edge{no_edge, no_edge};
    if (!mask || mask[std::int64_t{y} * p.region.width + x])
      edge = edge_of(across[v + 1][u + 1], down[v + 1][u + 1], near_ridge, p.rule);
    std::uint8_t* const to = edges + y * p.edge_pitch + x;
    *to = edge.x;
    to[p.edge_plane] = edge.y;
  }
  __syncthreads();
}

template <int planes>
__global__ void __launch_bounds__(threads, resident_blocks(planes == 1 ? 3 : 2, 2))
    make_edges(stage::Edges::Problem p, const std::uint8_t* image, const std::uint8_t* mask,
               std::uint8_t* edges) {
  for (int top = blockIdx.y * tile_rows; top < p.region.height; top += gridDim.y * tile_rows)
    make_tile<planes>(p, image, mask, edges, blockIdx.x * tile_columns, top);
}

Status launch(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
              PlanState*) {
  const dim3 grid(ceil_div(p.region.width, tile_columns),
                  grid_extent(ceil_div(p.region.height, tile_rows)));
  const auto kernel = p.planes == color_planes ? make_edges<color_planes> : make_edges<1>;
  return enqueue("edges", kernel, grid, dim3(threads), 0, b.stream, p, b.image,
                 p.masked ? b.mask : nullptr, b.edges);
}

bool supports(const stage::Edges::Problem& p, const Device&) {
  return p.planes == 1 || p.planes == color_planes;
}

constexpr Variant<stage::Edges> table[] = {
    {{.name = "edges",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family edges_family() { return Family(table); }

}  // namespace xcorr::cuda
