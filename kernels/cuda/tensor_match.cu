// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-match: from bytes to candidates without a surface. A block's sums of products
// (tensor_core.cuh) are scored where they lie, and of each cell of 8 x 8 shifts only the best one
// is written, if it reaches the limit. A test in single precision, which errs to the safe side,
// ends most shifts; the rest get the quotient of score.hpp, so that candidates are those of the
// separate stages to the last bit. With one peak a right, the best of all is the result. With more,
// a cell's best is a peak unless a better one lies nearby; where a better cell only partly lies
// nearby, that part's scores are computed again from the pixels.
#include <array>

#include "../score.hpp"
#include "peak_list.cuh"
#include "tensor_core.cuh"
#include "tickets.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;
using u64 = unsigned long long;

constexpr int cell = 8;  // shifts, across and down
constexpr const char* names[] = XCORR_TENSOR_NAMES("tensor_match");

// ---- scores ---------------------------------------------------------------------------------

/// What scores one right's shifts.
struct Scorer {
  Method method;
  bool minimum;  ///< the least score is the best
  float limit;
  u32 n, right_sum, right_squares;
  const u32 *sums, *squares;  ///< of the windows
  float safe_limit;           ///< see may_reach(); below 0: any may

  __device__ Scorer(const MatchProblem& p, bool minimum, const RightSums& right,
                    const u32* window_sums, const u32* window_squares)
      : method(p.method),
        minimum(minimum),
        limit(static_cast<float>(
            score_limit(p.method, p.threshold, double(p.correlate.right.area()), right))),
        n(static_cast<u32>(p.correlate.right.area())),
        right_sum(static_cast<u32>(right.sum)),
        right_squares(static_cast<u32>(right.squares)),
        sums(window_sums),
        squares(window_squares),
        safe_limit(-1) {
    // A thousandth is far more than the test's rounding of squares.
    if (method == Method::ccoeff_normed && limit > 0)
      safe_limit = 0.999f * limit * limit * static_cast<float>(right.deviation);
  }

  /// 0 only where the score of a window does not reach the limit: for ccoeff-normed, where the
  /// squares of value and limit * norms are apart, with the value taken too large and the window's
  /// norm too small by more than single precision rounds their terms.
  __device__ unsigned may_reach(u32 product, u32 sum, u32 square) const {
    constexpr float more = 1 + 1e-6f, less = 1 - 1e-6f;
    const auto pixels = static_cast<float>(n), left = static_cast<float>(sum);
    const float value = fmaf(static_cast<float>(product), more * pixels,
                             -(less * static_cast<float>(right_sum)) * left);
    const float spread = fmaf(static_cast<float>(square), less * pixels, -(more * left) * left);
    // Without branches, so that eight of them run beside each other.
    return unsigned{safe_limit < 0} |
           (unsigned{value > 0} & unsigned{value * value >= safe_limit * spread});
  }

  /// 0: below the limit.
  __device__ Key key(u32 product, unsigned index) const {
    const auto value = static_cast<float>(
        score(method, WindowTerms<std::int64_t>{n, product, sums[index], squares[index], right_sum,
                                                right_squares}));
    return (minimum ? value <= limit : value >= limit) ? key_of(value, minimum, index) : 0;
  }
};

__device__ inline Key better(Key a, Key b) { return a > b ? a : b; }

/// Of 8 lanes each, or of all 32.
template <int lanes>
__device__ Key best_of(Key key) {
#pragma unroll
  for (int step = 1; step < lanes; step *= 2) key = better(key, __shfl_xor_sync(~0u, key, step));
  return key;
}

/// The cells of one right: each block of the grid has the same number of them.
struct Cells {
  int columns, rows, skew;
  __host__ __device__ std::int64_t count() const { return std::int64_t{columns} * rows; }
};

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

// ---- peaks of cells -------------------------------------------------------------------------

constexpr int pick_warps = 8, pick_threads = 32 * pick_warps;
static_assert(pick_warps == cell);  // a warp a row of a cell

/// Shifts, both ends included.
struct Box {
  int x0, y0, x1, y1;
  __device__ bool has(int x, int y) const { return x >= x0 && x <= x1 && y >= y0 && y <= y1; }
};

/// What can beat a key, and the cells that it meets.
struct Neighbourhood {
  Key key;
  Box near, cells;
  __device__ Neighbourhood(const MatchProblem& p, const Cells& c, Key key) : key(key) {
    const Rect s = p.correlate.shifts;
    const int x = index_of(key) % s.width, y = index_of(key) / s.width;
    near = {max(x - p.distance_x + 1, 0), max(y - p.distance_y + 1, 0),
            min(x + p.distance_x - 1, s.width - 1), min(y + p.distance_y - 1, s.height - 1)};
    cells = {(near.x0 + c.skew) / cell, near.y0 / cell, (near.x1 + c.skew) / cell, near.y1 / cell};
  }
  __device__ int count() const { return (cells.x1 - cells.x0 + 1) * (cells.y1 - cells.y0 + 1); }
  /// Column and row of the i-th cell.
  __device__ int column(int i) const { return cells.x0 + i % (cells.x1 - cells.x0 + 1); }
  __device__ int row(int i) const { return cells.y0 + i / (cells.x1 - cells.x0 + 1); }
};

