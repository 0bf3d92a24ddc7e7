// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match: from bytes to candidates without a surface. A block's sums of products
// (tensor_core.cuh) are scored where they lie, and of each cell of 8 x 8 shifts only the best one
// is written, if it reaches the limit. A test in single precision, which errs to the safe side,
// ends most shifts; the rest get the quotient of score.hpp, so that candidates are those of the
// separate stages to the last bit. With one peak a right, the best of all is the result; with more,
// what remains of the cells' best ones (cell_peaks.cuh).
#include <array>

#include "cell_peaks.cuh"
#include "tensor_core.cuh"
#include "tickets.cuh"

namespace xcorr::cuda {
namespace {

constexpr const char* names[] = XCORR_TENSOR_NAMES("tensor_match");

__device__ inline Key better(Key a, Key b) { return a > b ? a : b; }

/// Of 8 lanes each, or of all 32.
template <int lanes>
__device__ Key best_of(Key key) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) key = better(key, __shfl_xor_sync(~0u, key, step));
  return key;
}

template <int number>
Cells cells_of(const Problem& p) {
  const dim3 grid = tensor_grid<number>(p, 1);
  return {static_cast<int>(grid.x) * tilings[number].columns() / cell,
          static_cast<int>(grid.y) * tilings[number].rows() / cell, skew_of(p)};
}

/// What a launch leaves. With several peaks a right: the best key of each of its cells. With one:
/// the best of all, which the last block of the right makes the candidate.
struct Found {
  Key* best;
  unsigned* tickets;  ///< of each right
  Candidate* candidates;
  std::uint32_t* counts;
  unsigned* found;  ///< lengths of the lists, to begin with
};

/// Joins the best keys of this block's threads with those of a right's others.
__device__ void finish_right(const MatchProblem& p, bool minimum, int right, int first_right,
                             Key mine, const Found& to) {
  if (__any_sync(~0u, mine != 0)) {
    mine = best_of<32>(mine);
    if (threadIdx.x % 32 == 0) {
      atomicMax(&to.best[right], mine);
      __threadfence();
    }
  }
  __syncthreads();
  if (!is_last_block(&to.tickets[right], gridDim.x * gridDim.y) || threadIdx.x > 0) return;
  const Key key = atomicExch(&to.best[right], Key{0});  // for the next frame
  to.counts[first_right + right] = key ? 1 : 0;
  if (key)
    to.candidates[first_right + right] = candidate_of(key, minimum, p.correlate.shifts.width);
}

template <int number>
__global__ void __launch_bounds__(Tiling::threads, tilings[number].blocks)
    tensor_match(MatchProblem problem, bool minimum, const std::byte* left,
                 const std::uint32_t* shifted, const RightSums* right_sums, int first_right,
                 bool aligned, Cells cells, const u32* window_sums, const u32* window_squares,
                 Found to) {
  constexpr Tiling t = tilings[number];
  const Problem& p = problem.correlate;
  const Corner corner{int(blockIdx.x) * t.columns() - cells.skew, int(blockIdx.y) * t.rows()};
  const int right = blockIdx.z;
  let_next_begin();
  sum_products<number>(p, left, first_right + right, shifted, corner, {0, p.right.height}, aligned);

  const Scorer scorer(problem, minimum, right_sums[first_right + right], window_sums,
                      window_squares);
  const BlockSums<number> sums(corner);
  const int x = sums.x(), lane = threadIdx.x % 32;
  const bool inside = x >= 0 && x < p.shifts.width;
  const bool single = problem.max_peaks == 1;
  wait_for_previous();
  Key best = 0;
  sums.for_eight_rows([&](int row) {
    const int y = corner.y + row;
    const int count = inside ? max(0, min(cell, p.shifts.height - y)) : 0;
    const unsigned first = static_cast<unsigned>(y) * p.shifts.width + x;
    u32 window_sum[cell], window_square[cell];  // all asked for before the first is used
#pragma unroll
    for (int r = 0; r < cell; ++r) {
      const unsigned index = r < count ? first + r * p.shifts.width : 0;
      window_sum[r] = scorer.sums[index];
      window_square[r] = scorer.squares[index];
    }
    unsigned open = 0;  // rows that may reach the limit
#pragma unroll
    for (int r = 0; r < cell; ++r)
      open |= scorer.may_reach(sums.at(row + r), window_sum[r], window_square[r]) << r;
    open &= (1u << count) - 1;
    Key key = 0;
    for (; open; open &= open - 1) {
      const int r = __ffs(open) - 1;
      key = better(key, scorer.key(sums.at(row + r), first + r * p.shifts.width));
    }
    if (single) {
      best = better(best, key);
    } else {
      key = best_of<cell>(key);
      const int place = (y / cell) * cells.columns + (x + cells.skew) / cell;
      if (lane % cell == 0) to.best[right * cells.count() + place] = key;
    }
  });
  if (single)
    finish_right(problem, minimum, right, first_right, best, to);
  else if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
    to.found[right] = 0;
}

