// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernel of the warp-shuffle families (paper sections 4.1 to 4.3, thesis 3.4). A warp computes
// 32 neighbouring overlaps of an output row, one per lane, and keeps its operands in its own
// registers. The left: a ring of 64 columns, two per lane (`bottom`, `top`), that moves by a column
// per step, since the next lane's left value is this lane's in the next step. The right: 32
// columns, one per lane, each broadcast in its step. Columns outside a matrix are zeros, inserted
// where the registers are filled, once every 32 steps. Global memory is read once per row, but
// shuffles issue at a quarter of the rate of multiply-adds, so a thread uses each shuffled value
// more than once. Its tile:
//   lefts x rights  pairs of matrices (multi-matrix),
//   overlaps        one below the other in the output (grouped-overlap),
//   rows            of the left taken at a time (grouped-overlap of both).
// Shuffles to multiply-adds: 2 lefts rows + rights (overlaps - 1 + rows) to lefts rights overlaps
// rows. Parameters that need no further kernel: warps per block; how the rows of an overlap are
// split into jobs.
#pragma once

#include <algorithm>
#include <bit>

#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/definition/partial_sums.cuh"
#include "cuda/definition/row_jobs.hpp"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {

template <int lefts_, int rights_, int overlaps_ = 1, int rows_ = 1>
struct WarpTile {
  static constexpr int lefts = lefts_, rights = rights_, overlaps = overlaps_, rows = rows_;
  /// The values that a thread keeps: sums, the left's ring, the right.
  static constexpr int values =
      lefts * rights * overlaps + 2 * lefts * rows + rights * (overlaps - 1 + rows);
  /// Whether registers hold them when they are 64 bits each.
  static constexpr bool takes_wide = values <= 64;
};

constexpr int max_warps = 8;  // per block

// ---- the matrices of a job ------------------------------------------------------------------

/// Matrices of one side.
struct MatrixGroup {
  const std::byte* first;
  std::int64_t stride, pitch;
  Size size;
  int count;
};

/// What a warp does: the overlaps at shifts (dx + lane, dy + o), of pairs (l, r).
template <class E, class Tile>
struct WarpJob {
  MatrixGroup left, right;
  int dx, dy;
  Span columns;  ///< of the right, in any lane's overlap
  Span rows;     ///< of the left, in any overlap of a lane
};

template <class E, class Tile>
struct WarpSums {
  typename E::Out v[Tile::lefts][Tile::rights][Tile::overlaps] = {};
};

// ---- multiplying ----------------------------------------------------------------------------

/// Elements (x, y + row) of the group. Zero for columns outside, for rows outside when they are
/// `checked`, and for matrices that do not exist.
template <class E, bool checked, int matrices, int rows>
__device__ void fill(typename E::Value (&to)[matrices][rows], const MatrixGroup& from, int x,
                     int y) {
  using In = typename E::In;
  const bool column = static_cast<unsigned>(x) < static_cast<unsigned>(from.size.width);
  // Advanced from one to the next: keeping all addresses would take registers from the tile.
  const std::byte* matrix = from.first + y * from.pitch + x * int(sizeof(In));
#pragma unroll
  for (int m = 0; m < matrices; ++m) {
    const std::byte* at = matrix;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const bool row =
          !checked || static_cast<unsigned>(y + i) < static_cast<unsigned>(from.size.height);
      to[m][i] =
          column && row && (m == 0 || m < from.count) ? *reinterpret_cast<const In*>(at) : In(0);
      at += from.pitch;
    }
    matrix += from.stride;
  }
}

/// Advances the ring by a column: lane 0's top becomes lane 31's bottom.
template <class V>
__device__ void advance(V& bottom, V& top, int lane) {
  // An if, since with ?: the compiler has put rings into local memory (thesis, appendix A).
  V leaves = bottom;
  if (lane == 0) leaves = top;
  bottom = __shfl_sync(~0u, leaves, lane + 1);
  top = __shfl_down_sync(~0u, top, 1);
}