/// How a cell's best stands to a key.
enum class Standing { below, beats, unknown };

/// unknown: it is better, but not nearby; another one of the cell may be both.
__device__ Standing standing(const Neighbourhood& of, Key other, int width) {
  if (other <= of.key) return Standing::below;
  return of.near.has(index_of(other) % width, index_of(other) / width) ? Standing::beats
                                                                       : Standing::unknown;
}

/// Whether one of a cell's shifts near `of` beats it: their scores from the pixels, by the whole
/// block, a warp a row of the cell. Every thread returns the same.
__device__ bool is_beaten_by_pixels(const MatchProblem& problem, const std::byte* left,
                                    const std::uint8_t* right, const Scorer& scorer,
                                    const Neighbourhood& of, int cell_x, int cell_y) {
  const Problem& p = problem.correlate;
  const int lane = threadIdx.x % 32, y = cell_y + threadIdx.x / 32;
  bool beaten = false;
  if (y >= of.near.y0 && y <= of.near.y1) {
    u32 products[cell] = {};
    for (int j = 0; j < p.right.height; ++j) {
      const auto* row = reinterpret_cast<const std::uint8_t*>(
          left + (p.shifts.y + y + j) * p.left_pitch + p.shifts.x);
      const auto* pixels = reinterpret_cast<const std::uint8_t*>(
          reinterpret_cast<const std::byte*>(right) + j * p.right_pitch);
      for (int i = lane; i < p.right.width; i += 32)
#pragma unroll
        for (int k = 0; k < cell; ++k) {
          const int x = cell_x + k;
          if (x >= of.near.x0 && x <= of.near.x1) products[k] += u32{row[x + i]} * pixels[i];
        }
    }
    u32 mine = 0;
#pragma unroll
    for (int k = 0; k < cell; ++k) {
      const u32 product = warp_sum(products[k]);
      if (lane == k) mine = product;
    }
    const int x = cell_x + lane;
    if (lane < cell && of.near.has(x, y))
      beaten = scorer.key(mine, static_cast<unsigned>(y) * p.shifts.width + x) > of.key;
  }
  return __syncthreads_or(beaten);
}

/// Appends those cells' best that no shift nearby beats to the lists. Blocks take pick_threads
/// cells each; a warp compares one key with the cells around it.
__global__ void __launch_bounds__(pick_threads)
    pick_peaks(MatchProblem problem, bool minimum, const std::byte* left,
               const std::byte* templates, const RightSums* right_sums, int first_right,
               Cells cells, const u32* window_sums, const u32* window_squares, const Key* best,
               PeakLists lists) {
  __shared__ Key open[pick_threads];  // beaten by none for sure
  __shared__ bool is_open_cell[pick_threads];
  __shared__ int open_count;
  wait_for_previous();
  const Problem& p = problem.correlate;
  const int right = blockIdx.y, lane = threadIdx.x % 32, width = p.shifts.width;
  best += right * cells.count();
  if (threadIdx.x == 0) open_count = 0;
  const std::int64_t mine = std::int64_t{blockIdx.x} * pick_threads + threadIdx.x;
  const Key key = mine < cells.count() ? best[mine] : 0;
  if (!__syncthreads_or(key != 0)) return;

  for (unsigned left_over = __ballot_sync(~0u, key != 0); left_over; left_over &= left_over - 1) {
    const Neighbourhood of(problem, cells, __shfl_sync(~0u, key, __ffs(left_over) - 1));
    bool beaten = false, unknown = false;
    for (int i = lane; i < of.count() && !beaten; i += 32) {
      const Standing other =
          standing(of, best[std::int64_t{of.row(i)} * cells.columns + of.column(i)], width);
      beaten = other == Standing::beats;
      unknown |= other == Standing::unknown;
    }
    if (__any_sync(~0u, beaten)) continue;
    unknown = __any_sync(~0u, unknown);
    if (lane > 0) continue;
    if (unknown)
      open[atomicAdd(&open_count, 1)] = of.key;
    else
      lists.append(right, of.key);
  }
  __syncthreads();

  const Scorer scorer(problem, minimum, right_sums[first_right + right], window_sums,
                      window_squares);
  const auto* pixels = reinterpret_cast<const std::uint8_t*>(
      templates + std::int64_t{first_right + right} * p.right_stride);
  for (int k = 0; k < open_count; ++k) {
    const Neighbourhood of(problem, cells, open[k]);
    bool beaten = false;
    for (int base = 0; base < of.count() && !beaten; base += pick_threads) {
      const int i = base + threadIdx.x;
      is_open_cell[threadIdx.x] =
          i < of.count() &&
          standing(of, best[std::int64_t{of.row(i)} * cells.columns + of.column(i)], width) ==
              Standing::unknown;
      __syncthreads();
      for (int c = 0; c < pick_threads && !beaten; ++c)
        if (is_open_cell[c])
          beaten =
              is_beaten_by_pixels(problem, left, pixels, scorer, of,
                                  of.column(base + c) * cell - cells.skew, of.row(base + c) * cell);
      __syncthreads();  // is_open_cell is written anew
    }
    if (!beaten && threadIdx.x == 0) lists.append(right, of.key);
  }
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
