// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernel of tensor_match.cuh: from 8-bit pixels to candidates without a surface. A block's sums
// of products (tensor_block.cuh) are scored in shared memory, and of each cell of 8 x 8 shifts only
// the best one is written, if it reaches the limit. A conservative test in single precision rejects
// most shifts; the rest get the quotient of score.hpp, so that candidates equal those of the
// separate stages to the last bit. With one peak per template the best of all is the result, which
// the last block of a template also refines, unless the template is large; with more, the cells'
// best ones lead to them (cell_peaks.cuh). In colour bounds by one plane may leave out most windows
// (part_bounds.cuh).
#pragma once

#include "cuda/common/last_block.cuh"
#include "cuda/common/resident.cuh"
#include "cuda/match/angular_bound.cuh"
#include "cuda/match/best_peak.cuh"
#include "cuda/match/cell_peaks.cuh"
#include "cuda/match/open_cells.cuh"
#include "cuda/tensor/tensor_warpgroups.cuh"
#include "cuda/tensor/tensor_warps.cuh"

namespace xcorr::cuda::tensor_match_kernel {

__device__ inline Key better(Key a, Key b) { return a > b ? a : b; }

/// Over groups of 8 lanes, or over all 32.
template <int lanes>
__device__ Key best_of(Key key) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) key = better(key, __shfl_xor_sync(~0u, key, step));
  return key;
}

template <int lanes>
__device__ float largest_of(float value) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2)
    value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

template <class T>
Cells cells_of(const Problem& p) {
  const dim3 grid = tensor_grid<T>(p, 1);
  return {static_cast<int>(grid.x) * T::columns() / cell,
          static_cast<int>(grid.y) * T::rows() / cell, skew_of(p)};
}

/// What a launch leaves. With several peaks per template `best` has the best key of each of its
/// cells, with one that of all, which the template's last block turns into the candidate.
struct Found : BestPeaks {
  unsigned* block_counters;  ///< of each template
  unsigned* found;           ///< lengths of the lists, zeroed here
  CellBounds bounds;
  OpenParts open;         ///< what settle_open_cells() has left
  unsigned* open_blocks;  ///< of each template, where bounds are known; 0 before and after
};

/// Whether the search refines its candidates: where one block does so sooner than another kernel
/// would. Its warps take one piece of the template after the other, each in about 0.2 us.
template <class T>
bool refines(const stage::Search::Problem& p) {
  constexpr int max_pieces = 8;
  const Size right = p.correlate.right;
  return p.max_peaks == 1 && p.correlate.planes * ceil_div(right.width, 32) *
                                     ceil_div(right.height, refined_rows * T::threads() / 32) <=
                                 max_pieces;
}

/// Merges the best keys of this block's threads with those of the template's other blocks.
template <class T, int planes>
__device__ void finish_right(const CellInputs& from, int right, Key mine, const Found& to) {
  const bool any = __syncthreads_or(mine != 0);
  if (any) {
    mine = best_of<32>(mine);
    if (threadIdx.x % 32 == 0 && mine) {
      atomicMax(&to.best[right], mine);
      __threadfence();
    }
    __syncthreads();
  }
  const unsigned blocks = gridDim.x * gridDim.y;
  if (!is_last_block(&to.block_counters[right], blocks, any)) return;
  if (planes == color_planes && to.bounds.of && threadIdx.x == 0) {
    const unsigned open = atomicExch(&to.open_blocks[right], 0), left = to.open.count(right);
    // One block alone takes most of the time of all.
    constexpr float least = 0.7f;
    if (to.open_shares)
      to.open_shares[from.first_right + right] =
          are_few(left, to.bounds.cells)
              ? share_of_rows(left, to.bounds.cells)
              : fmaxf(static_cast<float>(open) / static_cast<float>(blocks), least);
  }
  settle_right<T::threads(), planes>(from.problem, from.minimum, from, right, from.first_right, to);
}

/// The windows of eight rows in a lane's column.
template <int planes>
using Column = WindowOf<planes>[cell];

/// Bounds of the square of the score that may be greatest. Below 0: none may reach the limit.
struct ScoreBounds {
  float low, high;
};

/// The windows of a block, whose sums of products are in shared memory, by groups of eight rows for
/// a warp. A lane has a column.
template <class T, int planes>
class BlockScores {
 public:
  using Scorer = ScorerOf<planes>;
  Scorer scorer;

