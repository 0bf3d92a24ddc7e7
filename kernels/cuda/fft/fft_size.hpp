// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sizes of circular correlations. Wrap-around may fall on shifts that are not requested, so 'valid'
// shifts need only the left's size, 'full' ones the sum of both less one. That is rounded up to a
// size that transforms fast.
#pragma once

#include <algorithm>
#include <span>

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {

#include "cuda/fft/fft_sizes.inc"

/// The next multiple of `step` that has no prime factor above 7, which cuFFT transforms fast.
inline int smooth_size(int least, int step) {
  for (int n = ceil_div(least, step) * step;; n += step) {
    int rest = n;
    for (int factor : {2, 3, 5, 7})
      while (rest % factor == 0) rest /= factor;
    if (rest == 1) return n;
  }
}

/// The next size worth padding to: on an H200 1920x1080 takes 36 us, 2048x1120 20 us. Multiples of
/// 8, which the kernels rely on: rows are whole 16-byte words, spectra a whole number of them.
inline int fast_size(std::span<const int> listed, int least) {
  const auto next = std::lower_bound(listed.begin(), listed.end(), least);
  return next != listed.end() ? *next : smooth_size(least, 32);
}

/// Along one axis, the least size at which shifts [first, first + count) do not wrap around.
constexpr int circular_size(int left, int right, int first, int count) {
  return std::max({left, right, first + count - 1 + right, left - first});
}

constexpr Size circular_size(const Problem& p) {
  return {circular_size(p.left.width, p.right.width, p.shifts.x, p.shifts.width),
          circular_size(p.left.height, p.right.height, p.shifts.y, p.shifts.height)};
}

/// The lists were measured for single transforms. A batch of small ones is bound by memory traffic,
/// so little padding is best then.
inline Size transform_size(const Problem& p) {
  constexpr std::int64_t small = 512 * 512;
  const Size least = circular_size(p);
  if (p.outputs() > 1 && least.area() <= small)
    return {smooth_size(least.width, 32), smooth_size(least.height, 32)};
  return {fast_size(fast_widths, least.width), fast_size(fast_heights, least.height)};
}

}  // namespace xcorr::cuda
