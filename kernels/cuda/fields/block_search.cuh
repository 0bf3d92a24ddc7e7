// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the searches have in common that take one block per window and have the scores of all shifts
// in shared memory, or estimates of them. \tparam warps  of the block
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

/// The greatest of the block's, for all threads.
template <int warps>
__device__ float block_greatest(float own) {
  __shared__ float greatest_of[warps];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) own = fmaxf(own, __shfl_xor_sync(~0u, own, step));
  if (threadIdx.x % 32 == 0) greatest_of[threadIdx.x / 32] = own;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < warps; ++i) own = fmaxf(own, greatest_of[i]);
  __syncthreads();  // the next call overwrites `greatest_of`
  return own;
}

/// The best of the positive scores, -1 if there is none: exact ones tell where several may be that.
template <int warps, class Exact>
__device__ int best_by_estimates(const float* estimates, int count, Exact exact) {
  __shared__ int likely, only;
  if (threadIdx.x == 0) likely = 0;
  float own = no_estimate;
  for (int i = threadIdx.x; i < count; i += 32 * warps) own = fmaxf(own, estimates[i]);
  const float greatest = block_greatest<warps>(own), least = greatest * estimate_slack;
  if (!(greatest > 0)) return -1;
  if (own >= least)
    for (int i = threadIdx.x; i < count; i += 32 * warps)
      if (estimates[i] >= least && atomicAdd(&likely, 1) == 0) only = i;
  __syncthreads();
  const bool is_sure = likely == 1;  // as nearly always
  const int found = only;
  __syncthreads();  // the next call overwrites them
  if (is_sure) return found;
  ScoredShift best{unscored, 0};
  if (own >= least)
#pragma unroll 1
    for (int i = threadIdx.x; i < count; i += 32 * warps) {
      if (!(estimates[i] >= least)) continue;
      const ScoredShift one{exact(i), i};
      if (one.is_better(best)) best = one;
    }
  return block_best<warps>(best).shift;
}

/// From estimates of the scores of all shifts, which are complete, up to a factor that they share;
/// they are lost.
/// \param exact  exact(shift) gives a score
template <int warps, class Exact>
__device__ void write_vector_by_estimates(const stage::WindowSearch::Problem& p,
                                          const InterrogationWindow& window,
                                          const SearchedPlaces& places, float* estimates,
                                          Exact exact, FieldVector& vector) {
  __shared__ FoundPlace found;
  const int across = p.shifts(), count = across * across, own = static_cast<int>(threadIdx.x);
  const int best = best_by_estimates<warps>(estimates, count, exact);
  if (best < 0) {
    if (own == 0) vector = vector_without(window, p.window, FieldStatus::flat);
    return;
  }
  const int best_x = best % across, best_y = best / across;
  // What is near the best does not count as the second.
  constexpr int near = 2 * FoundPlace::reach + 1;
  if (own < near * near) {
    const int x = best_x + own % near - FoundPlace::reach,
              y = best_y + own / near - FoundPlace::reach;
    if (x >= 0 && x < across && y >= 0 && y < across) estimates[y * across + x] = no_estimate;
  }
  __syncthreads();
  const int second = best_by_estimates<warps>(estimates, count, exact);
  if (own < 32)
    write_found(
        p, window, places, best, second, [&](int x, int y) { return exact(y * across + x); }, found,
        vector);
}

/// Scores of all shifts from what a search knows of each, and the vector from these.
/// \param estimates  memory for one of each shift
/// \param estimate   estimate(shift) is off by less than estimate_slack says
/// \param exact      exact(shift) is the score
template <int warps, class Estimate, class Exact>
__device__ void search_by_estimates(const stage::WindowSearch::Problem& p, const SearchBuffers& b,
                                    int index, const SearchedPlaces& places, float* estimates,
                                    Estimate estimate, Exact exact) {
  const int across = p.shifts();
#pragma unroll 4
  for (int shift = threadIdx.x; shift < across * across; shift += 32 * warps) {
    if (!places.contains(shift % across, shift / across))
      estimates[shift] = no_estimate;
    else if (p.pairs == 1)
      estimates[shift] = estimate(shift);
    else  // all are kept, in single precision
      estimates[shift] = static_cast<float>(kept_score(p, b, index, shift, exact(shift)));
  }
  __syncthreads();
  if (!p.is_last()) return;
  write_vector_by_estimates<warps>(
      p, b.windows[index], places, estimates,
      [&](int shift) {
        return p.pairs == 1 ? exact(shift)
                            : double{b.next_sums[std::int64_t{index} * across * across + shift]};
      },
      b.vectors[index]);
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
