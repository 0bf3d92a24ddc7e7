// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Edges on the GPU, a thread a pixel. A block reads the pixels of its tile and round it to shared
// memory, adds up columns there, then each thread the sums of its row.
#include "cuda/common/launch.cuh"
#include "stages/image/edges.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8, threads = threads_x * threads_y;
constexpr int columns = threads_x + 2 * edge_radius, rows = threads_y + 2 * edge_radius;

__device__ int clamped(int value, int count) { return min(max(value, 0), count - 1); }

/// The tile whose first pixel of the region is (left, top). Ends with all threads there.
__device__ void make_tile(const stage::Edges::Problem& p, const std::uint8_t* image,
                          const std::uint8_t* mask, std::uint8_t* edges, int left, int top) {
  __shared__ std::uint8_t pixels[rows][columns];
  __shared__ std::int16_t smooth[threads_y][columns], slope[threads_y][columns];
  const int thread = threadIdx.y * threads_x + threadIdx.x;
  for (int i = thread; i < rows * columns; i += threads) {
    const int x = clamped(p.region.x + left + i % columns - edge_radius, p.size.width);
    const int y = clamped(p.region.y + top + i / columns - edge_radius, p.size.height);
    pixels[i / columns][i % columns] = image[y * p.pitch + x];
  }
  __syncthreads();
  for (int i = thread; i < threads_y * columns; i += threads) {
    const int x = i % columns, y = i / columns;
    const auto at = [&](int k) { return static_cast<int>(pixels[y + k][x]); };
    smooth[y][x] = static_cast<std::int16_t>(edge_smooth(at));
    slope[y][x] = static_cast<std::int16_t>(edge_slope(at));
  }
  __syncthreads();
  const int x = left + threadIdx.x, y = top + threadIdx.y;
  if (x < p.region.width && y < p.region.height) {
    const auto of = [&](const std::int16_t(&sums)[threads_y][columns]) {
      return [&](int k) { return static_cast<int>(sums[threadIdx.y][threadIdx.x + k]); };
    };
    Edge edge{no_edge, no_edge};
    if (!mask || mask[std::int64_t{y} * p.region.width + x])
      edge = edge_of(edge_gradient(edge_slope(of(smooth))), edge_gradient(edge_smooth(of(slope))),
                     p.rule);
    std::uint8_t* const to = edges + y * p.edge_pitch + x;
    *to = edge.x;
    to[p.edge_plane] = edge.y;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(threads)
    make_edges(stage::Edges::Problem p, const std::uint8_t* image, const std::uint8_t* mask,
               std::uint8_t* edges) {
  for (int top = blockIdx.y * threads_y; top < p.region.height; top += gridDim.y * threads_y)
    make_tile(p, image, mask, edges, blockIdx.x * threads_x, top);
}

Status launch(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
              PlanState*) {
  const dim3 grid(ceil_div(p.region.width, threads_x),
                  grid_extent(ceil_div(p.region.height, threads_y)));
  return enqueue("edges", make_edges, grid, dim3(threads_x, threads_y), 0, b.stream, p, b.image,
                 p.masked ? b.mask : nullptr, b.edges);
}

constexpr Variant<stage::Edges> table[] = {
    {{.name = "edges", .backend = Backend::cuda, .features = {Feature::u8, Feature::mask}},
     {.launch = launch}},
};

}  // namespace

Family edges_family() { return Family(table); }

}  // namespace xcorr::cuda
