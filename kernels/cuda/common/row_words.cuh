// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Words of four pixels from rows of bytes, beginning at any of them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "stages/common/four_pixels.hpp"

namespace xcorr::cuda {

/// By how many bytes an address exceeds a word's.
__device__ inline int skew_of(const std::uint8_t* address) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % 4);
}

/// Words that begin `skew` bytes, of which whole words do not count, after those of word(0),
/// word(1), ...
template <int count, class Word>
__device__ inline void words_between(unsigned skew, std::uint32_t (&words)[count], Word word) {
  std::uint32_t low = word(0);
#pragma unroll
  for (int i = 0; i < count; ++i) {
    const std::uint32_t high = word(i + 1);
    words[i] = __funnelshift_r(low, high, 8 * skew);
    low = high;
  }
}

/// Words of a row from pixel x on. Up to seven bytes around them are read, too.
template <int count>
__device__ inline void load_words_inside(const std::uint8_t* row, int x,
                                         std::uint32_t (&words)[count]) {
  const auto address = reinterpret_cast<std::uintptr_t>(row + x);
  const auto* from = reinterpret_cast<const std::uint32_t*>(address & ~std::uintptr_t{3});
  words_between(static_cast<unsigned>(address), words, [&](int i) { return from[i]; });
}

/// Weights of 16 bits for the bytes of words.
struct ByteWeights {
  const unsigned first, last;

  __device__ explicit ByteWeights(const int (&of)[4])
      : first((of[0] & 0xffff) | of[1] << 16), last((of[2] & 0xffff) | of[3] << 16) {}
  /// The sum of a word's bytes, each times its own.
  __device__ int sum(std::uint32_t bytes) const {
    int sum = 0;
#ifdef __CUDA_ARCH__
    asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(first), "r"(bytes));
    asm("dp2a.hi.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(last), "r"(bytes));
#else
    for (int i = 0; i < 4; ++i)
      sum += static_cast<std::int16_t>((i < 2 ? first : last) >> i % 2 * 16) *
             static_cast<int>(bytes >> 8 * i & 0xff);
#endif
    return sum;
  }
};

/// Reads four pixels as two words.
struct ReadWords {
  static constexpr int past = 4;

  __device__ FourPixels<std::uint8_t> operator()(const std::uint8_t* first) const {
    std::uint32_t word[1];
    load_words_inside(first, 0, word);
    const auto at = [&](int i) { return static_cast<std::uint8_t>(word[0] >> 8 * i); };
    return {at(0), at(1), at(2), at(3)};
  }
  /// Where rows are whole words, as are those of a template's pyramid.
  template <class Sum>
  __device__ Sum weighed(const std::uint8_t* pixels, int first, int pitch, const int (&across)[4],
                         const int (&down)[4]) const {
    const ByteWeights weights(across);
    const unsigned skew = first & 3;
    const std::uint8_t* from = pixels + (first - skew);
    Sum sum = 0;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const auto* const words = reinterpret_cast<const std::uint32_t*>(from);
      sum += down[j] * weights.sum(__funnelshift_r(words[0], words[1], 8 * skew));
      from += pitch;
    }
    return sum;
  }
};
template <class T>
using ReadFour = std::conditional_t<sizeof(T) == 1, ReadWords, ReadEach>;

/// The word of a row of `width` pixels that begins at `x`, a word's address; 0 outside. All that is
/// read is inside.
__device__ inline std::uint32_t word_at(const std::uint8_t* row, int x, int width) {
  if (x >= 0 && x + 4 <= width) return *reinterpret_cast<const std::uint32_t*>(row + x);
  std::uint32_t word = 0;
  if (x > -4 && x < width)
    for (int k = 0; k < 4; ++k)
      if (x + k >= 0 && x + k < width) word |= std::uint32_t{row[x + k]} << 8 * k;
  return word;
}

/// Words of such a row from pixel x on.
template <int count>
__device__ inline void load_words(const std::uint8_t* row, int x, int width,
                                  std::uint32_t (&words)[count]) {
  const int skew = skew_of(row + x);
  words_between(skew, words, [&](int i) { return word_at(row, x - skew + 4 * i, width); });
}

}  // namespace xcorr::cuda
