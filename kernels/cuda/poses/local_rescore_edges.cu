// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the edges of warped templates at the places near the expected ones on the GPU: a
// block a tile of an image, which adds its sums to those of the try; the last block computes the
// scores.
#include "cuda/common/resident.cuh"
#include "cuda/poses/rescoring.cuh"
#include "cuda/poses/warped_edges.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using OfEdges = Rescoring<edge_planes>;

constexpr int threads = OfEdges::threads;
static_assert(OfEdges::sum_count <= threads);
constexpr int blocks = 3;  ///< on a multiprocessor

/// A tile is made, then compared, in the same memory.
template <class Tile>
union Memory {
  typename Tile::Whole edges;
  std::uint8_t strip[OfEdges::bytes(Tile::side / 4, Tile::side)];
};

/// Copies a plane of a tile of that size to a strip, where its edges count, and adds their sums.
template <class Tile>
__device__ void fill_strip(const Tile& tile, int plane, Size size, const OfEdges::Strip& strip,
                           u32* sums) {
  const int pitch = 4 * strip.words;
  u32 mine[3] = {};
  for (int i = threadIdx.x; i < pitch * strip.rows; i += threads) {
    const int x = i % pitch, y = i / pitch;
    const bool counts = x < size.width && y < size.height;
    const u32 value = counts ? tile.at(plane, x, y) : 0;
    strip.image[i] = static_cast<std::uint8_t>(value);
    strip.mask[i] = counts ? 0xff : 0;
    mine[OfEdges::counted] += counts;
    mine[OfEdges::right_sum] += value;
    mine[OfEdges::right_squares] += value * value;
  }
  OfEdges::add_warp(mine, sums);
}

/// `tiles`: of the largest image.
template <class Tile, int sources>
__global__ void __launch_bounds__(threads, resident_blocks(blocks, 2))
    local_rescore_edges(stage::LocalRescore::Problem p, stage::LocalRescore::Buffers b,
                        bool minimum, int tiles, unsigned* block_counters,
                        unsigned long long* totals) {
  static_assert(Tile::threads == threads);
  __shared__ Memory<Tile> memory;
  __shared__ Tile tile;
  __shared__ OfEdges::Sums sums;
  __shared__ OfEdges::Totals all;
  __shared__ RescoredTry rescored;
  wait_for_previous();
  const WarpedEdgeSource from{p.pyramid, b.pixels, b.mask, p.edges};
  const Size one = Tile::size(p.edges.level);
  const int tries = p.tries(), count = *b.candidate_count * tries;
  for (int item = blockIdx.x; item < count * tiles; item += gridDim.x) {
    const int index = item / tiles, number = item % tiles;
    const stage::LocalRescore::Try tried =
        stage::LocalRescore::try_of(p, b, index / tries, index % tries);
    if (!tried.exists) {
      if (number == 0 && threadIdx.x == 0) b.found[index] = {};
      continue;
    }
    if (threadIdx.x == 0) rescored = RescoredTry::of(p, b, tried);
    if (threadIdx.x < OfEdges::sum_count) sums[threadIdx.x] = 0;
    __syncthreads();
    const Size image{rescored.map.width, rescored.map.height},
        own = Tile::tiles(image, p.edges.level);
    if (number < own.width * own.height) {
      const int column = number % own.width, row = number / own.width;
      const int left = column * one.width, top = row * one.height;
      const Size size{min(one.width, image.width - left), min(one.height, image.height - top)};
      tile.template make<sources>(from, rescored.map, column, row, memory.edges);
      const auto strip = OfEdges::Strip::in(memory.strip, (size.width + 3) / 4, size.height);
      XCORR_ROLL
      for (int plane = 0; plane < edge_planes; ++plane) {
        u32* const of_plane = sums + plane * OfEdges::of_plane;
        fill_strip(tile, plane, size, strip, of_plane);
        OfEdges::load_frame(p, b.frame + plane * p.plane, rescored.left + left, rescored.top + top,
                            strip);
        __syncthreads();
        OfEdges::compare(strip, of_plane);
        __syncthreads();
      }
      unsigned long long* const of_try = totals + std::int64_t{index} * OfEdges::sum_count;
      if (add_up(sums, of_try, &block_counters[index], own.width * own.height, all) &&
          threadIdx.x < 32)
        OfEdges::find(p, minimum, rescored, all, b.found[index]);
    }
    __syncthreads();  // the next tile overwrites what is shared
  }
}

template <class Tile>
std::int64_t items_of(const stage::LocalRescore::Problem& p) {
  return std::int64_t{p.count} * p.tries() * Tile::tiles(p.most, p.edges.level).area();
}

template <class Tile>
Status launch_by(const stage::LocalRescore::Problem& p, const Device& device,
                 const stage::LocalRescore::Buffers& b, PlanState* state) {
  const auto& totals = *static_cast<const RescoringTotals*>(state);
  const auto kernel =
      p.edges.sources == 1 ? local_rescore_edges<Tile, 1> : local_rescore_edges<Tile, color_planes>;
  return enqueue_early(device, "local_rescore_edges", kernel, dim3(grid_extent(items_of<Tile>(p))),
                       dim3(threads), 0, b.stream, p, b, info(p.method).minimum,
                       static_cast<int>(Tile::tiles(p.most, p.edges.level).area()),
                       totals.block_counters(), totals.totals());
}

/// Small tiles take less time each and more in all: for few.
Status launch(const stage::LocalRescore::Problem& p, const Device& device,
              const stage::LocalRescore::Buffers& b, PlanState* state) {
  using Large = WarpedEdgeTile<5>;
  using Small = WarpedEdgeTile<4>;
  return items_of<Large>(p) > std::int64_t{blocks} * device.multiprocessors
             ? launch_by<Large>(p, device, b, state)
             : launch_by<Small>(p, device, b, state);
}

bool supports(const stage::LocalRescore::Problem& p, const Device&) {
  return p.edges.made && p.planes == edge_planes &&
         (p.edges.sources == 1 || p.edges.sources == color_planes);
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore_edges",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.supports = supports, .launch = launch, .plan = RescoringTotals::make}},
};

}  // namespace

Family local_rescore_edges_family() { return Family(table); }

}  // namespace xcorr::cuda