/// Adds the products of left rows [row, row + rows). Right rows may lie outside only if `checked`.
template <int rows, bool checked, class E, class Tile>
__device__ void multiply(WarpSums<E, Tile>& sums, const WarpJob<E, Tile>& job, int row, int lane) {
  using Value = typename E::Value;
  using Out = typename E::Out;
  constexpr int above = Tile::overlaps - 1, right_rows = above + rows;
  // Small enough for the instruction cache, and a divisor of the loop's 32 steps.
  constexpr int unrolled_steps = std::clamp<int>(
      std::bit_floor(64u / (Tile::lefts * Tile::rights * Tile::overlaps * rows)), 2, 8);
  Value bottom[Tile::lefts][rows], top[Tile::lefts][rows], right[Tile::rights][right_rows];
  fill<E, false>(bottom, job.left, job.columns.begin + job.dx + lane, row);
  for (int column = job.columns.begin; column < job.columns.end; column += 32) {
    fill<E, false>(top, job.left, column + job.dx + 32 + lane, row);
    fill<E, checked>(right, job.right, column + lane, row - job.dy - above);
#pragma unroll unrolled_steps
    for (int step = 0; step < 32; ++step) {
#pragma unroll
      for (int r = 0; r < Tile::rights; ++r)
#pragma unroll
        for (int k = 0; k < right_rows; ++k) {
          const Value b = __shfl_sync(~0u, right[r][k], step);
#pragma unroll
          for (int l = 0; l < Tile::lefts; ++l)
#pragma unroll
            for (int i = 0; i < rows; ++i) {
              const int o = i + above - k;
              if (o >= 0 && o < Tile::overlaps) sums.v[l][r][o] += Out(bottom[l][i]) * Out(b);
            }
        }
#pragma unroll
      for (int l = 0; l < Tile::lefts; ++l)
#pragma unroll
        for (int i = 0; i < rows; ++i) advance(bottom[l][i], top[l][i], lane);
    }
  }
}

/// Loops over the left's rows. In the main phase all of the tile's rows meet all of its overlaps.
/// Before it (init) and after it (final) some overlaps have no row; between it and the final phase
/// (rest) fewer rows than the tile's may remain. Those three proceed row by row.
template <class E, class Tile>
__device__ void multiply_rows(WarpSums<E, Tile>& sums, const WarpJob<E, Tile>& job, int lane) {
  constexpr bool grouped = Tile::overlaps > 1 || Tile::rows > 1;
  const int main_begin = job.dy + Tile::overlaps - 1;
  const int main_end = min(job.rows.end, job.dy + job.right.size.height);
  for (int row = job.rows.begin; row < job.rows.end;) {
    if (!grouped || (row >= main_begin && row + Tile::rows <= main_end)) {
      multiply<Tile::rows, false>(sums, job, row, lane);
      row += Tile::rows;
    } else if constexpr (grouped) {
      multiply<1, (Tile::overlaps > 1)>(sums, job, row, lane);
      ++row;
    }
  }
}

/// The least number of blocks of max_warps per multiprocessor, by which the compiler limits the
/// registers. Without it the compiler spills some.
template <class E, class Tile>
constexpr int blocks_wanted = std::clamp(
    256 / (Tile::values * int(sizeof(typename E::Value) + sizeof(typename E::Out)) / 8 + 76), 1, 4);

// ---- the kernel -----------------------------------------------------------------------------

/// The launch's part of a problem.
struct PairRange {
  const std::byte *lefts, *rights;
  int first_right, right_count;
};

/// The matrices from left `l` on and, of its rights in the launch, from `r` on.
template <class E, class Tile>
__device__ WarpJob<E, Tile> job_of(const Problem& p, const PairRange& range, int l, int r) {
  const Pair pair =
      pair_of(p, std::int64_t{l} * range.right_count + r, range.first_right, range.right_count);
  WarpJob<E, Tile> job;
  job.left = {range.lefts + pair.left * p.left_stride, p.left_stride, p.left_pitch, p.left,
              p.lefts - l};
  job.right = {range.rights + pair.right * p.right_stride, p.right_stride, p.right_pitch, p.right,
               range.right_count - r};
  return job;
}

