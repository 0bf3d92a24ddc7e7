// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of many templates of which each is much like the one before, such as a part at all
// angles, where only the best places of all are needed (stage::Search::PruningBound). Every third
// template is searched. A template between two of those is at a known angle to the nearer one, as
// vectors less their means, and angles between vectors add up at most: so a window whose angle to
// that one is more than this angle and that of the least score that matters does not matter for
// the template between. That score, the floor, is known from the best places of the thirds once
// their neighbours have been tried there. Cells that are left open are scored from the pixels.
//
// Templates for which this excludes too little are searched as usual, and all of them where a
// template's list of peaks is full, since then a place that the floor rests on may be missing.
#pragma once

#include "cuda/match/cell_peaks.cuh"

namespace xcorr::cuda {

/// The rights of a launch: in threes, the middle ones of which are searched.
struct Thirds {
  int count;

  __host__ __device__ int middles() const { return (count + 1) / 3; }
  __host__ __device__ int others() const { return count - middles(); }
  __host__ __device__ static int middle(int i) { return 3 * i + 1; }
  __host__ __device__ static int other(int i) { return i / 2 * 3 + i % 2 * 2; }
  /// The middle one nearest to another.
  __host__ __device__ int nearest(int right) const {
    const int middle = right / 3 * 3 + 1;
    return middle < count ? middle : middle - 3;
  }
};

/// Floors below that exclude too little, and so do lower scores with a middle one.
constexpr float least_floor = 0.7f, least_beside = 0.25f;

/// The most places that a floor may rest on.
constexpr int most_places = 16;

/// A place is tried by as many templates on either side of its own.
constexpr int reach = 2;

/// The least score that a window may have with a template, at an angle to another one of whose
/// score with the window is at least `floor`.
__device__ inline float least_at(float floor, float angle) {
  constexpr float pi = 3.1415926f;
  const float sum = acosf(fminf(floor, 1)) + angle;
  return sum < pi ? __cosf(sum) - 1e-4f : -1;
}

/// Squares of cells, of each of which the best window of all searched templates is known.
constexpr int region_cells = 8;

/// In a workspace.
struct AngularBound {
  KeyAt* regions;  ///< the best of each
  KeyAt* places;   ///< most_places; those that the floor rests on, the first `place_count`
  float* tried;    ///< of each place, the scores of the templates near its own
  float* floor;    ///< what scores less may be left out; below 0: nothing
  float* least;    ///< of the scores of peaks
  int* place_count;
  int* wanted;  ///< of each right: whether it is searched as usual
  int* again;   ///< whether lists are made once more

  Size grid;  ///< regions

  /// Places the parts from `workspace` on. Returns where they end.
  std::byte* place(const Cells& cells, int rights, std::byte* workspace) {
    grid = {static_cast<int>(ceil_div(cells.columns, region_cells)),
            static_cast<int>(ceil_div(cells.rows, region_cells))};
    regions = reinterpret_cast<KeyAt*>(workspace);
    places = regions + grid.area();
    tried = reinterpret_cast<float*>(places + most_places);
    floor = tried + most_places * (2 * reach + 1);
    least = floor + 1;
    place_count = reinterpret_cast<int*>(least + 1);
    wanted = place_count + 1;
    again = wanted + rights;
    return reinterpret_cast<std::byte*>(again + 1);
  }
};

/// Which rights of a launch a kernel is for.
struct Share {
  enum Which : std::uint8_t { all, middles, others } which = all;
  const int* wanted = nullptr;   ///< of each right: whether it is; null: all of them are
  const float* steps = nullptr;  ///< see measure_steps(); of the launch's first right on

