// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches have in common that take one block per window and have the scores of all shifts
// in shared memory. \tparam warps  of the block
#pragma once

#include "cuda/fields/search.cuh"

namespace xcorr::cuda {

/// The score of a shift, of an ensemble with those of the pairs before.
__device__ inline double kept_score(const stage::WindowSearch::Problem& p, const SearchBuffers& b,
                                    int window, int shift, double score) {
  if (p.pairs == 1) return score;
  const std::int64_t at = std::int64_t{window} * p.shifts() * p.shifts() + shift;
  return b.next_sums[at] = p.combined(score, b.sums + at);
}

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

/// From the scores of all shifts, which are complete.
template <int warps>
__device__ void write_vector(const stage::WindowSearch::Problem& p,
                             const InterrogationWindow& window, const SearchedPlaces& places,
                             const double* scores, FieldVector& vector) {
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
  FoundPlace found{best_x, best_y, 0, second, {}};
#pragma unroll
  for (int i = 0; i < 9; ++i) {
    const int x = best_x + i % 3 - 1, y = best_y + i / 3 - 1;
    found.set_score(p.subpixel, i, places.contains(x, y) ? scores[y * across + x] : 0);
  }
  vector = vector_of(p, window, places, found);
}

/// Whether a block has room for what a search's Layout says; `staged`: with the images.
template <class Layout>
bool has_room(const stage::WindowSearch::Problem& p, const Device& device, bool staged) {
  return Layout(p, staged).bytes + search_static_bytes <= max_shared_bytes(device);
}

template <class Layout>
bool supports_block_search(const stage::WindowSearch::Problem& p, const Device& device) {
  return has_room<Layout>(p, device, false);
}

using BlockSearch = void (*)(stage::WindowSearch::Problem, SearchBuffers);

/// \param staged, unstaged  the kernel with the images in shared memory, and the other
template <class Layout>
Status launch_block_search(const char* name, BlockSearch staged, BlockSearch unstaged, int threads,
                           const stage::WindowSearch::Problem& p, const Device& device,
                           const stage::WindowSearch::Buffers& b) {
  const bool stages = has_room<Layout>(p, device, true);
  return enqueue(
      name, stages ? staged : unstaged, dim3(grid_extent(p.count)), dim3(threads),
      Layout(p, stages).bytes, b.stream, p,
      SearchBuffers{b.reference, b.frame, b.mask, b.windows, b.vectors, b.sums, b.next_sums});
}

}  // namespace xcorr::cuda