/// Places the job at the output's column x and row y, and selects part `number` of its rows.
template <class E, class Tile>
__device__ void place(WarpJob<E, Tile>& job, const Problem& p, const RowJobs& jobs, int x, int y,
                      int number) {
  job.dx = p.shifts.x + x;
  job.dy = p.shifts.y + y;
  job.columns = {max(0, -(job.dx + 31)), min(p.right.width, p.left.width - job.dx)};
  job.rows = {max(0, job.dy), min(p.left.height, job.dy + Tile::overlaps - 1 + p.right.height)};
  if (jobs.split()) {
    job.rows.begin += number * jobs.rows_per_job;
    job.rows.end = min(job.rows.end, job.rows.begin + jobs.rows_per_job);
  }
}

template <class E, class Tile>
__device__ void store(const WarpSums<E, Tile>& sums, const WarpJob<E, Tile>& job, const Problem& p,
                      std::int64_t first_output, int outputs_of_left, int x, int y, bool add,
                      typename E::Out* out) {
  if (x >= p.shifts.width) return;
#pragma unroll
  for (int l = 0; l < Tile::lefts; ++l)
#pragma unroll
    for (int r = 0; r < Tile::rights; ++r)
#pragma unroll
      for (int o = 0; o < Tile::overlaps; ++o) {
        if (l >= job.left.count || r >= job.right.count || y + o >= p.shifts.height) continue;
        const std::int64_t output = first_output + l * outputs_of_left + r;
        auto* to = out + (output * p.shifts.height + y + o) * p.shifts.width + x;
        if (Tile::overlaps == 1 && add)
          add_part(to, sums.v[l][r][o]);
        else
          *to = sums.v[l][r][o];
      }
}

/// A block is `blockDim.y` warps, of neighbouring workers in `jobs`.
template <class E, class Tile>
__global__ void __launch_bounds__(32 * max_warps, blocks_wanted<E, Tile>)
    warp_shuffle(Problem p, const __grid_constant__ RowJobs jobs, PairRange range,
                 typename E::Out* out) {
  const int lane = threadIdx.x, x = blockIdx.x * 32;
  // A broadcast tells the compiler that the lanes of a warp stay together.
  const int warp = __shfl_sync(~0u, threadIdx.y, 0);
  const int right_groups = ceil_div(range.right_count, Tile::rights);
  const int groups = ceil_div(p.lefts, Tile::lefts) * right_groups;
  for (int g = blockIdx.z; g < groups; g += gridDim.z) {
    const int l = g / right_groups * Tile::lefts, r = g % right_groups * Tile::rights;
    WarpJob<E, Tile> job = job_of<E, Tile>(p, range, l, r);
    for (int worker = blockIdx.y * blockDim.y + warp; worker < jobs.workers;
         worker += gridDim.y * blockDim.y) {
      const RowJob part = jobs.at(worker);
      const int y = part.row * Tile::overlaps;
      place(job, p, jobs, x, y, part.number);
      if (jobs.split() && job.rows.begin >= job.rows.end) continue;
      WarpSums<E, Tile> sums;
      multiply_rows(sums, job, lane);
      store(sums, job, p, std::int64_t{l} * range.right_count + r, range.right_count, x + lane, y,
            jobs.split(), out);
    }
  }
}

// ---- launch, supports, rows of tables -------------------------------------------------------

/// Calls f.operator()<E>() with the Element of a problem that the tile supports.
template <class Tile, class F>
auto with_element_of_tile(const Problem& p, F f) {
  if constexpr (Tile::takes_wide) {
    return with_narrow_element(p, f);
  } else {
    if (p.type == ElementType::u8) return f.template operator()<ElementU8>();
    return f.template operator()<ElementF32>();
  }
}

/// One tuning: a thread's tile, and what needs no further kernel.
struct ShuffleTuning {
  int lefts = 1, rights = 1, overlaps = 1, rows = 1;  ///< of the tile
  Distribution jobs = Distribution::none;
  int rows_per_job = 0;
  int warps = 4;  ///< per block

