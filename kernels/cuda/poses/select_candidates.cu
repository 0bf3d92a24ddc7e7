// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The selection of candidates on the GPU. There are many keys and few are wanted, so most are left
// out first, in parallel: the frame is cut into tiles at least as wide as what a candidate stands
// for. Of tiles that lie a tile apart the best keys are no two the same candidate, nor is any one
// candidate the same as two of them. So if `most` of them reach a key, as many candidates do, and
// what is below is not wanted. The rest is sorted and walked by one block.
#include "cuda/common/last_block.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/poses/choice.cuh"
#include "stages/poses/coarse_search.hpp"

namespace xcorr::cuda {
namespace {

constexpr int tiled_threads = 256, images_of_block = 16, most_compared = 256;
constexpr int log2_tiles_of_block = 3, tiles_of_block = 1 << log2_tiles_of_block;
constexpr int threads = 512, chunk = 256;

/// Squares of cells.
struct Tiles {
  int log2_side, columns, rows;

  explicit Tiles(const stage::SelectCandidates::Problem& p) : log2_side(1) {
    const CoarseCells cells = p.cells();
    const auto grow = [&] {
      columns = ceil_div(cells.columns, side());
      rows = ceil_div(cells.rows, side());
    };
    // Twice a place spans 2 * CoarseCells::side in a cell.
    for (grow(); side() * CoarseCells::side < p.choice.near || compared() > most_compared; grow())
      ++log2_side;
  }
  __host__ __device__ int side() const { return 1 << log2_side; }
  __host__ __device__ int count() const { return columns * rows; }
  /// Those in columns and rows of even number.
  __host__ __device__ int compared() const { return ((columns + 1) / 2) * ((rows + 1) / 2); }
  __device__ int compared_tile(int i) const {
    const int across = (columns + 1) / 2;
    return 2 * (i / across) * columns + 2 * (i % across);
  }
  dim3 grid(int images) const {
    return dim3(ceil_div(columns, tiles_of_block), rows, ceil_div(images, images_of_block));
  }
};

/// What the kernels share. The best keys of tiles and the length of the list are 0 between
/// launches.
struct Lists {
  unsigned long long* of_tiles;
  unsigned *count, *block_counter;
  CoarseKey *keys, *least;
  void* walk;