  __device__ BlockScores(const Problem& p, Corner corner, const Scorer& scorer_)
      : scorer(scorer_),
        p_(p),
        corner_(corner),
        sums_(corner),
        x_(sums_.x()),
        last_index_(unsigned(p.shifts.width) * p.shifts.height - 1) {}

  __device__ int x() const { return x_; }
  /// A group's number among the warp's, at most 32; and the other way.
  __device__ int number_of(int row) const { return (row - sums_.first_row()) / sums_.step; }
  __device__ int row_of(int number) const { return sums_.first_row() + number * sums_.step; }

  /// Calls take(row, windows) for each of this warp's groups. The loads for sixteen rows are in
  /// flight while eight are scored, unless planes take the registers.
  template <class Take>
  __device__ void for_groups(Take take) const {
    int row = sums_.first_row();
    if constexpr (planes > 1) {
#pragma unroll 1
      for (; row < T::rows(); row += sums_.step) {
        Column<planes> windows;
        ask(row, windows);
        take(row, windows);
      }
    } else {
      Column<planes> windows[2];
      ask(row, windows[0]);
      ask(row + sums_.step, windows[1]);
      for (; row < T::rows(); row += 2 * sums_.step) {
        take(row, windows[0]);
        ask(row + 2 * sums_.step, windows[0]);
        if (row + sums_.step < T::rows()) take(row + sums_.step, windows[1]);
        ask(row + 3 * sums_.step, windows[1]);
      }
    }
  }

  /// Of this lane's windows of a group the best one's; below 0 if none in the warp may reach the
  /// limit.
  __device__ ScoreBounds bounds(int row, const Column<planes>& windows) const {
    typename Scorer::Estimate estimates[cell];
    bool any = false;
#pragma unroll
    for (int r = 0; r < cell; ++r) {
      estimates[r] = scorer.estimate(sums_.at(row, r), windows[r]);
      any |= scorer.may_reach(estimates[r]);
    }
    if (!__any_sync(~0u, any)) return {-1, -1};
    ScoreBounds best{0, 0};
    u32 product = 0;
    WindowOf<planes> window{};
#pragma unroll
    for (int r = 0; r < cell; ++r) {
      const float high = scorer.high(estimates[r], windows[r]);
      if (r >= count_at(row) || !(high > best.high)) continue;
      best.high = high;
      product = sums_.at(row, r);
      window = windows[r];
    }
    best.low = best.high > 0 ? scorer.low(product, window) : 0;
    return best;
  }

  /// Of this lane's windows of a group the greatest square of a score that may be there; below 0
  /// if there are none.
  __device__ float highest(int row, const Column<planes>& windows) const {
    float most = -1;
#pragma unroll
    for (int r = 0; r < cell; ++r)
      if (r < count_at(row))
        most = fmaxf(most, scorer.high(scorer.estimate(sums_.at(row, r), windows[r]), windows[r]));
    return most;
  }

  /// The best of this lane's windows of a group. Quotients are exact but slow: only of those that
  /// by their bounds may be as good as `low`. So what is on the frame hardly changes the time.
  __device__ Key best_of_group(int row, float low) const {
    Key key = 0;
#pragma unroll 1
    for (int r = 0; r < count_at(row); ++r) {
      const unsigned index = first_index(row) + r * p_.shifts.width;
      const u32 product = sums_.at(row, r);
      const WindowOf<planes> window = scorer.window(index);
      if (scorer.high(scorer.estimate(product, window), window) >= low)
        key = better(key, scorer.key(product, index));
    }
    return key;
  }

 private:
  __device__ unsigned first_index(int row) const {
    return static_cast<unsigned>(corner_.y + row) * p_.shifts.width + x_;
  }
  /// How many of a group's rows are in the output.
  __device__ int count_at(int row) const {
    const bool inside = x_ >= 0 && x_ < p_.shifts.width;
    return inside ? min(cell, p_.shifts.height - corner_.y - row) : 0;
  }
  /// Loads all of a group at once.
  __device__ void ask(int row, Column<planes>& to) const {
#pragma unroll
    for (int r = 0; r < cell; ++r)
      to[r] = scorer.window(min(first_index(row) + r * p_.shifts.width, last_index_));
  }

  const Problem& p_;
  Corner corner_;
  BlockSums<T> sums_;
  int x_;
  unsigned last_index_;
};

