// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Words of four pixels from rows of bytes, beginning at any of them.
#pragma once

#include <cstdint>

namespace xcorr::cuda {

/// By how many bytes an address exceeds a word's.
__device__ inline int skew_of(const std::uint8_t* address) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % 4);
}

/// Words of a row from pixel x on. Up to seven bytes around them are read, too.
template <int count>
__device__ inline void load_words_inside(const std::uint8_t* row, int x,
                                         std::uint32_t (&words)[count]) {
  const int skew = skew_of(row + x);
  const auto* from = reinterpret_cast<const std::uint32_t*>(row + x - skew);
  std::uint32_t low = from[0];
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::uint32_t high = from[i + 1];
    words[i] = __funnelshift_r(low, high, 8 * skew);
    low = high;
  }
}

/// The same, of a row of `width` pixels; 0 outside. All that is read is inside.
template <int count>
__device__ inline void load_words(const std::uint8_t* row, int x, int width,
                                  std::uint32_t (&words)[count]) {
  if (x >= skew_of(row + x) && x + 4 * (count + 1) <= width)
    return load_words_inside(row, x, words);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    words[i] = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (const int at = x + 4 * i + k; at >= 0 && at < width)
        words[i] |= std::uint32_t{row[at]} << 8 * k;
  }
}

}  // namespace xcorr::cuda
