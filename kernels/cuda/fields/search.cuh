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

/// Of a place that was not tried: less than any score.
inline constexpr double unscored = -2;

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

struct ScoredShift {
  double score;
  int shift;

  /// Of equal scores the first one wins.
  __device__ bool is_better(const ScoredShift& other) const {
    return score > other.score || (score == other.score && shift < other.shift);
  }
};

}  // namespace xcorr::cuda