  __device__ int right(int i) const {
    return which == middles ? Thirds::middle(i) : which == others ? Thirds::other(i) : i;
  }
  /// What the cells of a middle one must be known of, for all floors and templates beside it.
  __device__ float least_recorded(int middle) const {
    const float step = fmaxf(steps[middle], middle > 0 ? steps[middle - 1] : 0);
    return fmaxf(least_at(least_floor, step), least_beside);
  }
  /// Between two rights.
  __device__ float angle(int a, int b) const {
    float sum = 0;
    for (int i = min(a, b); i < max(a, b); ++i) sum += steps[i];
    return sum;
  }
};

/// The angle between a right and the next, of all; that of the last is 0. Rights are 0 where pixels
/// do not count. A warp for each.
static __global__ void measure_steps(Problem p, std::int64_t pixels, const std::byte* rights,
                                     float* steps) {
  if (blockIdx.x + 1 == gridDim.x) {
    steps[blockIdx.x] = 0;
    return;
  }
  // Of both, of their squares, of their product.
  u64 sums[5] = {};
  const auto* own = reinterpret_cast<const std::uint8_t*>(rights + blockIdx.x * p.right_stride);
  const auto* next = own + p.right_stride;
  for (int i = threadIdx.x; i < p.right.width * p.right.height; i += 32) {
    const std::int64_t at = i / p.right.width * p.right_pitch + i % p.right.width;
    const u32 a = own[at], b = next[at];
    const u32 terms[5] = {a, b, a * a, b * b, a * b};
    for (int k = 0; k < 5; ++k) sums[k] += terms[k];
  }
  for (u64& sum : sums) sum = warp_sum(sum);
  const auto of = [&](int squares, int a, int b) {
    return n2_covariance(double(pixels), double(sums[squares]), double(sums[a]), double(sums[b]));
  };
  const double variances = of(2, 0, 0) * of(3, 1, 1);
  const double likeness = variances > 0 ? of(4, 0, 1) / sqrt(variances) : -1;
  if (threadIdx.x == 0)
    steps[blockIdx.x] = static_cast<float>(acos(fmin(fmax(likeness, -1.0), 1.0))) + 1e-3f;
}

constexpr int region_threads = 256;

/// Grid: regions across, down.
static __global__ void __launch_bounds__(region_threads)
    best_of_regions(Cells cells, Thirds thirds, const Key* best, AngularBound bound) {
  __shared__ KeyAt of_warps[region_threads / 32];
  KeyAt mine{0, 0};
  const int column = blockIdx.x * region_cells, row = blockIdx.y * region_cells;
  for (int i = threadIdx.x; i < thirds.middles() * region_cells * region_cells;
       i += region_threads) {
    const int cell = i % (region_cells * region_cells),
              right = Thirds::middle(i / (region_cells * region_cells));
    const int x = column + cell % region_cells, y = row + cell / region_cells;
    if (x >= cells.columns || y >= cells.rows) continue;
    const Key key = best[right * cells.count() + std::int64_t{y} * cells.columns + x];
    mine.take_better({key, static_cast<unsigned>(right)});
  }
  mine = best_of_warp(mine);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (const KeyAt& other : of_warps) mine.take_better(other);
  bound.regions[blockIdx.y * gridDim.x + blockIdx.x] = mine;
}

/// One warp: the best places that are apart.
static __global__ void choose_places(stage::Search::Problem problem, Thirds thirds,
                                     AngularBound bound) {
  const int lane = threadIdx.x, width = problem.correlate.shifts.width,
            regions = static_cast<int>(bound.grid.area());
  for (int i = lane; i < thirds.count; i += 32) bound.wanted[i] = 0;
  const float least = problem.pruning_bound.apart + 2 * rim_cell;  // try_places() moves them
  const auto apart = [&](Key a, Key b) {
    const float x = static_cast<float>(index_of(a) % width) -
                    static_cast<float>(index_of(b) % width),
                y = static_cast<float>(index_of(a) / width) -
                    static_cast<float>(index_of(b) / width);
    return x * x + y * y >= least * least;
  };
  int count = 0;
  for (; count < problem.pruning_bound.wanted; ++count) {
    KeyAt best{0, 0};
    for (int i = lane; i < regions; i += 32) {
      const KeyAt& region = bound.regions[i];
      bool is_apart = region.key > best.key;
      for (int k = 0; k < count && is_apart; ++k) is_apart = apart(region.key, bound.places[k].key);
      if (is_apart) best = region;
    }
    best = best_of_warp(best);
    if (!best.key) break;
    if (lane == 0) bound.places[count] = best;
    __syncwarp();
  }
  if (lane == 0) *bound.place_count = count, *bound.again = 0;
}

/// Grid: templates near a place's own; places.
static __global__ void __launch_bounds__(list_threads, 1)
    try_places(CellInputs from, Thirds thirds, AngularBound bound) {
  __shared__ WindowKeys keys;
  if (static_cast<int>(blockIdx.y) >= *bound.place_count) return;
  const KeyAt& place = bound.places[blockIdx.y];
  const int right = static_cast<int>(place.at + blockIdx.x) - reach;
  const int width = from.problem.correlate.shifts.width;
  Key best = 0;
  if (right >= 0 && right < thirds.count) {
    from.score_windows(right, static_cast<int>(index_of(place.key) % width) - rim_cell / 2,
                       static_cast<int>(index_of(place.key) / width) - rim_cell / 2, keys);
    for (const auto& row : keys)
      for (const Key key : row) best = best < key ? key : best;
  }
  if (threadIdx.x == 0)
    bound.tried[blockIdx.y * gridDim.x + blockIdx.x] = best ? score_of(best, false) : -1;
}

/// One thread.
static __global__ void set_floor(stage::Search::Problem p, AngularBound bound) {
  float least = *bound.place_count < p.pruning_bound.wanted ? 0 : 1;
  for (int i = 0; i < *bound.place_count; ++i) {
    float best = score_of(bound.places[i].key, false);
    for (int k = 0; k < 2 * reach + 1; ++k)
      best = fmaxf(best, bound.tried[i * (2 * reach + 1) + k]);
    least = fminf(least, best);
  }
  const float floor = least - p.pruning_bound.margin - 1e-4f,
              limit = static_cast<float>(p.threshold);
  *bound.floor = floor >= least_floor ? floor : -1;
  *bound.least = fmaxf(limit, *bound.floor);
}

/// The cells of those beside the middle ones. Each block takes list_threads cells.
static __global__ void __launch_bounds__(list_threads, 1)
    search_others(CellInputs from, Thirds thirds, Share share, Key* best, AngularBound bound,
                  PeakLists lists) {
  __shared__ WindowKeys keys;
  __shared__ int open[list_threads];
  __shared__ int open_count;
  __shared__ float floor, least;  // of scores that matter; of the middle one's where they may be
  const int right = Thirds::other(blockIdx.y), middle = thirds.nearest(right);
  if (threadIdx.x == 0) {
    open_count = 0;
    floor = *bound.floor;
    least = floor < 0 ? -1 : least_at(floor, share.angle(right, middle));
    const bool is_usual = least < share.least_recorded(middle);
    if (is_usual) floor = -1;
    if (blockIdx.x == 0) {
      bound.wanted[right] = is_usual;
      lists.found[right] = 0;
    }
  }
  __syncthreads();
  if (floor < 0) return;
  const Cells& cells = from.cells;
  const std::int64_t first = std::int64_t{blockIdx.x} * list_threads, mine = first + threadIdx.x;
  Key* const to = best + right * cells.count();
  if (mine < cells.count()) {
    const Key near = best[middle * cells.count() + mine];
    if (near && score_of(near, false) >= least)
      open[atomicAdd(&open_count, 1)] = threadIdx.x;
    else
      to[mine] = 0;
  }
  __syncthreads();
  for (int k = 0; k < open_count; ++k) {
    const std::int64_t cell_place = first + open[k];
    from.score_windows(right, static_cast<int>(cell_place % cells.columns) * cell - cells.skew - 1,
                       static_cast<int>(cell_place / cells.columns) * cell - 1, keys);
    if (threadIdx.x == 0) {
      Key found = 0;
      for (int i = 0; i < cell * cell; ++i) {
        const Key key = keys[1 + i / cell][1 + i % cell];
        found = found < key ? key : found;
      }
      to[cell_place] = found && score_of(found, false) >= floor ? found : 0;
    }
    __syncthreads();  // shared memory is overwritten
  }
}

/// One block. Where a list is full of what matters, those that were not searched as usual are.
static __global__ void __launch_bounds__(region_threads)
    check_lists(stage::Search::Problem p, Thirds thirds, const Candidate* candidates,
                const std::uint32_t* counts, AngularBound bound, PeakLists lists) {
  const float floor = *bound.floor;
  bool is_full = false;
  for (int r = threadIdx.x; r < thirds.count; r += region_threads)
    is_full |= floor >= 0 && static_cast<int>(counts[r]) == p.max_peaks &&
               candidates[std::int64_t{r + 1} * p.max_peaks - 1].score >= floor;
  const bool again = __syncthreads_or(is_full);
  for (int r = threadIdx.x; r < thirds.count; r += region_threads) {
    bound.wanted[r] = again && !bound.wanted[r];
    if (again) lists.found[r] = 0;
  }
  if (threadIdx.x != 0) return;
  *bound.again = again;
  if (again) *bound.least = static_cast<float>(p.threshold);
}

}  // namespace xcorr::cuda
