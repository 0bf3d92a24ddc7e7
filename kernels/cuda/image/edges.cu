// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the GPU, a block a tile.
#include "cuda/common/resident.cuh"
#include "cuda/image/edge_tile.cuh"

namespace xcorr::cuda {
namespace {

using Tile = EdgeTile<64, 32, 512>;
constexpr int threads = Tile::threads;

__device__ int clamped(int value, int count) { return min(max(value, 0), count - 1); }

/// The tile whose first pixel of the region is (left, top).
template <int planes>
__device__ void make_tile(const stage::Edges::Problem& p, const std::uint8_t* image,
                          const std::uint8_t* mask, std::uint8_t* edges, int left, int top) {
  __shared__ Tile tile;
  const auto read = [&](int plane, auto bring) {
    bring([&](int x, int y) {
      const int u = clamped(p.region.x + left + x - edge_radius, p.size.width);
      const int v = clamped(p.region.y + top + y - edge_radius, p.size.height);
      return image[plane * p.plane + v * p.pitch + u];
    });
  };
  const auto inside = [&](int x, int y) { return x < p.region.width && y < p.region.height; };
  const auto counts = [&](int column, int row) {
    const int x = left + column, y = top + row;
    return !mask || (inside(x, y) && mask[std::int64_t{y} * p.region.width + x]);
  };
  tile.make<planes>(p.rule, read, counts, [&](int column, int row, Edge edge) {
    const int x = left + column, y = top + row;
    if (!inside(x, y)) return;
    std::uint8_t* const to = edges + y * p.edge_pitch + x;
    *to = edge.x;
    to[p.edge_plane] = edge.y;
  });
}

template <int planes>
__global__ void __launch_bounds__(threads, resident_blocks(planes == 1 ? 3 : 2, 2))
    make_edges(stage::Edges::Problem p, const std::uint8_t* image, const std::uint8_t* mask,
               std::uint8_t* edges) {
  wait_for_previous();
  for (int top = blockIdx.y * Tile::high; top < p.region.height; top += gridDim.y * Tile::high)
    make_tile<planes>(p, image, mask, edges, blockIdx.x * Tile::wide, top);
}

Status launch(const stage::Edges::Problem& p, const Device& device, const stage::Edges::Buffers& b,
              PlanState*) {
  const dim3 grid(ceil_div(p.region.width, Tile::wide),
                  grid_extent(ceil_div(p.region.height, Tile::high)));
  const auto kernel = p.planes == color_planes ? make_edges<color_planes> : make_edges<1>;
  return enqueue_early(device, "edges", kernel, grid, dim3(threads), 0, b.stream, p, b.image,
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
