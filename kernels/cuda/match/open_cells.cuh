// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second pass of a search in colour whose parts are cells (part_bounds.cuh): what is open is
// mostly one cell, in which a cluster of blocks finds the peak and refines it. So all that follows
// the products of the lead plane is one small kernel. What counts in it is how many instructions
// follow each other: most are executed once.
#pragma once

#include "cuda/common/cluster.cuh"
#include "cuda/match/part_bounds.cuh"

namespace xcorr::cuda {

/// So many open cells of a template at most are a cluster's, which takes each of them longer than
/// all blocks would.
constexpr unsigned most_of_cluster = 24;
/// The same of a single block. In the CPU emulation, too, so that small problems leave some over.
constexpr unsigned most_of_block = 2;

/// Of the time of a search of all planes what that of so many open cells takes, row by row: a
/// window takes some twelve times as long.
__device__ inline float share_of_rows(unsigned open, int cells) {
  return 12.0f * static_cast<float>(open) / static_cast<float>(cells);
}
/// Whether they are searched so, rather than the blocks that have one.
__device__ inline bool are_few(unsigned open, int cells) {
  return share_of_rows(open, cells) <= 0.5f;
}

/// Of the cells of a launch's rights the greatest squares of scores that may be there, right by
/// right; 0 where a cell has no window.
struct CellBounds {
  float* of;  ///< null: nothing is known
  int cells;

  __device__ float* of_right(int right) const { return of + std::int64_t{right} * cells; }
};

/// Where window sums of all planes are to be, if only the lead's exist, see
/// stage::Search::Problem::lead_sums_only; null: all do.
struct MissingSums {
  u32 *sums, *squares;
  unsigned* templates;  ///< how many are left to kernels that need those of all windows
};

/// A row of a cell's windows and one at each side, in shared memory.
struct RowSums {
  static constexpr int planes = color_planes, windows = rim_cell;
  u32 products[windows];  ///< over all planes
  u32 sums[planes][windows], squares[planes][windows];

