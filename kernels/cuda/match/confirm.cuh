// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at a window by a block, upright or at a pose: its threads share the pixels for
// the means and the contrasts, then a warp takes a square after the other.
#pragma once

#include "cuda/common/block_sums.cuh"
#include "stages/match/confirm.hpp"

namespace xcorr::cuda::second_look {

constexpr int threads = 256, warps = threads / 32;
constexpr int rows_of_warp = 32 / confirm_side;  ///< of a square, at a time

struct Means {
  double window = 0, right = 0;
};

// A Pair is a window and its template, of so many `planes` and a `size`; its at(plane, x, y, visit)
// calls visit(f, t) if that pixel counts.

/// All pixels of a plane, divided among the threads of the block.
template <class Pair, class Visit>
__device__ void for_counted(const Pair& pair, int plane, Visit visit) {
  XCORR_ROLL
  for (int y = threadIdx.x / 32; y < pair.size.height; y += warps) XCORR_ROLL
  for (int x = threadIdx.x % 32; x < pair.size.width; x += 32) pair.at(plane, x, y, visit);
}

/// The mean square of differences in the warp's square at (left, top).
template <class Pair>
__device__ double mean_square(const Pair& pair, const Means* means, double gain, int left,
                              int top) {
  const int planes = pair.planes;
  const int x = left + static_cast<int>(threadIdx.x) % confirm_side;
  const int first = top + static_cast<int>(threadIdx.x) % 32 / confirm_side;
  const int end = min(top + confirm_side, pair.size.height);
  double squares = 0, pixels = 0;
  XCORR_ROLL
  for (int plane = 0; plane < planes; ++plane) XCORR_ROLL
  for (int y = first; y < end && x < pair.size.width; y += rows_of_warp)
    pair.at(plane, x, y, [&](double f, double t) {
      const double rest = gain * (f - means[plane].window) - (t - means[plane].right);
      squares += rest * rest;
      ++pixels;
    });
  return confirm_mean(warp_sum(squares), warp_sum(pixels) / planes, planes);
}

/// The largest of them, for all threads, which are synchronised then.
template <class Pair>
__device__ double worst_square(const Pair& pair, Method method, bool inverted) {
  __shared__ Means means[color_planes];
  __shared__ double of_warps[warps];
  double contrasts[2] = {};
  XCORR_ROLL
  for (int plane = 0; plane < pair.planes; ++plane) {
    double sums[3] = {};
    for_counted(pair, plane, [&](double f, double t) {
      ++sums[0];
      sums[1] += f;
      sums[2] += t;
    });
    block_sums<warps>(sums);
    Means own;
    if (info(method).centred && sums[0] > 0) own = {sums[1] / sums[0], sums[2] / sums[0]};
    if (threadIdx.x == 0) means[plane] = own;
    for_counted(pair, plane, [&](double f, double t) {
      contrasts[0] += (f - own.window) * (f - own.window);
      contrasts[1] += (t - own.right) * (t - own.right);
    });
  }
  block_sums<warps>(contrasts);
  const double gain = confirm_gain(method, contrasts[0], contrasts[1], inverted);
  const int across = (pair.size.width + confirm_side - 1) / confirm_side,
            down = (pair.size.height + confirm_side - 1) / confirm_side;
  const int warp = threadIdx.x / 32;
  double worst = 0;
  XCORR_ROLL
  for (int i = warp; i < across * down; i += warps)
    worst = fmax(worst, mean_square(pair, means, gain, i % across * confirm_side,
                                    i / across * confirm_side));
  if (threadIdx.x % 32 == 0) of_warps[warp] = worst;
  __syncthreads();
  XCORR_ROLL
  for (int i = 0; i < warps; ++i) worst = fmax(worst, of_warps[i]);
  __syncthreads();
  return worst;
}

}  // namespace xcorr::cuda::second_look
