// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the best shift of a template to its only peak, shared by the searches of 8-bit data without
// score surfaces.
#pragma once

#include "cuda/common/element.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/match/peak_list.cuh"
#include "cuda/match/refinement.cuh"

namespace xcorr::cuda {

/// Whether the products of all planes may be one sum: so they may be of colour and of edges, for
/// one peak each, where 32 bits hold it.
inline bool adds_planes(const stage::Search::Problem& problem) {
  const Problem& p = problem.correlate;
  const int added = problem.method == Method::orientation ? edge_planes : color_planes;
  return p.planes == 1 || (p.planes == added && problem.max_peaks == 1 &&
                           p.planes * p.right.area() <= widest_u8_row);
}

/// Calls work with the number of planes as a constant.
template <class Work>
auto with_planes(const Problem& p, const Work& work) {
  if (p.planes == color_planes) return work(std::integral_constant<int, color_planes>());
  if (p.planes == edge_planes) return work(std::integral_constant<int, edge_planes>());
  return work(std::integral_constant<int, 1>());
}

/// Of the rights of a launch the best keys, 0 before and after; of all rights what comes of them.
struct BestPeaks {
  Key* best;
  Candidate* candidates;
  std::uint32_t* counts;
  RefinedPeak* peaks;  ///< null: candidates are not refined here
  std::uint32_t* peak_counts;
  float* open_shares;  ///< null: nobody asks

  /// By one thread. \param key  0: there is none
  __device__ void record(Key key, const Candidate& at, int index) const {
    counts[index] = key ? 1 : 0;
    if (peaks) peak_counts[index] = key ? 1 : 0;
    if (key) candidates[index] = at;
  }
};

/// Template rows that a warp takes at a time when refining, 32 columns of them.
constexpr int refined_rows = 8;

template <int threads, int planes>
using BestRefinement = Refinement<stage::Search::Problem, threads / 32, std::uint32_t, planes>;

/// Turns a right's best key into its candidate, and refines it, by all threads of a block. The
/// block's dynamic shared memory is overwritten.
template <int threads, int planes>
__device__ void settle_right(const stage::Search::Problem& p, bool minimum,
                             const MatchInputs<std::uint32_t>& from, int right, int first_right,
                             const BestPeaks& to) {
  const Key key = *static_cast<volatile Key*>(&to.best[right]);
  const Candidate at = candidate_of(key, minimum, p.correlate.shifts.width);
  const int index = first_right + right;
  __syncthreads();  // all threads have the key
  if (threadIdx.x == 0) {
    to.best[right] = 0;  // for the next frame
    to.record(key, at, index);
  }
  if (!key || !to.peaks) return;
  using Refining = BestRefinement<threads, planes>;
  Refining refining(p, from, index, at, *dynamic_shared<typename Refining::Shared>());
  // Larger templates are not refined here.
  refining.place(refining.template product<refined_rows, int>(0, 1), minimum, Polarity::same,
                 to.peaks[index]);
}

}  // namespace xcorr::cuda
