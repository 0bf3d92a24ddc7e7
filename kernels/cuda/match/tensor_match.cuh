// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the families tensor_match (by warps) and tensor_match_wgmma (by groups of four warps):
// from 8-bit pixels to candidates without a surface. A block's sums of products (tensor_block.cuh)
// are scored in shared memory, and of each cell of 8 x 8 shifts only the best one is written, if it
// reaches the limit. A conservative test in single precision rejects most shifts; the rest get the
// quotient of score.hpp, so that candidates equal those of the separate stages to the last bit.
// With one peak per template the best of all is the result, which the last block of a template also
// refines, unless the template is large; with more, the cells' best ones lead to them
// (cell_peaks.cuh).
#pragma once

#include <array>

#include "cuda/common/tickets.cuh"
#include "cuda/match/cell_peaks.cuh"
#include "cuda/match/refinement.cuh"
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

template <class T>
Cells cells_of(const Problem& p) {
  const dim3 grid = tensor_grid<T>(p, 1);
  return {static_cast<int>(grid.x) * T::columns() / cell,
          static_cast<int>(grid.y) * T::rows() / cell, skew_of(p)};
}

/// What a launch leaves. With several peaks per template: the best key of each of its cells. With
/// one: the best of all, which the template's last block turns into the candidate.
struct Found {
  Key* best;
  unsigned* tickets;  ///< of each template
  Candidate* candidates;
  std::uint32_t* counts;
  RefinedPeak* peaks;  ///< null: candidates are not refined here
  std::uint32_t* peak_counts;
  unsigned* found;  ///< lengths of the lists, zeroed here
};

/// Template rows that a warp takes at a time when refining, 32 columns of them.
constexpr int refined_rows = 8;

/// Whether the search refines its candidates: where one block does so sooner than another kernel
/// would. Its warps take one piece of the template after the other, each in about 0.2 us.
template <class T>
bool refines(const stage::Search::Problem& p) {
  constexpr int max_pieces = 8;
  const Size right = p.correlate.right;
  return p.max_peaks == 1 &&
         ceil_div(right.width, 32) * ceil_div(right.height, refined_rows * T::threads() / 32) <=
             max_pieces;
}

/// Merges the best keys of this block's threads with those of the template's other blocks.
template <class T>
__device__ void finish_right(const stage::Search::Problem& p, bool minimum,
                             const MatchInputs<u32>& from, int right, int first_right, Key mine,
                             const Found& to) {
  const bool any = __syncthreads_or(mine != 0);
  if (any) {
    mine = best_of<32>(mine);
    if (threadIdx.x % 32 == 0 && mine) {
      atomicMax(&to.best[right], mine);
      __threadfence();
    }
    __syncthreads();
  }
  if (!is_last_block(&to.tickets[right], gridDim.x * gridDim.y, any)) return;
  const Key key = *static_cast<volatile Key*>(&to.best[right]);
  const Candidate at = candidate_of(key, minimum, p.correlate.shifts.width);
  const int index = first_right + right;
  __syncthreads();  // all threads have the key
  if (threadIdx.x == 0) {
    to.best[right] = 0;  // for the next frame
    to.counts[index] = key ? 1 : 0;
    if (to.peaks) to.peak_counts[index] = key ? 1 : 0;
    if (key) to.candidates[index] = at;
  }
  if (!key || !to.peaks) return;
  using Refining = Refinement<stage::Search::Problem, T::threads() / 32, u32>;
  // Reuses the memory of the sums.
  Refining refining(p, from, index, at, *dynamic_shared<typename Refining::Shared>());
  refining.place(refining.template product<refined_rows>(0, 1), minimum, Polarity::same,
                 to.peaks[index]);
}

