// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the edges of warped templates at the places near the expected ones on the GPU: a
// block a tile of an image, which adds its sums to those of the try; the last block computes the
// scores. Edges are taken as the numbers that their bytes stand for, of which no_edge is 0: what
// does not count adds nothing, and both planes add up to one product a place.
#include "cuda/common/resident.cuh"
#include "cuda/poses/rescoring.cuh"
#include "cuda/poses/warped_edges.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int threads = 320, warps_of_row = threads / 32 / rescored_across;
static_assert(threads == 32 * rescored_across * warps_of_row);
constexpr int blocks = 3;  ///< on a multiprocessor

/// Sums of the squares of the template's numbers, and of their products with the frame's at each
/// place.
enum Sum : int { right_squares, of_places, sum_count = of_places + rescored_places };

/// The products of four numbers with four others, added to `sum`.
__device__ int add_products(u32 left, u32 right, int sum) {
  return __dp4a(static_cast<int>(left), static_cast<int>(right), sum);
}

/// The frame's numbers round a tile.
template <class Tile>
struct FrameRows {
  u32 words[edge_planes][(Tile::side + rescored_across - 1) * (Tile::side / 4 + 1)];
};

/// Adds the sums of a tile to `sums`.
template <class Tile>
__device__ void compare(const Tile& tile, int level, const FrameRows<Tile>& frame, int* sums) {
  const int side = Tile::size(level).width, log2_side = __ffs(side) - 1,
            log2_words = max(log2_side - 2, 0), words = 1 << log2_words;
  const int warp = threadIdx.x / 32, down = warp % rescored_across;
  int mine[of_places + rescored_across] = {};
  for (int i = warp / rescored_across * 32 + threadIdx.x % 32;
       i < edge_planes << (log2_side + log2_words); i += 32 * warps_of_row) {
    const int x = i & (words - 1), y = i >> log2_words & (side - 1),
              plane = i >> (log2_words + log2_side);
    const u32 right = tile.numbers(plane, x, y, side);
    const u32* const row = frame.words[plane] + (y + down) * (words + 1) + x;
    const u32 low = row[0], high = row[1];
    if (down == 0) mine[right_squares] = add_products(right, right, mine[right_squares]);
#pragma unroll
    for (int k = 0; k < rescored_across; ++k)
      mine[of_places + k] =
          add_products(k == rescored_across - 1 ? high : __funnelshift_r(low, high, 8 * k), right,
                       mine[of_places + k]);
  }
  static_assert(rescored_across == 5, "the last place is a word further on");
  for_warp_sums(mine, [&](int k, int sum) {
    if (k >= of_places)
      atomicAdd(&sums[k + down * rescored_across], sum);
    else if (down == 0)
      atomicAdd(&sums[k], sum);
  });
}

/// The best of the places from the sums over all tiles, by all lanes of a warp.
__device__ void find(const stage::LocalRescore::Problem& p, const RescoredTry& one,
                     const unsigned long long* sums, RescoredPlace& found) {
  using Int = std::int64_t;
  const auto terms_of = [&](int place) {
    return ScoreTerms<Int>(WindowTerms<Int>{Int{one.map.width} * one.map.height,
                                            Int(sums[of_places + place]), 0, 0, 0,
                                            Int(sums[right_squares])});
  };
  find_best(p, false, one, terms_of, found);
}

/// A block's try, which in registers would leave too few.
struct Own {
  RescoredTry rescored;
  int across, own_tiles;  ///< of its image
};

/// `tiles`: of the largest image.
template <class Tile, int sources>
__global__ void __launch_bounds__(threads, resident_blocks(blocks, 2))
    local_rescore_edges(stage::LocalRescore::Problem p, stage::LocalRescore::Buffers b, int tiles,
                        unsigned* block_counters, unsigned long long* totals) {
  static_assert(Tile::threads == threads);
  __shared__ typename Tile::Whole memory;
  __shared__ Tile tile;
  __shared__ FrameRows<Tile> frame;
  __shared__ int sums[sum_count];
  __shared__ unsigned long long all[sum_count];
  __shared__ Own own;
  auto& [rescored, across, own_tiles] = own;
  wait_for_previous();
  const WarpedEdgeSource from{p.pyramid, b.pixels, b.mask, p.edges};
  const int level = p.edges.level, items = *b.candidate_count * p.tries() * tiles;
  for (int item = blockIdx.x; item < items; item += gridDim.x) {
    const int index = item / tiles, number = item % tiles;
    if (threadIdx.x == 0) {
      rescored = RescoredTry::of(p, b, index);
      const Size image = Tile::tiles({rescored.map.width, rescored.map.height}, level);
      across = image.width;
      own_tiles = image.width * image.height;
      if (number == 0 && !rescored.exists()) b.found[index] = {};
    }
    if (threadIdx.x < sum_count) sums[threadIdx.x] = 0;
    __syncthreads();
    if (number < own_tiles) {
      const int column = number % across, row = number / across;
      const int side = Tile::size(level).width;
      XCORR_ROLL
      for (int plane = 0; plane < edge_planes; ++plane)
        load_rescored(p, b.frame + plane * p.plane, rescored.left + column * side,
                      rescored.top + row * side, ceil_div(side, 4) + 1, side + rescored_across - 1,
                      frame.words[plane], edge_signs);
      tile.template make<sources>(from, rescored.map, column, row, memory);
      compare(tile, level, frame, sums);
      __syncthreads();
      unsigned long long* const of_try = totals + std::int64_t{index} * sum_count;
      if (add_up(sums, of_try, &block_counters[index], own_tiles, all) && threadIdx.x < 32)
        find(p, rescored, all, b.found[index]);
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
                       dim3(threads), 0, b.stream, p, b,
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

Result<std::unique_ptr<PlanState>> plan(const stage::LocalRescore::Problem& p, const Device&) {
  return RescoringTotals::make(p, sum_count);
}

bool supports(const stage::LocalRescore::Problem& p, const Device&) {
  return p.edges.made && p.planes == edge_planes && p.method == Method::orientation &&
         (p.edges.sources == 1 || p.edges.sources == color_planes);
}

constexpr Variant<stage::LocalRescore> table[] = {
    {{.name = "local_rescore_edges",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.supports = supports, .launch = launch, .plan = plan}},
};

}  // namespace

Family local_rescore_edges_family() { return Family(table); }

}  // namespace xcorr::cuda
