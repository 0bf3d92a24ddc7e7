// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches of windows share.
#pragma once

#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/fields/window_search.hpp"

namespace xcorr::cuda {

struct SearchBuffers {
  const std::uint8_t* reference;
  const std::uint8_t* frame;
  const std::uint8_t* mask;
  const InterrogationWindow* windows;
  FieldVector* vectors;
  const float* sums = nullptr;  ///< of an ensemble
  float* next_sums = nullptr;
};

/// Rows of zeros before the window's, where tiles of eight rows meet it.
inline constexpr int margin = 7;

/// Of a place that was not tried: less than any score.
inline constexpr double unscored = -2;

/// Of such a place, in single precision.
inline constexpr float no_estimate = -1e30F;

/// A share of the greatest estimate: by less than the rest two estimates are off.
inline constexpr float estimate_slack = 1 - 4e-6F;

/// At least what the searches have of shared memory besides.
inline constexpr std::size_t search_static_bytes = 3072;

/// Whether there is nothing to search; then the vector is written.
__device__ inline bool write_if_left_out(const stage::WindowSearch::Problem& p,
                                         const InterrogationWindow& window,
                                         const SearchedPlaces& places, FieldVector& vector) {
  const bool is_left_out = window.status != FieldStatus::ok;
  if (!is_left_out && !places.empty()) return false;
  if (threadIdx.x == 0 && p.is_last())
    vector =
        vector_without(window, p.window, is_left_out ? window.status : FieldStatus::out_of_range);
  return true;
}

/// The vector of a window by a warp, from its best shift and the best one away from there.
/// \param second  -1: there is none
/// \param exact   exact(x, y) gives the score of a shift
/// \param found   in shared memory, of the warp alone
template <class Exact>
__device__ void write_found(const stage::WindowSearch::Problem& p,
                            const InterrogationWindow& window, const SearchedPlaces& places,
                            int best, int second, Exact exact, FoundPlace& found,
                            FieldVector& vector) {
  const int lane = threadIdx.x % 32, shifts = p.shifts();
  if (lane < 10) {  // the best place and those around it, and the second one
    const bool of_second = lane == 9;
    const int shift = of_second ? second : best;
    const int x = shift % shifts + (of_second ? 0 : lane % 3 - 1),
              y = shift / shifts + (of_second ? 0 : lane / 3 - 1);
    const bool exists = shift >= 0 && places.contains(x, y);
    const double score = exists ? exact(x, y) : 0;
    if (of_second)
      found.second = score;
    else
      found.set_score(p.subpixel, lane, score);
  }
  __syncwarp();
  if (lane != 0) return;
  found.x = best % shifts;
  found.y = best / shifts;
  vector = vector_of(p, window, places, found);
}

struct ScoredShift {
  double score;
  int shift;

  /// Of equal scores the first one wins.
  __device__ bool is_better(const ScoredShift& other) const {
    return score > other.score || (score == other.score && shift < other.shift);
  }
};

}  // namespace xcorr::cuda