template <class T>
__global__ void __launch_bounds__(T::threads(), T::blocks)
    tensor_match(stage::Search::Problem problem, bool minimum, MatchInputs<u32> from,
                 const std::uint32_t* laid_out, int first_right, bool aligned, Cells cells,
                 Found to) {
  const Problem& p = problem.correlate;
  const Corner corner{int(blockIdx.x) * T::columns() - cells.skew, int(blockIdx.y) * T::rows()};
  const int right = blockIdx.z;
  let_next_begin();
  sum_products(T(), p, from.left + p.left_offset(first_right + right), first_right + right,
               laid_out, corner, {0, p.right.height}, aligned);

  const std::int64_t window = first_window(p, first_right + right);
  Scorer scorer(problem, minimum, from.template_sums[first_right + right],
                from.window_sums + window, from.window_squares + window);
  const BlockSums<T> sums(corner);
  const int x = sums.x(), lane = threadIdx.x % 32;
  const bool inside = x >= 0 && x < p.shifts.width;
  const bool single = problem.max_peaks == 1;
  // The sums of the windows of eight rows in this lane's column, loaded all at once.
  struct Windows {
    u32 sums[cell], squares[cell];
  };
  const auto first_index = [&](int row) {
    return static_cast<unsigned>(corner.y + row) * p.shifts.width + x;
  };
  const auto count_at = [&](int row) {
    return inside ? min(cell, p.shifts.height - corner.y - row) : 0;
  };
  const unsigned last_index = unsigned(p.shifts.width) * p.shifts.height - 1;
  const auto ask = [&](int row) {
    Windows to;
#pragma unroll
    for (int r = 0; r < cell; ++r) {
      const unsigned index = min(first_index(row) + r * p.shifts.width, last_index);
      to.sums[r] = scorer.sums[index];
      to.squares[r] = scorer.squares[index];
    }
    return to;
  };
  Key best = 0;
  const auto score = [&](int row, const Windows& windows) {
    bool open = false;
#pragma unroll
    for (int r = 0; r < cell; ++r)
      open |= scorer.may_reach(sums.at(row, r), windows.sums[r], windows.squares[r]);
    Key key = 0;
    if (__any_sync(~0u, open)) {
      // Quotients are exact but slow: only of those that may be the best of their cell, or with one
      // peak per template of the warp's. So what is on the frame hardly changes the time.
      float low = 0;
#pragma unroll
      for (int r = 0; r < cell; ++r)
        if (r < count_at(row))
          low = fmaxf(low, scorer.bounds(sums.at(row, r), windows.sums[r], windows.squares[r]).low);
#pragma unroll
      for (int step = 1; step < cell; step *= 2) low = fmaxf(low, __shfl_xor_sync(~0u, low, step));
      if (single)
#pragma unroll
        for (int step = cell; step < 32; step *= 2)
          low = fmaxf(low, __shfl_xor_sync(~0u, low, step));
      if (open)
#pragma unroll 1
        for (int r = 0; r < count_at(row); ++r) {
          const unsigned index = first_index(row) + r * p.shifts.width;
          const u32 product = sums.at(row, r);
          if (scorer.bounds(product, scorer.sums[index], scorer.squares[index]).high >= low)
            key = better(key, scorer.key(product, index));
        }
      if (single) {
        best = better(best, best_of<32>(key));
        if (best) scorer.raise(score_of(best, minimum));
      }
    }
    if (!single) {
      key = best_of<cell>(key);
      const int place = ((corner.y + row) / cell) * cells.columns + (x + cells.skew) / cell;
      if (lane % cell == 0) to.best[right * cells.count() + place] = key;
    }
  };
  wait_for_previous();
  // What other blocks have found already.
  if (single)
    if (const Key known = *static_cast<volatile Key*>(&to.best[right]))
      scorer.raise(score_of(known, minimum));
  // The loads for sixteen rows are in flight while eight are scored.
  int row = sums.first_row();
  Windows windows[2] = {ask(row), ask(row + sums.step)};
  for (; row < T::rows(); row += 2 * sums.step) {
    score(row, windows[0]);
    windows[0] = ask(row + 2 * sums.step);
    if (row + sums.step < T::rows()) score(row + sums.step, windows[1]);
    windows[1] = ask(row + 3 * sums.step);
  }
  if (single)
    finish_right<T>(problem, minimum, from, right, first_right, best, to);
  else if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    to.found[right] = 0;
}

// ---- plan and launch ------------------------------------------------------------------------

