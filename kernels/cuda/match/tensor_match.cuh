// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the families tensor_match (by warps) and tensor_match_wgmma (by groups of four warps):
// their plans, and the launches that a search takes. The kernel is in tensor_match_kernel.cuh; what
// a search of many similar templates leaves out, in angular_bound.cuh.
#pragma once

#include <array>

#include "cuda/match/tensor_match_kernel.cuh"
#include "cuda/match/window_sums_strips.hpp"

namespace xcorr::cuda::tensor_match_kernel {

// ---- plan and launch ------------------------------------------------------------------------

/// Whether a search is worth it that leaves out what does not matter: what it takes besides, some
/// 70 us, is as much as five templates of 64x64 in 1920x1080 take. Of parts without a round mask a
/// launch has only the few angles whose masks are the same, which are far from each other.
inline bool bounds_by_angles(const stage::Search::Problem& p, int rights) {
  constexpr int least_rights = 12;
  return p.pruning_bound.wanted > 0 && p.pruning_bound.wanted <= most_places &&
         p.method == Method::ccoeff_normed && p.max_peaks > 1 && rights >= least_rights;
}

template <class T>
class MatchState final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const stage::Search::Problem& problem,
                                                 const Device& device) {
    auto rights = LaidOutRights<T>::make(problem.correlate.each_plane());
    if (!rights.ok()) return rights.status();
    // For each template its best key, twice as large as a ticket, a ticket, and its open blocks.
    auto block_counters = BlockCounters::make(4 * problem.correlate.total_rights());
    if (!block_counters.ok()) return block_counters.status();
    const bool bound = bounds_by_angles(problem, problem.max_rights());
    auto steps =
        Block::make(Backend::cuda, bound ? problem.correlate.total_rights() * sizeof(float) : 0);
    if (!steps.ok()) return steps.status();
    return std::unique_ptr<PlanState>(new MatchState(problem, std::move(rights.value()),
                                                     std::move(block_counters.value()),
                                                     std::move(steps.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    if (Status s = rights_->set_rights(rights, stream); !s.ok() || !steps()) return s;
    return enqueue("measure_steps", measure_steps,
                   dim3(static_cast<unsigned>(problem_.correlate.total_rights())), dim3(32), 0,
                   stream, problem_.correlate, problem_.pixels(),
                   static_cast<const std::byte*>(rights), steps());
  }
  const std::uint32_t* words() const {
    return static_cast<const LaidOutRights<T>*>(rights_.get())->words();
  }
  /// All 0 between launches.
  Key* best() const { return reinterpret_cast<Key*>(counters()); }
  unsigned* block_counters() const { return counters() + 2 * problem_.correlate.total_rights(); }
  unsigned* open_blocks() const { return counters() + 3 * problem_.correlate.total_rights(); }
  /// See measure_steps(); null where they are not needed.
  float* steps() const { return steps_.bytes() > 0 ? steps_.as<float>() : nullptr; }

 private:
  MatchState(const stage::Search::Problem& problem, std::unique_ptr<PlanState> rights,
             std::unique_ptr<PlanState> block_counters, Block steps)
      : problem_(problem),
        rights_(std::move(rights)),
        block_counters_(std::move(block_counters)),
        steps_(std::move(steps)) {}
  unsigned* counters() const {
    return static_cast<const BlockCounters*>(block_counters_.get())->counters();
  }

  stage::Search::Problem problem_;
  std::unique_ptr<PlanState> rights_, block_counters_;
  Block steps_;
};

/// With several peaks per template: the keys of cells, then the lists, and what a search of every
/// third template leaves for the others.
template <class T>
struct CellMemory {
  Key* best;
  PeakLists lists;
  AngularBound bound;
  std::size_t bytes;

  CellMemory(const stage::Search::Problem& p, int rights, void* workspace)
      : best(static_cast<Key*>(workspace)),
        lists(cells_of<T>(p.correlate).count(), best + rights * cells_of<T>(p.correlate).count(),
              rights) {
    auto* const end = reinterpret_cast<std::byte*>(lists.found + rights + rights % 2);
    bytes = bound.place(cells_of<T>(p.correlate), rights, end) - static_cast<std::byte*>(workspace);
  }
};

/// With bounds: those of a launch's rights, the lists of open cells, and how many templates lack
/// window sums.
struct CellBoundMemory {
  CellBounds bounds;
  OpenParts open;
  unsigned* lacking_sums;
  std::size_t bytes;

  CellBoundMemory(const Cells& cells, int rights, void* workspace)
      : bounds{static_cast<float*>(workspace), static_cast<int>(cells.count())} {
    const std::size_t count = std::size_t(rights) * bounds.cells;
    open.parts = reinterpret_cast<int*>(bounds.of + count);
    open.counts = reinterpret_cast<unsigned*>(open.parts + count);
    lacking_sums = open.counts + rights;
    bytes = count * (sizeof(float) + sizeof(int)) + (rights + 1) * sizeof(unsigned);
  }
};

/// As if each plane but the first were the left of a right.
inline stage::WindowSums::Problem sums_of_other_planes(const stage::Search::Problem& p) {
  stage::WindowSums::Problem sums{p.correlate};
  sums.correlate.form = Form::one_to_many;
  sums.correlate.own_lefts = true;
  sums.correlate.rights = color_planes - 1;
  sums.correlate.planes = 1;
  sums.correlate.left_stride = p.correlate.left_plane;
  return sums;
}

inline bool completes_sums(const stage::Search::Problem& p, const Device& device) {
  return bounds_parts(p) && p.lead_plane == 0 && !p.masking &&
         supports_window_sums_strips(sums_of_other_planes(p), device);
}

template <class T>
std::size_t workspace(const stage::Search::Problem& p, const Device&) {
  if (bounds_parts(p))
    return CellBoundMemory(cells_of<T>(p.correlate), p.max_rights(), nullptr).bytes;
  return p.max_peaks == 1 ? 0 : CellMemory<T>(p, p.max_rights(), nullptr).bytes;
}

/// Enqueues one launch after the other up to the first error.
struct InTurn {
  Stream stream;
  Status status;

  template <class Launch>
  void then(Launch launch) {
    if (!status.ok()) return;
    if (Status s = launch(); !s.ok()) status = s;
  }
  /// A kernel without memory of its own.
  template <class... Parameters, class... Arguments>
  void then(const char* name, void (*kernel)(Parameters...), dim3 grid, int threads,
            const Arguments&... arguments) {
    then([&] { return enqueue(name, kernel, grid, dim3(threads), 0, stream, arguments...); });
  }
};

/// A launch's parts.
template <class T>
class Searching {
 public:
  Searching(const stage::Search::Problem& problem, const Device& device,
            const stage::Search::Buffers& b, const MatchState<T>& state)
      : problem_(problem),
        device_(device),
        b_(b),
        state_(state),
        cells_(cells_of<T>(problem.correlate)),
        memory_(problem, b.right_count, b.workspace),
        from_{MatchInputs<u32>(b), problem, info(problem.method).minimum, b.first_right, cells_} {}

  /// One peak a template.
  Status search_best() const {
    Key* const best = state_.best() + b_.first_right;
    if (!bounds_parts(problem_)) return match({}, b_.right_count, best);
    const CellBoundMemory memory(cells_, b_.right_count, b_.workspace);
    const MissingSums missing = missing_sums(memory);
    if (Status s = bound_blocks_by(memory); !s.ok()) return s;
    if (Status s =
            enqueue_clusters(device_, "settle_open_cells", settle_open_cells, cluster_blocks,
                             b_.right_count, dim3(cluster_threads), 0, b_.stream, from_,
                             b_.right_count, memory.bounds, memory.open, missing, best_peaks(best));
        !s.ok())
      return s;
    if (missing.sums)
      if (Status s = sum_other_planes(missing); !s.ok()) return s;
    return match({}, b_.right_count, best, memory.bounds, memory.open);
  }

  Status search_all() const {
    if (Status s = match({}, b_.right_count, memory_.best); !s.ok()) return s;
    return take_from_lists(nullptr, nullptr);
  }

  Status search_by_angles() const {
    const Thirds thirds{b_.right_count};
    const AngularBound& bound = memory_.bound;
    const float* const steps = state_.steps() + b_.first_right;
    const Share middles{Share::middles, nullptr, steps}, others{Share::others, bound.wanted, steps};
    const dim3 one(1), regions(bound.grid.width, bound.grid.height),
        trials(2 * reach + 1, static_cast<unsigned>(problem_.pruning_bound.wanted)),
        lists(static_cast<unsigned>(ceil_div(cells_.count(), list_threads)), thirds.others());
    const std::int64_t first = std::int64_t{b_.first_right} * problem_.max_peaks;
    InTurn turn{b_.stream};
    turn.then([&] { return match(middles, thirds.middles(), memory_.best); });
    turn.then("best_of_regions", best_of_regions, regions, region_threads, cells_, thirds,
              memory_.best, bound);
    turn.then("choose_places", choose_places, one, 32, problem_, thirds, bound);
    turn.then("try_places", try_places, trials, list_threads, from_, thirds, bound);
    turn.then("set_floor", set_floor, one, 1, problem_, bound);
    turn.then("search_others", search_others, lists, list_threads, from_, thirds, others,
              memory_.best, bound, memory_.lists);
    turn.then([&] { return match(others, thirds.others(), memory_.best); });
    turn.then([&] { return take_from_lists(bound.least, nullptr); });
    turn.then("check_lists", check_lists, one, region_threads, problem_, thirds,
              b_.candidates + first, b_.counts + b_.first_right, bound, memory_.lists);
    turn.then([&] { return match(others, thirds.others(), memory_.best); });
    turn.then([&] { return take_from_lists(bound.least, bound.again); });
    return turn.status;
  }

 private:
  BestPeaks best_peaks(Key* best) const {
    return {best,           b_.candidates, b_.counts, refines<T>(problem_) ? b_.peaks : nullptr,
            b_.peak_counts, b_.open_shares};
  }
  MissingSums missing_sums(const CellBoundMemory& memory) const {
    if (!problem_.lead_sums_only) return {};
    return {const_cast<u32*>(from_.window_sums), const_cast<u32*>(from_.window_squares),
            memory.lacking_sums};
  }
  /// Where any template needs those of all windows.
  Status sum_other_planes(const MissingSums& missing) const {
    const std::int64_t windows = windows_of(problem_.correlate);
    return launch_window_sums_strips(sums_of_other_planes(problem_), device_,
                                     {{nullptr, b_.stream},
                                      from_.left + problem_.correlate.left_plane,
                                      nullptr,
                                      missing.sums + windows,
                                      missing.squares + windows},
                                     nullptr, missing.templates);
  }
  Status bound_blocks_by(const CellBoundMemory& memory) const {
    const Problem& p = problem_.correlate;
    const dim3 blocks = tensor_grid<T>(p, b_.right_count);
    const std::size_t bytes =
        spreading_bytes(device_, blocks, T::shared_bytes(p.right.width, p.right.height, 1));
    return enqueue_early(device_, "bound_blocks", bound_blocks<T>, blocks, dim3(T::threads()),
                         bytes, b_.stream, from_, state_.words(), is_left_aligned(p, from_.left),
                         memory.bounds, memory.lacking_sums);
  }

  /// `count` rights of the share. \param bounds  of cells, where they are known
  Status match(const Share& share, int count, Key* best, const CellBounds& bounds = {},
               const OpenParts& open = {}) const {
    const Problem& p = problem_.correlate;
    const Found to{best_peaks(best),
                   state_.block_counters() + b_.first_right,
                   memory_.lists.found,
                   bounds,
                   open,
                   state_.open_blocks() + b_.first_right};
    const auto kernel = with_planes(p, [](auto planes) { return tensor_match<T, planes()>; });
    const dim3 blocks = tensor_grid<T>(p, count);
    const std::size_t bytes =
        spreading_bytes(device_, blocks, T::shared_bytes(p.right.width, p.right.height, p.planes));
    return enqueue_early(device_, "tensor_match", kernel, blocks, dim3(T::threads()), bytes,
                         b_.stream, from_, state_.words(), is_left_aligned(p, from_.left), share,
                         to);
  }

  /// The cells' peaks become candidates; `least`, `asked`: see list_cells().
  Status take_from_lists(const float* least, const int* asked) const {
    const dim3 grid(static_cast<unsigned>(ceil_div(cells_.count(), list_threads)), b_.right_count);
    if (Status s = enqueue_early(device_, "list_cells", list_cells, grid, dim3(list_threads), 0,
                                 b_.stream, from_, memory_.best, memory_.lists, least, asked);
        !s.ok())
      return s;
    return enqueue_take_peaks(problem_, device_, b_, memory_.lists, CellShifts{from_},
                              b_.candidates, b_.counts, asked);
  }

  const stage::Search::Problem& problem_;
  const Device& device_;
  const stage::Search::Buffers& b_;
  const MatchState<T>& state_;
  const Cells cells_;
  const CellMemory<T> memory_;
  const CellInputs from_;
};

template <class T>
Status launch(const stage::Search::Problem& problem, const Device& device,
              const stage::Search::Buffers& b, PlanState* state) {
  const Searching<T> searching(problem, device, b, *static_cast<const MatchState<T>*>(state));
  if (problem.max_peaks == 1) return searching.search_best();
  return bounds_by_angles(problem, b.right_count) ? searching.search_by_angles()
                                                  : searching.search_all();
}

constexpr Features features{Feature::u8, Feature::several_peaks, Feature::mask, Feature::own_lefts,
                            Feature::planes};

/// With several peaks a peak must suppress the rest of its cell.
template <class T>
bool supports(const stage::Search::Problem& problem, const Device& device) {
  const Problem& p = problem.correlate;
  return supports_tiling<T>(p, problem.max_rights(), device) && adds_planes(problem) &&
         (!problem.lead_sums_only || completes_sums(problem, device)) &&
         p.shifts.size().area() < 0xffffffffLL &&
         (problem.max_peaks == 1 || (std::min(problem.distance_x, problem.distance_y) >= cell &&
                                     problem.max_peaks <= max_nms_peaks));
}

template <class Family, class T>
constexpr VariantName name = T::name(Family::name);

/// The variants of a family's tilings.
template <class Family, class... T>
constexpr auto make_table(Tilings<T...>) {
  return std::array{Variant<stage::Search>{
      {.name = name<Family, T>.text, .backend = Backend::cuda, .features = features},
      {.supports = supports<T>,
       .launch = launch<T>,
       .workspace = workspace<T>,
       .plan = MatchState<T>::make,
       .extra = {refines<T>, completes_sums}}}...};
}

}  // namespace xcorr::cuda::tensor_match_kernel