  __device__ WindowOf<planes> window(int k) const {
    WindowOf<planes> w{};
#pragma unroll
    for (int c = 0; c < planes; ++c) {
      w.sums[c] = sums[c][k];
      w.squares += squares[c][k];
    }
    return w;
  }
};

/// Makes it of a template and the windows from (x0, y) on, by all threads of a block; sums are of
/// whole windows, without a mask, and only made if asked for. Ends with a barrier. Not inlined:
/// what calls it has few registers left, or does so three times.
static __device__ __attribute__((noinline)) void sum_row(const CellInputs& from, bool with_sums,
                                                         int right, int x0, int y, RowSums& row) {
  constexpr int windows = RowSums::windows;
  const Problem& p = from.problem.correlate;
  const int words_across = ceil_div(p.right.width, 4), words = words_across * p.right.height,
            each = ceil_div(words, 32), all = color_planes * each,
            warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32;
  auto* const counted = reinterpret_cast<u32*>(&row);
  for (int i = threadIdx.x; i < static_cast<int>(sizeof(RowSums) / sizeof(u32)); i += blockDim.x)
    counted[i] = 0;
  __syncthreads();
  u32 products[windows] = {};
  const int end = (warp + 1) * all / warps;
#pragma unroll 1
  for (int piece = warp * all / warps; piece < end;) {
    const int plane = piece / each, stop = min(end, (plane + 1) * each);
    u32 sums[windows] = {}, squares[windows] = {};
#pragma unroll 2
    for (; piece < stop; ++piece) {
      const int i = (piece - plane * each) * 32 + static_cast<int>(threadIdx.x) % 32;
      if (i >= words) continue;
      const int j = i / words_across, column = 4 * (i - j * words_across),
                past = max(column + 4 - p.right.width, 0);
      const u32 in_window = ~0u >> 8 * past, ones = 0x01010101u & in_window;
      u32 four[1];
      load_words(from.template_row(right, plane, j), column, p.right.width, four);
      for_words_beside<windows>(from.frame_row(right, plane, p.shifts.y + y + j),
                                p.shifts.x + x0 + column, p.left.width, [&](int k, u32 word) {
                                  products[k] = __dp4a(word, four[0], products[k]);
                                  sums[k] = __dp4a(word, ones, sums[k]);
                                  squares[k] = __dp4a(word, word & in_window, squares[k]);
                                });
    }
    if (!with_sums) continue;
    for_warp_sums(sums, [&](int k, u32 sum) { atomicAdd(&row.sums[plane][k], sum); });
    for_warp_sums(squares, [&](int k, u32 sum) { atomicAdd(&row.squares[plane][k], sum); });
  }
  for_warp_sums(products, [&](int k, u32 sum) { atomicAdd(&row.products[k], sum); });
  __syncthreads();
}

/// The key of this thread's window of the row, if it is the cell's; 0: below the limit, or none.
/// `own_sums`: whether the row has the windows' sums.
__device__ inline Key key_in_row(const ScorerOf<color_planes>& scorer, bool own_sums, int width,
                                 int x0, int y, const RowSums& row) {
  const int k = static_cast<int>(threadIdx.x), x = x0 + k;
  if (k < 1 || k > cell || x < 0 || x >= width) return 0;
  const auto index = static_cast<unsigned>(y) * width + x;
  return scorer.key(row.products[k], own_sums ? row.window(k) : scorer.window(index), index);
}

/// Calls take(key) for what reaches the limit in open cells, in one of `shares` of their rows. By
/// all threads of a block.
template <class Take>
__device__ void search_rows(const CellInputs& from, const ScorerOf<color_planes>& scorer,
                            bool own_sums, int right, const int* open, unsigned count,
                            unsigned share, unsigned shares, RowSums& row, Take take) {
  const Rect shifts = from.problem.correlate.shifts;
#pragma unroll 1
  for (unsigned i = share; i < cell * count; i += shares) {
    const int place = open[i / cell], x0 = from.cells.x(place) - 1,
              y = from.cells.y(place) + static_cast<int>(i % cell);
    if (y >= shifts.height) continue;
    sum_row(from, own_sums, right, x0, y, row);
    if (const Key key = key_in_row(scorer, own_sums, shifts.width, x0, y, row)) take(key);
    __syncthreads();  // before the row is overwritten
  }
}

constexpr int cluster_threads = 512, cluster_blocks = 8;

/// What a block of a cluster has in shared memory.
struct OfBlock {
  Key best;  ///< what it has found
  RowSums row;
};

/// What all blocks of a cluster put into the shared memory of each, or of the first.
struct OfCluster {
  Key promising[cluster_blocks];  ///< of each block the greatest bound, and its cell
  Key tried[cluster_blocks], best[cluster_blocks];
  // In the first block's memory:
  unsigned count;  ///< of open cells besides the one that promises most
  int cells[most_of_cluster];
  RowSums rows[cell];  ///< of that one, or, the first three, round the best window
};

/// The greatest of the blocks' keys, `mine` being this one's first thread's. Waits for all threads
/// of the cluster, as sync() does; a barrier is to precede. `keys`: shared; each is used once.
__device__ inline Key greatest_of(const Cluster& cluster, Key mine, Key (&keys)[cluster_blocks]) {
  if (threadIdx.x == 0)
    for (int block = 0; block < cluster.size; ++block)
      *cluster.in_block(&keys[cluster.rank], block) = mine;
  cluster.sync();
  Key greatest = 0;
  for (int block = 0; block < cluster.size; ++block) greatest = max(greatest, keys[block]);
  return greatest;
}

/// Of this block's share of the cells the greatest bound in its upper half, and the cell's number;
/// for the first thread. Ends with a barrier.
__device__ inline Key most_promising(const Cluster& cluster, const float* bounds, int cells) {
  __shared__ Key of_warps[cluster_threads / 32];
  Key mine = 0;
#pragma unroll 4
  for (int place = cluster.rank * cluster_threads + static_cast<int>(threadIdx.x); place < cells;
       place += cluster.size * cluster_threads)
    mine = max(mine, Key{__float_as_uint(bounds[place])} << 32 | static_cast<unsigned>(place));
  mine = best_of_warp({mine, 0}).key;
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x < 32)
    mine = best_of_warp({threadIdx.x < cluster_threads / 32 ? of_warps[threadIdx.x] : 0, 0}).key;
  return mine;
}

/// Lists the open cells but one.
__device__ inline void list_open_cells(const Cluster& cluster, const float* bounds, int cells,
                                       int but, float limit, int* open, OfCluster& of_cluster) {
  const int lane = threadIdx.x % 32;
#pragma unroll 4
  for (int first = cluster.rank * cluster_threads; first < cells;
       first += cluster.size * cluster_threads) {
    const int place = first + static_cast<int>(threadIdx.x);
    const bool is_open = place < cells && place != but && may_hold(bounds[place], limit);
    const unsigned mask = __ballot_sync(~0u, is_open);
    if (!mask) continue;
    unsigned at = lane == 0 ? atomicAdd(&of_cluster.count, __popc(mask)) : 0;
    at = __shfl_sync(~0u, at, 0) + __popc(mask & ((1u << lane) - 1));
    if (!is_open) continue;
    if (at < most_of_cluster) of_cluster.cells[at] = place;
    open[at] = place;
  }
}