/// With several peaks per template: the best key of each cell.
template <class T, int planes>
__device__ void find_cells(const BlockScores<T, planes>& scores, Corner corner, const Cells& cells,
                           Key* best) {
  scores.for_groups([&](int row, const Column<planes>& windows) {
    Key key = 0;
    if (const ScoreBounds own = scores.bounds(row, windows); own.high >= 0)
      key = best_of<cell>(scores.best_of_group(row, largest_of<cell>(own.low)));
    if (threadIdx.x % cell == 0) best[cells.at(scores.x(), corner.y + row)] = key;
  });
}

/// What other blocks have found is a limit, too: of the square of a score.
template <int planes>
__device__ float known_limit(ScorerOf<planes>& scorer, const Key* best, bool minimum) {
  const Key known = *static_cast<const volatile Key*>(best);
  const float score = known ? score_of(known, minimum) : 0;
  if (known) scorer.raise(score);
  return score > 0 ? 0.999f * score * score : 0;
}

/// All bounds of the block, the best of which is a limit before any quotient is computed. Returns
/// what is possible in the group of this lane's number, below 0 if nothing is.
/// \param block_low  bits of a float: the best lower bound
template <class T, int planes>
__device__ float bound_groups(BlockScores<T, planes>& scores, unsigned& block_low) {
  static_assert(T::rows() <= 32 * BlockSums<T>::step);
  const int lane = threadIdx.x % 32;
  float possible = -1, low = 0;
  scores.for_groups([&](int row, const Column<planes>& windows) {
    const ScoreBounds own = scores.bounds(row, windows);
    if (own.high < 0) return;
    const float high = largest_of<32>(own.high);
    if (lane == scores.number_of(row)) possible = high;
    low = fmaxf(low, largest_of<32>(own.low));
    unsigned of_block = 0;
    if (lane == 0) of_block = atomicMax(&block_low, __float_as_uint(low));
    low = fmaxf(low, __uint_as_float(__shfl_sync(~0u, of_block, 0)));
    if (low > 0) scores.scorer.raise(0.999f * sqrtf(low));  // else the best may be negative
  });
  return possible;
}

/// With one peak per template: the best key in a warp's groups of which more than `low` is
/// possible.
template <class T, int planes>
__device__ Key best_of_groups(BlockScores<T, planes>& scores, bool minimum, float possible,
                              float low) {
  Key best = 0;
  for (unsigned open = __ballot_sync(~0u, possible >= low); open; open &= open - 1) {
    best = better(best, best_of<32>(scores.best_of_group(scores.row_of(__ffs(open) - 1), low)));
    if (best) scores.scorer.raise(score_of(best, minimum));
  }
  return best;
}

/// The first pass of a search in colour, see part_bounds.cuh. Grid: as of tensor_match().
/// \param lacking_sums  see MissingSums::templates: becomes 0
template <class T>
__global__ void __launch_bounds__(T::threads(), resident_blocks(T::blocks, 3))
    bound_blocks(const __grid_constant__ CellInputs from, const std::uint32_t* laid_out,
                 bool aligned, CellBounds to, unsigned* lacking_sums) {
  __shared__ float rest;
  const stage::Search::Problem& problem = from.problem;
  const Problem& p = problem.correlate;
  const Cells& cells = from.cells;
  const int right = from.first_right + static_cast<int>(blockIdx.z), lead = problem.lead_plane;
  const Corner corner{int(blockIdx.x) * T::columns() - cells.skew, int(blockIdx.y) * T::rows()};
  if (threadIdx.x == 0) rest = rest_of_right(problem, from.template_sums, right);
  let_next_begin();
  sum_products<1>(T(), p, from.frame_of(static_cast<int>(blockIdx.z)) + lead * p.left_plane,
                  right + lead * p.rights, laid_out, corner, {0, p.right.height}, aligned);
  const std::int64_t plane = lead * windows_of(p);
  const BlockScores<T, 1> scores(
      p, corner,
      {problem, false, right, from.template_sums + std::int64_t{lead} * p.rights,
       from.window_sums + plane, from.window_squares + plane});
  float* const of_right = to.of_right(static_cast<int>(blockIdx.z));
  wait_for_previous();
  if (threadIdx.x == 0 && blockIdx.x + blockIdx.y + blockIdx.z == 0) *lacking_sums = 0;
  scores.for_groups([&](int row, const Column<1>& windows) {
    const float high = largest_of<cell>(scores.highest(row, windows));
    if (threadIdx.x % cell == 0)
      of_right[cells.at(scores.x(), corner.y + row)] = high < 0 ? 0 : bound_of(rest, high);
  });
}