template <class T>
class MatchState final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Search::Problem& problem,
                                                 const Device& device) {
    auto rights = LaidOutRights<T>::make(problem, device);
    if (!rights.ok()) return rights.status();
    // For each template a ticket and, twice as large, its best key.
    auto tickets = Tickets::make(3 * problem.correlate.total_rights());
    if (!tickets.ok()) return tickets.status();
    return std::unique_ptr<PlanState>(new MatchState(
        std::move(rights.value()), std::move(tickets.value()), problem.correlate.total_rights()));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return rights_->set_rights(rights, stream);
  }
  const std::uint32_t* words() const {
    return static_cast<const LaidOutRights<T>*>(rights_.get())->words();
  }
  /// Both 0 between launches.
  Key* best() const { return reinterpret_cast<Key*>(counters()); }
  unsigned* tickets() const { return counters() + 2 * count_; }

 private:
  MatchState(std::unique_ptr<PlanState> rights, std::unique_ptr<PlanState> tickets,
             std::int64_t count)
      : rights_(std::move(rights)), tickets_(std::move(tickets)), count_(count) {}
  unsigned* counters() const { return static_cast<const Tickets*>(tickets_.get())->counters(); }

  std::unique_ptr<PlanState> rights_, tickets_;
  std::int64_t count_;
};

template <class T>
std::size_t cell_bytes(const stage::Search::Problem& p, int rights) {
  return rights * cells_of<T>(p.correlate).count() * sizeof(Key);
}

/// With several peaks per template: the keys of cells, then the lists.
template <class T>
std::size_t workspace(const stage::Search::Problem& p, const Device&) {
  if (p.max_peaks == 1) return 0;
  return cell_bytes<T>(p, p.max_rights()) +
         PeakLists::bytes(cells_of<T>(p.correlate).count(), p.max_rights());
}

template <class T>
Status launch(const stage::Search::Problem& problem, const Device& device,
              const stage::Search::Buffers& b, PlanState* plan_state) {
  const Problem& p = problem.correlate;
  const auto& state = *static_cast<const MatchState<T>*>(plan_state);
  const bool minimum = info(problem.method).minimum;
  const MatchInputs<u32> from(b);
  const Cells cells = cells_of<T>(p);
  const bool single = problem.max_peaks == 1;
  auto* const keys = static_cast<Key*>(b.workspace);
  auto* const behind =
      static_cast<std::byte*>(b.workspace) + (single ? 0 : cell_bytes<T>(problem, b.right_count));
  const PeakLists lists(cells.count(), behind, b.right_count);
  const Found to{single ? state.best() + b.first_right : keys,
                 state.tickets() + b.first_right,
                 b.candidates,
                 b.counts,
                 refines<T>(problem) ? b.peaks : nullptr,
                 b.peak_counts,
                 lists.found};
  const dim3 blocks = tensor_grid<T>(p, b.right_count);
  const std::size_t bytes =
      spreading_bytes(device, blocks, T::shared_bytes(p.right.width, p.right.height));
  if (Status s = enqueue_early(device, "tensor_match", tensor_match<T>, blocks, dim3(T::threads()),
                               bytes, b.stream, problem, minimum, from, state.words(),
                               b.first_right, is_left_aligned(p, from.left), cells, to);
      !s.ok() || single)
    return s;
  const CellInputs inputs{problem,
                          minimum,
                          from.left,
                          from.templates,
                          from.template_sums,
                          from.window_sums,
                          from.window_squares,
                          b.first_right,
                          cells};
  const dim3 grid(static_cast<unsigned>(ceil_div(cells.count(), list_threads)), b.right_count);
  if (Status s = enqueue_early(device, "list_cells", list_cells, grid, dim3(list_threads), 0,
                               b.stream, inputs, keys, lists);
      !s.ok())
    return s;
  return enqueue_take_peaks(problem, device, b, lists, CellShifts{inputs}, b.candidates, b.counts);
}

constexpr Features features{Feature::u8, Feature::several_peaks, Feature::mask, Feature::own_lefts};

/// With several peaks a peak must suppress the rest of its cell.
template <class T>
bool supports(const stage::Search::Problem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  return supports_tiling<T>(p, problem.max_rights(), device) &&
         p.shifts.size().area() < 0xffffffffLL &&
         (problem.max_peaks == 1 || (std::min(problem.distance_x, problem.distance_y) >= cell &&
                                     problem.max_peaks <= max_greedy_peaks));
}

template <class Family, class T>
constexpr VariantName name = T::name(Family::name);

/// The variants of a family's tilings.
template <class Family, class... T>
constexpr auto make_table(Tilings<T...>) {
  return std::array{Variant<stage::Search>{{name<Family, T>.text, Backend::cuda, features},
                                           supports<T>,
                                           launch<T>,
                                           workspace<T>,
                                           MatchState<T>::make,
                                           {refines<T>}}...};
}

}  // namespace xcorr::cuda::tensor_match_kernel
