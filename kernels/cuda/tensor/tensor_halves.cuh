// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor_warps.cuh on tensor cores for FP16, for GPUs that have few for bytes (compute
// capability 10.3). Staging and layout are those of bytes; a lane makes halves of the words that it
// loads. Sums are exact: a row's products, at most 128 of 255 * 255, are added to 2^23 in float32,
// where the lower 23 bits of the result are the sum; so taking a row's sum into 32 bits is one
// addition of integers.
#pragma once

#include "cuda/tensor/mma_halves.cuh"
#include "cuda/tensor/tensor_warps.cuh"

namespace xcorr::cuda {

template <int... numbers>
struct HalfTiling : WarpTiling<numbers...> {
  using Bytes = WarpTiling<numbers...>;
  using Bytes::groups, Bytes::left_pitch, Bytes::row_words, Bytes::steps, Bytes::tiles;

  static constexpr std::uint32_t two_to_the_23 = 0x4b000000;  ///< the bits of that float32
  static_assert(Bytes::max_columns() * 255 * 255 < 1 << 23);

  static bool has_instructions(const Device& device) { return device.compute_capability >= 80; }

  /// As that of bytes.
  static __device__ void multiply_row(std::uint32_t (&sums)[tiles][4][4], const std::uint8_t* left,
                                      const std::uint8_t* right) {
    float row_sums[tiles][4][4];
#pragma unroll
    for (int g = 0; g < groups; ++g) {
#pragma unroll
      for (auto& tile : row_sums)
#pragma unroll
        for (auto& columns : tile)
#pragma unroll
          for (float& sum : columns) sum = __uint_as_float(two_to_the_23);
#pragma unroll
      for (int s = 0; s < steps; ++s)
        add_step(row_sums, left + 16 * g * left_pitch() + 32 * s,
                 right + 4 * (16 * g * row_words() + 8 * s));
#pragma unroll
      for (int m = 0; m < tiles; ++m)
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            sums[m][n][i] += __float_as_uint(row_sums[m][n][i]) - two_to_the_23;
    }
  }

 private:
  /// The products with 32 columns of a right's row. Their order in a step of 16 is any, as long as
  /// both sides have the same.
  static __device__ void add_step(float (&sums)[tiles][4][4], const std::uint8_t* left,
                                  const std::uint8_t* right) {
    // Words of B, from six back to four on, by twos: see multiply_row() of bytes.
    std::uint32_t words[6][2];
#pragma unroll
    for (int i = 0; i < 6; ++i)
      halves_of(load_word(right + 4 * (2 * i - 6)), words[i][0], words[i][1]);
#pragma unroll
    for (int m = 0; m < tiles; ++m) {
      std::uint32_t bytes[4], a[2][4];
      load_matrices(bytes, left + 16 * m * left_pitch());
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int row = 0; row < 2; ++row)
          halves_of(bytes[2 * half + row], a[half][row], a[half][row + 2]);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < 4; ++n)
          multiply_add_halves(sums[m][n], a[half], words[3 + 2 * half - n]);
    }
  }
};

template <MmaTuning t>
using ByHalves = HalfTiling<t.steps, t.tiles, t.groups, t.split, t.blocks>;

// clang-format off
using HalfTilings = Tilings<  //
    ByHalves<MmaTuning{.steps = 2, .tiles = 1, .groups = 2, .split = 4, .blocks = 4}>,
    ByHalves<MmaTuning{.steps = 2, .tiles = 2, .groups = 1, .blocks = 4}>,
    ByHalves<MmaTuning{.steps = 2, .tiles = 4, .groups = 1, .blocks = 2}>,
    ByHalves<MmaTuning{.steps = 3, .tiles = 2, .groups = 1, .blocks = 4}>,
    ByHalves<MmaTuning{.steps = 3, .tiles = 4, .groups = 1, .blocks = 2}>,
    ByHalves<MmaTuning{.steps = 4, .tiles = 4, .groups = 1, .blocks = 2}>,
    ByHalves<MmaTuning{.steps = 5, .tiles = 1, .groups = 2, .split = 4, .blocks = 3}>,
    ByHalves<MmaTuning{.steps = 5, .tiles = 4, .groups = 1, .blocks = 2}>>;
// clang-format on

}  // namespace xcorr::cuda