/// The limit of a template's scores in colour, with what is known. This and the next are not
/// inlined, or the sums would lose registers.
static __device__ __attribute__((noinline)) float open_limit(const CellInputs& from, int right,
                                                             const Key* known) {
  ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  known_limit(scorer, known, false);
  return scorer.limit;
}

/// The best key of this thread in this block's rows of a template's open cells.
static __device__ __attribute__((noinline)) Key best_of_rows(const CellInputs& from, int right,
                                                             const int* open, unsigned count,
                                                             const Key* known) {
  __shared__ RowSums row;
  ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  known_limit(scorer, known, false);
  Key best = 0;
  search_rows(from, scorer, false, right, open, count, blockIdx.y * gridDim.x + blockIdx.x,
              gridDim.x * gridDim.y, row, [&](Key key) { best = better(best, key); });
  return best;
}

/// What settle_open_cells() leaves of a template in colour: this block's rows of open cells, if
/// they are few, whose best key it finds, or the blocks that have one. Returns whether this is such
/// a block: all threads say the same, though other blocks may find something meanwhile.
template <class T>
__device__ bool is_open(const CellInputs& from, int right, unsigned count, const Corner& corner,
                        const Found& to, Key& best) {
  const int cells = to.bounds.cells;
  if (are_few(count, cells)) {
    best = best_of_rows(from, right, to.open.parts + std::int64_t{right} * cells, count,
                        &to.best[right]);
    return false;
  }
  const float limit = open_limit(from, right, &to.best[right]);
  constexpr int across = T::columns() / cell, all = across * (T::rows() / cell);
  bool open = false;
  for (int i = threadIdx.x; i < all; i += T::threads()) {
    const int place = from.cells.at(corner.x + i % across * cell, corner.y + i / across * cell);
    open |= may_hold(to.bounds.of_right(right)[place], limit);
  }
  open = __syncthreads_or(open);
  if (open && threadIdx.x == 0) {
    atomicAdd(&to.open_blocks[right], 1);
    __threadfence();
  }
  return open;
}

/// Several planes are one sum of products.
template <class T, int planes>
__global__ void __launch_bounds__(T::threads(), resident_blocks(T::blocks, 3))
    tensor_match(const __grid_constant__ CellInputs from, const std::uint32_t* laid_out,
                 bool aligned, Share share, Found to) {
  const stage::Search::Problem& problem = from.problem;
  const Problem& p = problem.correlate;
  const int right = share.right(blockIdx.z);
  if (planes == 1 && share.wanted) {
    wait_for_previous();
    if (!share.wanted[right]) return;
  }
  const Corner corner{int(blockIdx.x) * T::columns() - from.cells.skew,
                      int(blockIdx.y) * T::rows()};
  __shared__ unsigned block_low;  // bits of a float
  if (threadIdx.x == 0) block_low = 0;
  const bool minimum = planes != edge_planes && from.minimum;
  Key best = 0;
  bool multiplies = true;
  if constexpr (planes == color_planes)
    if (to.bounds.of) {
      wait_for_previous();
      const unsigned count = to.open.count(right);
      if (count == 0) return;
      multiplies = is_open<T>(from, right, count, corner, to, best);
    }
  if (multiplies) {
    let_next_begin();
    sum_products<planes>(T(), p, from.frame_of(right), from.first_right + right, laid_out, corner,
                         {0, p.right.height}, aligned);

    BlockScores<T, planes> scores(p, corner, from.scorer<planes>(right));
    ScorerOf<planes>& scorer = scores.scorer;
    if (share.which == Share::middles) scorer.lower(share.least_recorded(right));
    wait_for_previous();
    if (planes == 1 && problem.max_peaks > 1) {  // see adds_planes()
      find_cells(scores, corner, from.cells, to.best + right * from.cells.count());
      if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) to.found[right] = 0;
      return;
    }
    known_limit(scorer, &to.best[right], minimum);
    const float possible = bound_groups(scores, block_low);
    __syncthreads();
    const float low =
        fmaxf(__uint_as_float(block_low), known_limit(scorer, &to.best[right], minimum));
    best = best_of_groups(scores, minimum, possible, low);
  }
  finish_right<T, planes>(from, right, best, to);
}

}  // namespace xcorr::cuda::tensor_match_kernel