  Lists(const stage::SelectCandidates::Problem& p, void* workspace, unsigned* zeros)
      : of_tiles(reinterpret_cast<unsigned long long*>(zeros)),
        count(zeros + 2 * Tiles(p).count()),
        block_counter(count + 1),
        keys(static_cast<CoarseKey*>(workspace)),
        least(keys + p.keys()),
        walk(least + 1) {}
  static std::size_t bytes(const stage::SelectCandidates::Problem& p) {
    return (p.keys() + 1) * sizeof(CoarseKey) + PoseWalk::bytes(p.choice.most);
  }
  static std::int64_t zeros(const stage::SelectCandidates::Problem& p) {
    return 2 * Tiles(p).count() + 2;
  }
};

/// Calls visit(key) for the ranked keys of a block's tiles and images, a thread for those of one
/// tile.
template <class Visit>
__device__ void for_keys(const stage::SelectCandidates::Problem& p,
                         const stage::SelectCandidates::Buffers& b, const Tiles& tiles,
                         Visit visit) {
  const CoarseCells cells = p.cells();
  const int log2_width = log2_tiles_of_block + tiles.log2_side, width = 1 << log2_width,
            column = blockIdx.x * width + (threadIdx.x & (width - 1));
  if (column >= cells.columns) return;
  const int first = blockIdx.z * images_of_block, count = min(images_of_block, p.images - first)
                                                          << tiles.log2_side;
#pragma unroll 4
  for (int i = threadIdx.x >> log2_width; i < count; i += tiled_threads >> log2_width) {
    const int image = first + (i >> tiles.log2_side),
              row = (blockIdx.y << tiles.log2_side) + (i & (tiles.side() - 1));
    if (row >= cells.rows) continue;
    const CoarseKey key = b.best[(std::int64_t{image} * cells.rows + row) * cells.columns + column];
    visit(b.searched[image] ? stage::SelectCandidates::ranked(key, b.sources[image]) : 0);
  }
}

/// Finds the least key that is wanted, by one block.
__device__ void find_least(const PoseChoice& choice, const Tiles& tiles, const Lists& lists) {
  __shared__ CoarseKey compared[most_compared];
  const int count = tiles.compared(), i = threadIdx.x;
  static_assert(most_compared <= tiled_threads);
  if (i < count)
    compared[i] =
        *static_cast<volatile unsigned long long*>(&lists.of_tiles[tiles.compared_tile(i)]);
  if (i == 0) *lists.least = 1;
  __syncthreads();
  if (i >= count || !compared[i]) return;
  int better = 0;
#pragma unroll 8
  for (int k = 0; k < count; ++k) better += compared[k] > compared[i];
  if (better == choice.most - 1) *lists.least = compared[i];
}

__global__ void __launch_bounds__(tiled_threads)
    best_of_tiles(stage::SelectCandidates::Problem p, stage::SelectCandidates::Buffers b,
                  Tiles tiles, Lists lists) {
  __shared__ unsigned long long best[tiles_of_block];
  if (threadIdx.x < tiles_of_block) best[threadIdx.x] = 0;
  __syncthreads();
  wait_for_previous();
  unsigned long long mine = 0;
  for_keys(p, b, tiles, [&](CoarseKey key) {
    if (key > mine) mine = key;
  });
  const int sharing = min(tiles.side(), 32);  // lanes side by side, of a tile
  for (int step = 1; step < sharing; step *= 2) {
    const unsigned long long other = __shfl_xor_sync(~0u, mine, step);
    if (other > mine) mine = other;
  }
  if (mine && threadIdx.x % sharing == 0)
    atomicMax(&best[(threadIdx.x >> tiles.log2_side) % tiles_of_block], mine);
  __syncthreads();
  const int column = blockIdx.x * tiles_of_block + threadIdx.x;
  if (threadIdx.x < tiles_of_block && column < tiles.columns && best[threadIdx.x])
    atomicMax(&lists.of_tiles[blockIdx.y * tiles.columns + column], best[threadIdx.x]);
  __syncthreads();
  if (is_last_block(lists.block_counter, gridDim.x * gridDim.y * gridDim.z))
    find_least(p.choice, tiles, lists);
}

__global__ void __launch_bounds__(tiled_threads)
    list_wanted(stage::SelectCandidates::Problem p, stage::SelectCandidates::Buffers b, Tiles tiles,
                Lists lists) {
  wait_for_previous();
  const CoarseKey least = *lists.least;
  const int column = blockIdx.x * tiles_of_block + threadIdx.x;
  const bool wanted = threadIdx.x < tiles_of_block && column < tiles.columns &&
                      lists.of_tiles[blockIdx.y * tiles.columns + column] >= least;
  if (!__syncthreads_or(wanted)) return;
  for_keys(p, b, tiles, [&](CoarseKey key) {
    if (key >= least && similarity_of(key) >= p.choice.least)
      lists.keys[atomicAdd(lists.count, 1u)] = key;
  });
}

constexpr int log2_digits = 8, digits = 1 << log2_digits;

/// The least digit so that no more than `chunk` have it or a higher one, and how many have;
/// `digits` and 0 where too many have the highest. By a warp.
__device__ void find_digit(const int (&histogram)[digits], int& digit, int& taken) {
  constexpr int share = digits / 32;
  const int lane = threadIdx.x % 32, end = digits - lane * share;  // the highest first
  int own = 0;
#pragma unroll
  for (int i = 1; i <= share; ++i) own += histogram[end - i];
  int upto = warp_scan(own) - own;
  if (lane == 0) {
    digit = digits;
    taken = 0;
  }
  __syncwarp();
#pragma unroll
  for (int i = 1; i <= share; ++i) {
    upto += histogram[end - i];
    const bool is_least = end - i == 0 || upto + histogram[end - i - 1] > chunk;
    if (upto > chunk || !is_least) continue;
    digit = end - i;
    taken = upto;
  }
}

/// Calls visit(key) for all of the list, by the whole block, which reads some at once.
template <class Visit>
__device__ void for_list(const CoarseKey* keys, int count, Visit visit) {
  constexpr int at_once = 4;
  for (int i = threadIdx.x; i < count; i += at_once * threads) {
    CoarseKey some[at_once];
#pragma unroll
    for (int k = 0; k < at_once; ++k) some[k] = i + k * threads < count ? keys[i + k * threads] : 0;
#pragma unroll
    for (int k = 0; k < at_once; ++k)
      if (some[k]) visit(some[k]);
  }
}

/// The least key so that no more than `chunk` of the list are from it up to below `end`; none is
/// below `least`. The keys between are counted in equal parts, the highest of which has all above,
/// too, then those of the highest part that has any, if they are too many. Called by the whole
/// block.
__device__ CoarseKey begin_of_chunk(const CoarseKey* keys, int count, CoarseKey least,
                                    CoarseKey end) {
  const CoarseKey above_scores = coarse_key(2, 0);
  __shared__ int histogram[digits];
  __shared__ int digit, taken;
  for (;;) {
    const CoarseKey top = end > above_scores && least < above_scores ? above_scores : end;
    const int shift = max(64 - __clzll(static_cast<long long>(top - 1 - least)) - log2_digits, 0);
    for (int i = threadIdx.x; i < digits; i += threads) histogram[i] = 0;
    __syncthreads();
    for_list(keys, count, [&](CoarseKey key) {
      if (key < least || key >= end) return;
      atomicAdd(&histogram[min((key - least) >> shift, CoarseKey{digits - 1})], 1);
    });
    __syncthreads();
    if (threadIdx.x < 32) find_digit(histogram, digit, taken);
    __syncthreads();
    // Keys differ, so a part of one ends it at the latest.
    const CoarseKey begin = least + (static_cast<CoarseKey>(digit) << shift);
    if (digit == 0 || taken > 0) return begin;
    least = begin - (CoarseKey{1} << shift);
    if (digit < digits) end = min(end, begin);
    __syncthreads();  // all have read what is overwritten
  }
}

/// Whether there is shared memory for what the walk needs.
__host__ __device__ bool has_shared_walk(const stage::SelectCandidates::Problem& p) {
  return PoseWalk::bytes(p.choice.most) <= 16 * 1024;
}

__global__ void __launch_bounds__(threads, 1)
    select_candidates(stage::SelectCandidates::Problem p, stage::SelectCandidates::Buffers b,
                      int tiles, Lists lists) {
  PoseCandidate* const candidates = dynamic_shared<PoseCandidate>();
  auto* const sorted = reinterpret_cast<CoarseKey*>(candidates + chunk);
  __shared__ int sorted_count;
  wait_for_previous();
  const int count = static_cast<int>(*lists.count);
  const CoarseCells cells = p.cells();
  const PoseWalk::Output to{b.candidates, b.candidate_count, nullptr};
  PoseWalk walk(p.choice, p.steps, p.level, has_shared_walk(p) ? sorted + chunk : lists.walk);
  const CoarseKey least = *lists.least;
  CoarseKey end = ~CoarseKey{0};
  for (int left = count; left > 0;) {
    const CoarseKey begin = left <= chunk ? 0 : begin_of_chunk(lists.keys, count, least, end);
    if (threadIdx.x == 0) sorted_count = 0;
    __syncthreads();
    for_list(lists.keys, count, [&](CoarseKey key) {
      if (key >= begin && key < end) sorted[atomicAdd(&sorted_count, 1)] = key;
    });
    __syncthreads();
    sort_by_block(sorted, sorted_count, CoarseKey{0},
                  [](CoarseKey a, CoarseKey b) { return a > b; });
    for (int i = threadIdx.x; i < sorted_count; i += threads)
      candidates[i] = stage::SelectCandidates::candidate_of(sorted[i], cells, b.sources);
    __syncthreads();
    if (!walk.go_on(
            sorted_count, [&](int i) { return candidates[i]; }, to))
      break;
    left -= sorted_count;
    end = begin;
    __syncthreads();  // all have read the count
  }
  walk.end({}, to);
  if (threadIdx.x == 0) *lists.count = 0;
  for (int i = threadIdx.x; i < tiles; i += threads) lists.of_tiles[i] = 0;
}

std::size_t workspace(const stage::SelectCandidates::Problem& p, const Device&) {
  return Lists::bytes(p);
}

Result<std::unique_ptr<PlanState>> plan(const stage::SelectCandidates::Problem& p, const Device&) {
  return BlockCounters::make(Lists::zeros(p));
}

Status launch(const stage::SelectCandidates::Problem& p, const Device& device,
              const stage::SelectCandidates::Buffers& b, PlanState* state) {
  const Tiles tiles(p);
  const Lists lists(p, b.workspace, static_cast<const BlockCounters*>(state)->counters());
  if (Status s = enqueue_early(device, "best_of_tiles", best_of_tiles, tiles.grid(p.images),
                               dim3(tiled_threads), 0, b.stream, p, b, tiles, lists);
      !s.ok())
    return s;
  if (Status s = enqueue_early(device, "list_wanted", list_wanted, tiles.grid(p.images),
                               dim3(tiled_threads), 0, b.stream, p, b, tiles, lists);
      !s.ok())
    return s;
  const std::size_t bytes = chunk * (sizeof(PoseCandidate) + sizeof(CoarseKey)) +
                            (has_shared_walk(p) ? PoseWalk::bytes(p.choice.most) : 0);
  return enqueue_early(device, "select_candidates", select_candidates, dim3(1), dim3(threads),
                       bytes, b.stream, p, b, tiles.count(), lists);
}

/// A block's tiles are at most as wide as it has threads.
bool supports(const stage::SelectCandidates::Problem& p, const Device&) {
  const Tiles tiles(p);
  return tiles_of_block * tiles.side() <= tiled_threads && tiles.rows <= 65535 &&
         p.keys() < INT32_MAX;
}

constexpr Variant<stage::SelectCandidates> table[] = {
    {{.name = "select_candidates", .backend = Backend::cuda, .features = Feature::u8},
     {.supports = supports, .launch = launch, .workspace = workspace, .plan = plan}},
};

}  // namespace

Family select_candidates_family() { return Family(table); }

}  // namespace xcorr::cuda