/// Finds and refines a template's peak in its open cells. Where these are too many, leaves the list
/// of those that are not searched yet and the best key so far; else a count of 0. Grid: a cluster a
/// right.
static __global__ void __launch_bounds__(cluster_threads, 1)
    settle_open_cells(const __grid_constant__ CellInputs from, int rights, CellBounds bounds,
                      OpenParts open, MissingSums missing, BestPeaks to) {
  using Refining = BestRefinement<cluster_threads, color_planes>;
  __shared__ typename Refining::Shared refined;
  __shared__ OfBlock block;
  __shared__ OfCluster own;
  const Cluster cluster;
  const int right = cluster.index(), index = from.first_right + right,
            t = static_cast<int>(threadIdx.x);
  if (right >= rights) return;  // code without clusters, on a device that has them
  const Rect shifts = from.problem.correlate.shifts;
  OfCluster& first = *cluster.in_block(&own, 0);
  RowSums& row = block.row;
  const auto take = [&](Key key) { atomicMax(&block.best, key); };
  const bool is_first = cluster.rank == 0 && t == 0, own_sums = missing.sums;
  // Puts a row into the first block's memory.
  const auto hand_over = [&](int number) {
    constexpr int words = sizeof(RowSums) / sizeof(u32);
    if (t < words)
      reinterpret_cast<u32*>(&first.rows[number])[t] = reinterpret_cast<const u32*>(&row)[t];
  };
  if (t == 0) block.best = own.count = 0;
  ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  let_next_begin();
  wait_for_previous();
  cluster.sync();

  const float* const of_right = bounds.of_right(right);
  const Key promising =
      greatest_of(cluster, most_promising(cluster, of_right, bounds.cells), own.promising);
  const bool tries = may_hold(__uint_as_float(promising >> 32), scorer.limit);
  const int trial = tries ? static_cast<int>(promising) : -1, x0 = from.cells.x(trial) - 1,
            y0 = from.cells.y(trial);
  if (tries) {
#pragma unroll 1
    for (int r = cluster.rank; r < min(cell, shifts.height - y0); r += cluster.size) {
      sum_row(from, own_sums, right, x0, y0 + r, row);
      hand_over(r);
      if (const Key key = key_in_row(scorer, own_sums, shifts.width, x0, y0 + r, row)) take(key);
      __syncthreads();  // before the row is overwritten
    }
  }
  Key key = greatest_of(cluster, block.best, own.tried);
  if (key) scorer.raise(score_of(key, false));
  list_open_cells(cluster, of_right, bounds.cells, trial, scorer.limit,
                  open.parts + std::int64_t{right} * bounds.cells, first);
  cluster.sync();
  const unsigned count = *static_cast<const volatile unsigned*>(&first.count);
  const bool leaves = count > (cluster.size > 1 ? most_of_cluster : most_of_block);
  if (is_first) {
    open.counts[right] = leaves ? count : 0;
    to.best[right] = leaves ? key : 0;
    if (leaves && missing.sums) atomicAdd(missing.templates, 1);
  }
  if (leaves) return cluster.sync();  // the first block's memory is still read
  if (count > 0) {
    search_rows(from, scorer, own_sums, right, first.cells, count, cluster.rank, cluster.size, row,
                take);
    key = greatest_of(cluster, block.best, own.best);
  }

  const Candidate at = candidate_of(key, false, shifts.width);
  if (is_first) {
    to.record(key, at, index);
    if (to.open_shares) to.open_shares[index] = 0;
  }
  // The rows round the best window, if they are not there: there are three of that cell's own.
  int above = at.y - 1 - y0, before = at.x - 1 - x0;
  const bool has_rows = tries && before >= 0 && before < cell && above >= 0 && above + 2 < cell;
  if (key && !has_rows) {
    above = before = 0;
#pragma unroll 1
    for (int r = cluster.rank; r < 3; r += cluster.size) {
      sum_row(from, own_sums, right, at.x - 1, min(max(at.y - 1 + r, 0), shifts.height - 1), row);
      hand_over(r);
      __syncthreads();  // before the row is overwritten
    }
  }
  cluster.sync();
  if (!key || cluster.rank > 0) return;
  const int dx = t % 3, dy = t / 3, x = at.x + dx - 1, y = at.y + dy - 1;
  const RowSums& around = own.rows[above + min(dy, 2)];
  if (missing.sums && t < places && x >= 0 && x < shifts.width && y >= 0 && y < shifts.height) {
#pragma unroll
    for (int c = 1; c < color_planes; ++c) {
      const std::int64_t window =
          c * windows_of(from.problem.correlate) + std::int64_t{y} * shifts.width + x;
      missing.sums[window] = around.sums[c][before + dx];
      missing.squares[window] = around.squares[c][before + dx];
    }
  }
  if (!to.peaks) return;
  __syncthreads();
  Refining refining(from.problem, from, index, at, refined);
  refining.place(t < places ? around.products[before + dx] : 0, false, Polarity::same,
                 to.peaks[index]);
}

}  // namespace xcorr::cuda
