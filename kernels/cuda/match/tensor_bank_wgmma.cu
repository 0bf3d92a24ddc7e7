// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor-bank-wgmma: the best window of each of many templates, from 8-bit pixels to candidates
// without a surface, with 32 templates as the columns of matrix products (bank_products.cuh). Sums
// are scored in the registers that they are made in. By bounds in single precision, of which those
// of a window are computed once for all templates, most warps find nothing that reaches the limit,
// which is the best score found so far; where something may, the quotient of score.hpp decides, so
// that candidates equal those of the separate stages to the last bit. In colour a first pass by one
// plane may leave few windows for the products of all (bound_bank.cuh).
#include <algorithm>
#include <array>

#include "cuda/common/last_block.cuh"
#include "cuda/match/best_peak.cuh"
#include "cuda/match/bound_bank.cuh"

namespace xcorr::cuda {
namespace {

/// Scores a warp's windows with a right by their products, and merges the best with what is known.
/// Not a part of the kernel's code, whose sums would lose their registers.
template <class T, int planes>
__device__ __attribute__((noinline)) void take_best(const CellInputs& from, Windows<T> windows,
                                                    int right, const u32* products, Key* best) {
  using Scorer = ScorerOf<planes>;
  Scorer scorer = from.scorer<planes>(right);
  const Key known = __shfl_sync(~0u, *static_cast<volatile Key*>(&best[right]), 0);
  if (known) scorer.raise(score_of(known, false));
  constexpr int each = OfWarp<T, planes>::windows / 32;
  float high[each], low = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int k = 32 * i + threadIdx.x % 32;
    high[i] = -1;
    if (!windows.inside(k)) continue;
    const WindowOf<planes> window = scorer.window(windows.index(k));
    const typename Scorer::Estimate estimate = scorer.estimate(products[k], window);
    if (!scorer.may_reach(estimate)) continue;
    high[i] = scorer.high(estimate, window);
    low = fmaxf(low, scorer.low(products[k], window));
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) low = fmaxf(low, __shfl_xor_sync(~0u, low, step));
  Key mine = 0;
#pragma unroll
  for (int i = 0; i < each; ++i) {
    if (high[i] < 0 || high[i] < low) continue;
    const int k = 32 * i + threadIdx.x % 32;
    const Key key = scorer.key(products[k], windows.index(k));
    if (key > mine) mine = key;
  }
  const Key found = best_of_warp({mine, 0}).key;
  if (found > known && threadIdx.x % 32 == 0) atomicMax(&best[right], found);
}

/// Grid: blocks that share the windows, groups of rights. `open`: the warps' places that are
/// searched, where not all are.
template <class T, int planes>
__global__ void __launch_bounds__(T::threads(), 1)
    tensor_bank(const __grid_constant__ CellInputs from, WordRows left, bool is_copy,
                const u32* laid_out, int first_group, int right_count, OpenParts open, Key* best) {
  __shared__ OfRights<T, planes> of_rights;
  const Problem& p = from.problem.correlate;
  const WindowOrder<T> order(p.shifts);
  const auto n = static_cast<u32>(from.problem.pixels());
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int group_of_rights = first_group + blockIdx.y;
  const Columns columns{group_of_rights * T::rights - from.first_right, right_count};
  using Shared = OfWarp<T, planes>;
  auto& of_warp = reinterpret_cast<Shared*>(dynamic_shared<std::uint8_t>() +
                                            T::shared_bytes(p.right.height, planes))[warp];
  ask_for_rights(from, columns, of_rights);
  const auto rights = stage_bank<T, planes>(p, laid_out, group_of_rights);
  let_next_begin();
  const int column = column_of(lane, number_of(lane));  // that this lane compares with its limit

  const bool is_listed = planes == color_planes && open.parts;
  if (is_listed) wait_for_previous();
  const int all = order.count(),
            places = is_listed ? static_cast<int>(open.count(blockIdx.y)) : all,
            count = is_listed ? ceil_div(places, 4) : T::groups_of(p.shifts.size());
  const int* const parts = open.parts + std::int64_t{blockIdx.y} * all;
  const auto windows_of = [&](int number) {
    const int place = 4 * number + warp % 4;
    return order.at(!is_listed ? place : place < places ? parts[place] : all);
  };
  const auto rows_of = [&](int number, int plane) {
    const Windows<T> windows = windows_of(number);
    return BankRows<T>(left.of_plane(plane), windows.x0, windows.y0);
  };
  const int own = warp / 4, first = blockIdx.x * T::groups, stride = gridDim.x * T::groups;
  // The first products do not need what the kernel before makes, unless that is the copy.
  if (is_copy && !is_listed) wait_for_previous();
  BankProducts products(p.right.height, T::staged_bytes(p.right.height, planes), rights,
                        rows_of(first + own, 0));
  // Past the last windows a group goes on with its block, and finds none inside.
  for (int block = first; block < count; block += stride) {
    const bool waited = is_copy || is_listed || block > first;
    const int number = block + own;
    const Windows<T> windows = windows_of(number);
    Key known = 0;
    const auto ask = [&] {
      ask_for_windows(from, windows, of_warp);
      if (columns.has(column)) known = *static_cast<volatile Key*>(&best[columns.right(column)]);
    };
    if (waited) ask();
    BankSums<T> sums;
    begin_sums<planes>(sums);
#pragma unroll 1
    for (int plane = 1; plane <= planes; ++plane)
      products.multiply(
          [&] { return plane < planes ? rows_of(number, plane) : rows_of(number + stride, 0); },
          sums);
    if (!waited) {
      wait_for_previous();
      ask();
    }
    wait_copies<0>();
    __syncwarp();

    float greatest[8];
    greatest_scores(sums, windows, n, of_warp, of_rights, greatest);
    __syncwarp();  // what the warp shares is overwritten for the next windows
    const float best_here = greatest_of(greatest), limit = of_rights.limits[column];
    const float least = known ? fmaxf(limit, score_of(known, false)) : limit;
    const unsigned open =
        __ballot_sync(~0u, least <= 0 || best_here * best_here >=
                                             0.998f * least * least * of_rights.variances[column]);
    if (!open) continue;
#pragma unroll
    for (int c = 0; c < 8; ++c) {
      unsigned of_four = open >> first_lane_of(c) & 0xf;
      if (!of_four) continue;
#pragma unroll
      for (int t = 0; t < T::tiles; ++t)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          of_warp.products[lane % 4][windows.number(lane, t, half)] =
              sums[t][c / 2 * 4 + 2 * half + c % 2];
      __syncwarp();
      for (; of_four; of_four &= of_four - 1) {
        const int k = __ffs(static_cast<int>(of_four)) - 1;
        take_best<T, planes>(from, windows, columns.right(column_of(k, c)), of_warp.products[k],
                             best);
      }
      __syncwarp();
    }
  }
}

constexpr int settle_threads = 256;

/// Grid: rights. `open`: as of tensor_bank(), of so many parts each, from that group on.
template <int planes>
__global__ void __launch_bounds__(settle_threads, 1)
    settle(stage::Search::Problem problem, MatchInputs<u32> from, int first_right, OpenParts open,
           int parts, int columns, int first_column, BestPeaks to) {
  wait_for_previous();
  if (open.parts && to.open_shares && threadIdx.x == 0) {
    const int group = (first_column + static_cast<int>(blockIdx.x)) / columns;
    to.open_shares[first_right + blockIdx.x] =
        static_cast<float>(open.counts[group]) / static_cast<float>(parts);
  }
  settle_right<settle_threads, planes>(problem, false, from, blockIdx.x, first_right, to);
}

template <class T>
class State final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Search::Problem& problem,
                                                 const Device&) {
    auto rights = LaidOutBank<T>::make(problem.correlate);
    if (!rights.ok()) return rights.status();
    // The best key of each right, twice as large as a counter.
    auto best = BlockCounters::make(2 * problem.correlate.total_rights());
    if (!best.ok()) return best.status();
    return std::unique_ptr<PlanState>(
        new State(std::move(rights.value()), std::move(best.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return rights_->set_rights(rights, stream);
  }
  const u32* words() const { return static_cast<const LaidOutBank<T>*>(rights_.get())->words(); }
  /// 0 between launches.
  Key* best() const {
    return reinterpret_cast<Key*>(static_cast<const BlockCounters*>(best_.get())->counters());
  }

 private:
  State(std::unique_ptr<PlanState> rights, std::unique_ptr<PlanState> best)
      : rights_(std::move(rights)), best_(std::move(best)) {}

  std::unique_ptr<PlanState> rights_, best_;
};

template <class T>
std::size_t shared_bytes(const Problem& p) {
  return with_planes(p, [&](auto planes) {
    return T::shared_bytes(p.right.height, p.planes) + T::warps() * sizeof(OfWarp<T, planes()>);
  });
}

bool refines(const stage::Search::Problem&) { return true; }

/// For a copy of the left.
std::size_t copy_bytes(const Problem& p) {
  return ceil_div(p.planes * WordRows::copy(p, nullptr).plane, 16) * 16;
}

template <class T>
Status launch(const stage::Search::Problem& problem, const Device& device,
              const stage::Search::Buffers& b, PlanState* state) {
  const Problem& p = problem.correlate;
  const auto& of_bank = *static_cast<const State<T>*>(state);
  const MatchInputs<u32> inputs(b);
  const CellInputs from{inputs, problem, false, b.first_right, {}};
  WordRows rows = WordRows::of(p, inputs.left);
  const bool is_copy = !rows.are_words();
  if (is_copy) {
    const WordRows copy = WordRows::copy(p, b.workspace);
    const dim3 columns(ceil_div(copy.size.width, 4 * copy_threads), grid_extent(copy.size.height),
                       p.planes);
    if (Status s = enqueue_early(device, "copy_rows", copy_rows, columns, dim3(copy_threads), 0,
                                 b.stream, rows, copy);
        !s.ok())
      return s;
    rows = copy;
  }
  Key* const best = of_bank.best() + b.first_right;
  const int first_group = b.first_right / T::rights,
            groups = (b.first_right + b.right_count - 1) / T::rights - first_group + 1;
  const dim3 blocks(std::min(ceil_div(T::groups_of(p.shifts.size()), T::groups),
                             std::max(device.multiprocessors, 1)),
                    groups);
  OpenParts open{};
  const int first_column = b.first_right - first_group * T::rights;
  if (bounds_first<T>(problem, device)) {
    const BoundMemory<T> memory(p, b.right_count,
                                static_cast<std::byte*>(b.workspace) + copy_bytes(p));
    open = memory.open;
    const WindowOrder<T> order(p.shifts);
    if (Status s = enqueue_early(device, "measure_shares", measure_shares<T>,
                                 dim3(ceil_div(32 * order.count(), shares_threads)),
                                 dim3(shares_threads), 0, b.stream, from, order, memory.shares);
        !s.ok())
      return s;
    if (Status s = enqueue_early(device, "bound_bank", bound_bank<T>, blocks, dim3(T::threads()),
                                 bounding_bytes<T>(p), b.stream, from, rows, is_copy,
                                 of_bank.words(), first_group, b.right_count, memory.shares,
                                 memory.bounds, open, memory.marks);
        !s.ok())
      return s;
    if (Status s = enqueue_early(device, "try_best", try_best, dim3(trials, b.right_count),
                                 dim3(trial_threads), 0, b.stream, from, memory.bounds,
                                 first_column, best);
        !s.ok())
      return s;
    if (Status s = enqueue_early(device, "list_open_parts", list_open_parts,
                                 dim3(trials, b.right_count), dim3(trial_threads), 0, b.stream,
                                 from, memory.bounds, first_column, open, memory.marks, best);
        !s.ok())
      return s;
  }
  const auto kernel = with_planes(p, [](auto planes) { return tensor_bank<T, planes()>; });
  if (Status s = enqueue_early(device, "tensor_bank", kernel, blocks, dim3(T::threads()),
                               shared_bytes<T>(p), b.stream, from, rows, is_copy, of_bank.words(),
                               first_group, b.right_count, open, best);
      !s.ok())
    return s;
  const BestPeaks to{best, b.candidates, b.counts, b.peaks, b.peak_counts, b.open_shares};
  const auto settling = with_planes(p, [](auto planes) { return settle<planes()>; });
  return enqueue_early(device, "settle", settling, dim3(b.right_count), dim3(settle_threads),
                       sizeof(BestRefinement<settle_threads, 1>::Shared), b.stream, problem, inputs,
                       b.first_right, open, WindowOrder<T>(p.shifts).count(), T::rights,
                       first_column, to);
}

template <class T>
std::size_t workspace(const stage::Search::Problem& p, const Device& device) {
  const std::size_t bounds =
      bounds_first<T>(p, device) ? BoundMemory<T>(p.correlate, p.max_rights(), nullptr).bytes : 0;
  return copy_bytes(p.correlate) + bounds;
}

template <class T>
bool supports(const stage::Search::Problem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  return device.compute_capability == 90 &&
         (problem.method == Method::ccoeff_normed || problem.method == Method::orientation) &&
         adds_planes(problem) && !problem.lead_sums_only && problem.max_peaks == 1 &&
         p.lefts == 1 && p.right.width <= T::max_width() &&
         (T::packed > 1 || T::chunks == 1 || p.right.width > 32 * (T::chunks - 1)) &&
         shared_bytes<T>(p) <= max_shared_bytes(device) && p.shifts.size().area() < 0xffffffffLL &&
         problem.max_rights() <= 65535;
}

/// All columns are multiplied, so few rights are others' work; the wider, the less they lose to the
/// zeros of a banded matrix.
template <class T>
bool is_preferred(const stage::Search::Problem& problem, const Device&) {
  constexpr double least_share = T::chunks > 1 ? 0.6 : 0.5;
  const int rights = problem.max_rights(), groups = ceil_div(rights, T::rights);
  return rights >= least_share * T::rights * groups;
}

struct Name {
  static constexpr const char* name = "tensor_bank_wgmma";
};
template <class T>
constexpr VariantName name = T::name(Name::name);

constexpr Features features{Feature::u8, Feature::mask, Feature::planes};

template <class T>
constexpr Variant<stage::Search> variant{
    {.name = name<T>.text, .backend = Backend::cuda, .features = features},
    {.supports = supports<T>,
     .launch = launch<T>,
     .workspace = workspace<T>,
     .plan = State<T>::make,
     .extra = {refines},
     .is_preferred = is_preferred<T>}};

constexpr std::array table{variant<OfBank<BankTuning{.packed = 2, .tiles = 8, .groups = 2}>>,
                           variant<OfBank<BankTuning{.tiles = 8, .groups = 2}>>,
                           variant<OfBank<BankTuning{.chunks = 2, .tiles = 8, .groups = 2}>>};

}  // namespace

Family tensor_bank_wgmma_family() { return Family(table); }

}  // namespace xcorr::cuda