  constexpr RowJobs jobs_of(const Problem& p) const {
    if (overlaps > 1) return whole_rows(ceil_div(p.shifts.height, overlaps));
    return split_rows(p, jobs, rows_per_job);
  }
};

template <ShuffleTuning t>
using TileOf = WarpTile<t.lefts, t.rights, t.overlaps, t.rows>;

template <ShuffleTuning t>
Status launch_warp_shuffle(const stage::Correlate::Problem& problem, const Device&,
                           const stage::Correlate::Buffers& b, PlanState*) {
  using Tile = TileOf<t>;
  const Problem& p = problem.correlate;
  const RowJobs jobs = t.jobs_of(p);
  if (jobs.split())
    if (Status s = clear_products(p, b); !s.ok()) return s;
  return with_element_of_tile<Tile>(p, [&]<class E>() {
    const std::int64_t groups =
        std::int64_t{ceil_div(p.lefts, Tile::lefts)} * ceil_div(b.right_count, Tile::rights);
    const dim3 grid(ceil_div(p.shifts.width, 32), grid_extent(ceil_div(jobs.workers, t.warps)),
                    grid_extent(groups));
    const PairRange range{static_cast<const std::byte*>(b.lefts),
                          static_cast<const std::byte*>(b.rights), b.first_right, b.right_count};
    return enqueue("warp_shuffle", warp_shuffle<E, Tile>, grid, dim3(32, t.warps), 0, b.stream, p,
                   jobs, range, static_cast<typename E::Out*>(b.products));
  });
}

template <ShuffleTuning t>
bool supports_warp_shuffle(const stage::Correlate::Problem& problem, const Device&) {
  const Problem& p = problem.correlate;
  const bool form = (t.lefts == 1 || p.form == Form::n_to_m) && (t.rights == 1 || p.rights > 1);
  return form && supports_definition(problem) && t.jobs_of(p).workers < 1 << 30;
}

template <class Tile>
constexpr Features warp_shuffle_features = Tile::takes_wide ? narrow_features
                                                            : Features(Feature::u8, Feature::f32,
                                                                       Feature::several_images,
                                                                       Feature::partial_overlap);

/// The parameters that differ from one warp for each 32 overlaps: lL, rR: lefts and rights; jR:
/// jobs of R rows, t as triangles or r as rectangles; oO, lL: overlaps and rows of the left at a
/// time; wW: warps per block, else 4.
template <class Family, ShuffleTuning t>
constexpr VariantName warp_shuffle_name = [] {
  VariantName name = variant_name(Family::name);
  const bool pairs = t.lefts * t.rights > 1, jobs = t.jobs != Distribution::none,
             overlaps = t.overlaps * t.rows > 1;
  name.add(pairs ? "." : "");
  name.add_if(t.lefts > 1, "l", t.lefts);
  name.add_if(pairs, "r", t.rights);
  name.add_if(jobs, ".j", t.rows_per_job);
  if (jobs) name.add(t.jobs == Distribution::triangle ? "t" : "r");
  name.add_if(overlaps, ".o", t.overlaps);
  name.add_if(overlaps, "l", t.rows);
  const bool plain = !pairs && !jobs && !overlaps;
  name.add_if(plain || t.warps != 4, plain ? ".w" : "w", t.warps);
  return name;
}();

/// A row of a family's table. `Family` has its name.
template <class Family, ShuffleTuning t>
constexpr Variant<stage::Correlate> warp_shuffle_variant() {
  static_assert(t.warps <= max_warps);
  static_assert(t.jobs == Distribution::none || t.overlaps * t.rows == 1,
                "jobs of some rows are for overlaps of the same rows");
  return {{.name = warp_shuffle_name<Family, t>.text,
           .backend = Backend::cuda,
           .features = warp_shuffle_features<TileOf<t>>},
          {.supports = supports_warp_shuffle<t>, .launch = launch_warp_shuffle<t>}};
}

}  // namespace xcorr::cuda
