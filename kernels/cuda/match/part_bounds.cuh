// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches in colour that leave out the products of most windows. One plane, the lead, bounds the
// scores over all: if the score of the template in that plane alone is s, and the plane has a share
// a of the template's variance, the score over all planes is at most sqrt(1 - a (1 - s^2)), by the
// inequality of Cauchy and Schwarz, whatever the window has in the other planes; where its
// variances are known as well, less. A first pass has the products of that plane alone, and of each
// part of the windows the greatest score that may be there. What promises most is scored exactly,
// then the parts only that may hold something better. So results are the same; where the lead tells
// most, as luma in photographs, few parts are left. Parts are a warp's windows (bound_bank.cuh) or
// cells (open_cells.cuh).
#pragma once

#include <cmath>

#include "cuda/common/warp.cuh"
#include "cuda/match/best_peak.cuh"
#include "cuda/match/cell_peaks.cuh"

namespace xcorr::cuda {

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

/// The lead's share of a template's variance, a little more, times the square of a score in it.
__device__ inline float own_share(float rest, float of_lead) {
  return fminf(1 - rest + 2e-6f, 1) * fminf(of_lead, 1);
}

/// The greatest square of a score over all planes, where the lead's has that one: if shares a of
/// the template's and b of the window's variance are the lead's, at most sqrt(a b) s + sqrt((1 - a)
/// (1 - b)), whose square is at most a s^2 + 1 - a, whatever b.
__device__ inline float bound_of(float rest, float of_lead) {
  return 1.0001f * (own_share(rest, of_lead) + rest);
}

/// Lists of the parts that all planes are searched in, one for each group of rights.
struct OpenParts {
  int* parts;
  unsigned* counts;

  __device__ unsigned count(int group) const {
    return *static_cast<const volatile unsigned*>(&counts[group]);
  }
};

/// Whether a part may hold a window that reaches the limit of a score, which rounds.
__device__ inline bool may_hold(float high, float limit) {
  return limit <= 0 || high >= 0.99999f * limit * limit;
}

}  // namespace xcorr::cuda
