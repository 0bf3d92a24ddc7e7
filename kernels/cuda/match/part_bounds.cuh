// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches in colour that leave out the products of most windows. One plane, the lead, bounds the
// scores over all: if the score of the template in that plane alone is s, and the plane has a share
// a of the template's variance, the score over all planes is at most sqrt(1 - a (1 - s^2)), by the
// inequality of Cauchy and Schwarz, whatever the window has in the other planes; where its
// variances are known as well, less. A first pass has the products of that plane alone, and of each
// part of the windows, such as a block's, the greatest score that may be there and whose it would
// be. The windows that promise most are scored exactly, and the products of all planes are made of
// the parts only that may hold a better one. So results are the same; where the lead tells most, as
// luma in photographs, few parts are left.
#pragma once

#include <cmath>

#include "cuda/common/warp.cuh"
#include "cuda/match/best_peak.cuh"
#include "cuda/match/cell_peaks.cuh"

namespace xcorr::cuda {

/// Of a part: the greatest square of a score that may be there, and the window's index.
struct PartBound {
  float high;
  unsigned index;

  __device__ void take_better(const PartBound& other) {
    if (other.high > high) *this = other;
  }
  __device__ PartBound of_lane(int step) const {
    return {__shfl_xor_sync(~0u, high, step), __shfl_xor_sync(~0u, index, step)};
  }
};

/// Whether a search is to leave out windows so.
inline bool bounds_parts(const stage::Search::Problem& p) {
  return p.lead_plane >= 0 && p.correlate.planes == color_planes &&
         p.method == Method::ccoeff_normed && p.max_peaks == 1 && !p.correlate.own_lefts;
}

/// The share of a template's variance that the lead plane does not have, a little more.
__device__ inline float rest_of_right(const stage::Search::Problem& problem,
                                      const TemplateSums* template_sums, int right) {
  const Problem& p = problem.correlate;
  double lead = 0, all = 0;
#pragma unroll
  for (int c = 0; c < color_planes; ++c) {
    const double of_plane = template_sums[std::int64_t{c} * p.rights + right].n2_variance;
    all += of_plane;
    if (c == problem.lead_plane) lead = of_plane;
  }
  return all > 0 ? fminf(1 - static_cast<float>(lead / all) + 1e-6f, 1) : 0;
}

/// The lead's shares of the variances of a part's windows; the least is the larger one where there
/// are none.
struct LeadShares {
  float least, most;

  __device__ void add(const LeadShares& other) {
    least = fminf(least, other.least);
    most = fmaxf(most, other.most);
  }
  __device__ LeadShares of_lane(int step) const {
    return {__shfl_xor_sync(~0u, least, step), __shfl_xor_sync(~0u, most, step)};
  }
};

/// The greatest square of a score over all planes, where the lead's has that one: if shares a of
/// the template's and b of the window's variance are the lead's, at most sqrt(a b) s + sqrt((1 - a)
/// (1 - b)), which is most where b is a s^2 / (a s^2 + 1 - a).
__device__ inline float bound_of(float rest, float of_lead, const LeadShares& shares) {
  const float own = fminf(1 - rest + 2e-6f, 1) * fminf(of_lead, 1), both = own + rest;
  if (!(both > 0)) return 0;
  const float share = fmaxf(fminf(own / both, shares.most), shares.least),
              score = sqrtf(own * share) + sqrtf(rest * (1 - share + 2e-7f));
  return 1.0001f * score * score;
}
/// Whatever the windows have.
__device__ inline float bound_of(float rest, float of_lead) {
  return bound_of(rest, of_lead, {0, 1});
}

/// Lists of the parts that all planes are searched in, one for each group of rights.
struct OpenParts {
  int* parts;
  unsigned *marks, *counts;  ///< marks: of parts that are listed; both 0 before