// ---- plan and launch ------------------------------------------------------------------------

template <int number>
class MatchState final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const MatchProblem& problem,
                                                 const Device& device) {
    auto rights = ShiftedRights<number>::make(problem, device);
    if (!rights.ok()) return rights.status();
    // Of each right a ticket and, twice as large, its best key.
    auto tickets = Tickets::make(3 * problem.correlate.total_rights());
    if (!tickets.ok()) return tickets.status();
    return std::unique_ptr<PlanState>(new MatchState(
        std::move(rights.value()), std::move(tickets.value()), problem.correlate.total_rights()));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return rights_->set_rights(rights, stream);
  }
  const std::uint32_t* words() const {
    return static_cast<const ShiftedRights<number>*>(rights_.get())->words();
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

template <int number>
std::size_t cell_bytes(const MatchProblem& p, int rights) {
  return rights * cells_of<number>(p.correlate).count() * sizeof(Key);
}

/// With several peaks a right: the keys of cells, then the lists.
template <int number>
std::size_t workspace(const MatchProblem& p, const Device&) {
  return p.max_peaks == 1 ? 0 : cell_bytes<number>(p, p.most_rights()) + peak_lists_bytes(p);
}

template <int number>
Status launch(const MatchProblem& problem, const Device& device, const Buffers& b,
              PlanState* plan_state) {
  const Problem& p = problem.correlate;
  const auto& state = *static_cast<const MatchState<number>*>(plan_state);
  const bool minimum = info(problem.method).minimum;
  const auto* left = static_cast<const std::byte*>(b.lefts);
  const auto* sums = static_cast<const u32*>(b.window_sums);
  const auto* squares = static_cast<const u32*>(b.window_squares);
  const Cells cells = cells_of<number>(p);
  const bool single = problem.max_peaks == 1;
  auto* const keys = static_cast<Key*>(b.workspace);
  auto* const behind = static_cast<std::byte*>(b.workspace) +
                       (single ? 0 : cell_bytes<number>(problem, b.right_count));
  const PeakLists lists(problem, behind, b.right_count);
  const Found to{single ? state.best() + b.first_right : keys, state.tickets() + b.first_right,
                 b.candidates, b.counts, lists.found};
  if (Status s = enqueue_early(device, names[number], tensor_match<number>,
                               tensor_grid<number>(p, b.right_count), dim3(Tiling::threads),
                               tensor_shared_bytes<number>(p, p.right.height), b.stream, problem,
                               minimum, left, state.words(), b.right_sums, b.first_right,
                               is_left_aligned(p, left), cells, sums, squares, to);
      !s.ok() || single)
    return s;
  const dim3 grid(static_cast<unsigned>(ceil_div(cells.count(), pick_threads)), b.right_count);
  if (Status s =
          enqueue_early(device, "pick_peaks", pick_peaks, grid, dim3(pick_threads), 0, b.stream,
                        problem, minimum, left, static_cast<const std::byte*>(b.templates),
                        b.right_sums, b.first_right, cells, sums, squares, keys, lists);
      !s.ok())
    return s;
  return keep_best(problem, device, b, lists);
}

/// With several peaks a cell must lie in its best one's neighbourhood.
template <int number>
bool supports(const MatchProblem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  return supports_matching(problem, device) && supports_tiling<number>(problem, device) &&
         problem.products == ElementType::u32 && p.output_type() == ElementType::u32 &&
         p.shifts.size().area() < 0xffffffffLL &&
         (problem.max_peaks == 1 || (std::min(problem.distance_x, problem.distance_y) >= cell &&
                                     problem.max_peaks <= most_sorted_peaks));
}

template <std::size_t... numbers>
constexpr auto make_table(std::index_sequence<numbers...>) {
  return std::array{Variant{names[numbers], Stage::search, Backend::cuda, true, supports<numbers>,
                            workspace<numbers>, launch<numbers>, MatchState<numbers>::make}...};
}

constexpr auto table = make_table(std::make_index_sequence<tiling_count>());

}  // namespace

Family tensor_match_family() { return table; }

}  // namespace xcorr::cuda
