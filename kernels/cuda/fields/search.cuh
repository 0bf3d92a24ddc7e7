// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches of windows share: from scores in shared memory to the vector.
#pragma once

#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/displace.hpp"

namespace xcorr::cuda {

struct SearchBuffers {
  const std::uint8_t* reference;
  const std::uint8_t* frame;
  const std::uint8_t* mask;
  const FieldWindow* windows;
  FieldVector* vectors;
};

/// Of a place that was not tried: less than any score.
inline constexpr double unscored = -2;

/// At least what the searches have of shared memory besides.
inline constexpr std::size_t search_static_bytes = 3072;

/// Whether there is nothing to search; then the vector is written.
__device__ inline bool write_if_left_out(const stage::Displace::Problem& p,
                                         const FieldWindow& window, const SearchedPlaces& places,
                                         FieldVector& vector) {
  const bool is_left_out = window.status != FieldStatus::ok;
  if (!is_left_out && !places.empty()) return false;
  if (threadIdx.x == 0)
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

/// The best of the block's, for all threads.
template <int warps>
__device__ ScoredShift block_best(ScoredShift own) {
  __shared__ ScoredShift best_of[warps];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const ScoredShift other{__shfl_xor_sync(~0u, own.score, step),
                            __shfl_xor_sync(~0u, own.shift, step)};
    if (other.is_better(own)) own = other;
  }
  if (threadIdx.x % 32 == 0) best_of[threadIdx.x / 32] = own;
  __syncthreads();
  ScoredShift best = best_of[0];
#pragma unroll 1
  for (int i = 1; i < warps; ++i)
    if (best_of[i].is_better(best)) best = best_of[i];
  __syncthreads();  // the next call overwrites `best_of`
  return best;
}

/// From the scores of all shifts, which are complete; `variance` is that of the reference's window.
template <int warps>
__device__ void write_vector(const stage::Displace::Problem& p, const FieldWindow& window,
                             const SearchedPlaces& places, double variance, const double* scores,
                             FieldVector& vector) {
  const int across = p.shifts(), count = across * across;
  ScoredShift own{unscored, 0};
  for (int i = threadIdx.x; i < count; i += 32 * warps)
    if (scores[i] > own.score) own = {scores[i], i};
  const ScoredShift best = block_best<warps>(own);
  const int best_x = best.shift % across, best_y = best.shift / across;
  own = {0, 0};
  for (int i = threadIdx.x; i < count; i += 32 * warps)
    if (scores[i] > own.score && !FoundPlace::is_near(i % across - best_x, i / across - best_y))
      own = {scores[i], i};
  const double second = block_best<warps>(own).score;
  if (threadIdx.x != 0) return;
  if (!(variance > 0)) {
    vector = vector_without(window, p.window, FieldStatus::flat);
    return;
  }
  FoundPlace found{best_x, best_y, second, {}};
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    const int x = best_x + i % 3 - 1, y = best_y + i / 3 - 1;
    found.scores[i] = places.contains(x, y) ? scores[y * across + x] : 0;
  }
  vector = vector_of(p, window, places, found);
}

}  // namespace xcorr::cuda