  __device__ void add(int group, int part, int parts_each) const {
    const std::int64_t first = std::int64_t{group} * parts_each;
    if (atomicExch(&marks[first + part], 1u) == 0)
      parts[first + atomicAdd(&counts[group], 1u)] = part;
  }
};

/// Whether a part may hold a window that reaches the limit of a score, see PartBound.
__device__ inline bool may_hold(const PartBound& part, float limit) {
  return limit <= 0 || part.high >= 0.998f * limit * limit;
}

/// A thread's share of the product of a template with the window at an index, over all planes.
__device__ inline u32 share_of_product(const CellInputs& from, int right, unsigned index) {
  const Problem& p = from.problem.correlate;
  const int x = p.shifts.x + static_cast<int>(index % p.shifts.width),
            y = p.shifts.y + static_cast<int>(index / p.shifts.width),
            words_across = ceil_div(p.right.width, 4), words = words_across * p.right.height;
  u32 product = 0;
#pragma unroll 2
  for (int i = threadIdx.x; i < p.planes * words; i += blockDim.x) {
    const int plane = i / words, word = i - plane * words, j = word / words_across,
              column = 4 * (word - j * words_across);
    const auto* pixels = reinterpret_cast<const std::uint8_t*>(
        from.templates +
        (std::int64_t{plane} * p.rights + from.first_right + right) * p.right_stride);
    const auto* region = reinterpret_cast<const std::uint8_t*>(
        from.left + p.left_offset(from.first_right + right) + plane * p.left_plane);
    u32 four[1], of_frame[1];
    load_words(pixels + j * p.right_pitch, column, p.right.width, four);
    load_words(region + (y + j) * p.left_pitch, x + column, p.left.width, of_frame);
    product = __dp4a(of_frame[0], four[0], product);
  }
  return product;
}

/// The bounds of the parts of a launch's rights: right by right, or, of `columns` rights together,
/// part by part.
struct PartBounds {
  PartBound* of;
  int parts, columns;

  __device__ PartBound& at(int right, int part) const {
    return of[columns == 1
                  ? std::int64_t{right} * parts + part
                  : (std::int64_t{right / columns} * parts + part) * columns + right % columns];
  }
};

constexpr int trial_threads = 256, trials = 8;

/// Scores the windows exactly that promise most, one of each share of the parts. Grid: trials,
/// rights. `first`: the first right among the bounds' columns.
static __global__ void __launch_bounds__(trial_threads)
    try_best(CellInputs from, PartBounds bounds, int first, Key* best) {
  __shared__ PartBound of_warps[trial_threads / 32];
  __shared__ u32 product;
  let_next_begin();
  wait_for_previous();
  const int right = blockIdx.y, column = first + right, warp = threadIdx.x / 32;
  PartBound mine{0, 0};
  for (int part = blockIdx.x + trials * threadIdx.x; part < bounds.parts;
       part += trials * trial_threads)
    mine.take_better(bounds.at(column, part));
#pragma unroll
  for (int step = 16; step > 0; step /= 2) mine.take_better(mine.of_lane(step));
  if (threadIdx.x == 0) product = 0;
  if (threadIdx.x % 32 == 0) of_warps[warp] = mine;
  __syncthreads();
  mine = of_warps[0];  // the same for all threads, also where several promise as much
  for (const PartBound& of_warp : of_warps) mine.take_better(of_warp);
  const ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  if (mine.high == 0 || !may_hold(mine, scorer.limit)) return;
  const u32 share = warp_sum(share_of_product(from, right, mine.index));
  if (threadIdx.x % 32 == 0) atomicAdd(&product, share);
  __syncthreads();
  if (threadIdx.x > 0) return;
  if (const Key key = scorer.key(product, mine.index)) atomicMax(&best[right], key);
}

/// Lists the parts that may hold a better window under the rights' groups of columns. Grid: shares
/// of the parts, rights.
static __global__ void __launch_bounds__(trial_threads)
    list_open_parts(CellInputs from, PartBounds bounds, int first, OpenParts open,
                    const Key* best) {
  let_next_begin();
  wait_for_previous();
  const int right = blockIdx.y, column = first + right;
  ScorerOf<color_planes> scorer = from.scorer<color_planes>(right);
  if (const Key known = best[right]) scorer.raise(score_of(known, false));
  for (int part = blockIdx.x * trial_threads + threadIdx.x; part < bounds.parts;
       part += gridDim.x * trial_threads)
    if (may_hold(bounds.at(column, part), scorer.limit))
      open.add(column / bounds.columns, part, bounds.parts);
}

}  // namespace xcorr::cuda
