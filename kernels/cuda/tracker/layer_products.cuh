// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The layers of learned channels as products of matrices of halves, by a warp on tensor cores: the
// rows of the first matrix are places of a layer's output, its columns what these are summed of;
// the second one is of the layer's weights. Sums are of single precision.
#pragma once

#include "cuda/tensor/half.hpp"
#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/mma_halves.cuh"
#include "stages/tracker/learned_channels.hpp"

namespace xcorr::cuda::tracker {

using namespace xcorr::tracker;

static __device__ constexpr float learned_parameters[] = {
#include "stages/tracker/learned_channels.inc"
};

/// The columns and rows of a matrix instruction.
constexpr int mma_rows = 16, mma_columns = 8, mma_depth = 16;

/// A layer as products: what a row of its weights' pixels needs lies next to each other, and is
/// followed by zeros up to a whole number of products.
template <int layer>
struct Product {
  static constexpr Convolution made = convolutions[layer];
  static constexpr int in_row = made.size * made.in;
  static constexpr int steps_of_row = (in_row + mma_depth - 1) / mma_depth;
  static constexpr int steps = steps_of_row * made.size;
  static constexpr int tiles = (made.out + mma_columns - 1) / mma_columns;  ///< of channels out

  static constexpr std::uint16_t weight(int step, int k, int channel) {
    const int in = step % steps_of_row * mma_depth + k, row = step / steps_of_row;
    if (in >= in_row || channel >= made.out) return 0;
    return half_bits(
        learned_parameters[first_parameter(layer) + (row * in_row + in) * made.out + channel]);
  }
};

/// The weights of a layer as the lanes of a warp hold them: see multiply_add_halves().
template <int layer>
struct alignas(8) Weights {
  using P = Product<layer>;

  std::uint32_t of[P::steps][P::tiles][32][2] = {};

  constexpr Weights() {
    for (int step = 0; step < P::steps; ++step)
      for (int tile = 0; tile < P::tiles; ++tile)
        for (int lane = 0; lane < 32; ++lane)
          for (int i = 0; i < 2; ++i) {
            const int k = 2 * (lane % 4) + 8 * i, channel = tile * mma_columns + lane / 4;
            of[step][tile][lane][i] =
                pair_of_halves(P::weight(step, k, channel), P::weight(step, k + 1, channel));
          }
  }
};
static __device__ constexpr Weights<0> weights_of_first;
static __device__ constexpr Weights<1> weights_of_second;
static __device__ constexpr Weights<2> weights_of_third;

/// Where a lane's first column of a matrix lies, in its upper and in its lower row.
struct Rows {
  const std::uint16_t *upper, *lower;

  __device__ void load(int at, std::uint32_t (&to)[4]) const {
    const auto pair = [](const std::uint16_t* from) {
      return *reinterpret_cast<const std::uint32_t*>(from);
    };
    to[0] = pair(upper + at), to[1] = pair(lower + at);
    to[2] = pair(upper + at + 8), to[3] = pair(lower + at + 8);
  }
};
/// Where the lane's row of a matrix lies, of lanes 0 to 15 its first eight columns: a multiple of
/// sixteen bytes, as everything that is added to it.
struct AlignedRows {
  const std::uint16_t* row;

  __device__ void load(int at, std::uint32_t (&to)[4]) const {
    load_matrices(to, reinterpret_cast<const std::uint8_t*>(row + at));
  }
};

/// Of channels out from a tile on, the sums of `each` times 16 places that a warp makes: of 16 of
/// them a lane has those of two places, 8 apart, and of two channels of each tile.
template <int layer, int tiles, int each>
struct Sums {
  using P = Product<layer>;

  float of[each][tiles][4];

  __device__ explicit Sums(int first_tile) {
    const float* const biases = learned_parameters + first_parameter(layer) + P::made.weights();
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int channel = (first_tile + tile) * mma_columns + threadIdx.x % 4 * 2 + i % 2;
        const float bias = channel < P::made.out ? biases[channel] : 0;
#pragma unroll
        for (auto& of_sixteen : of) of_sixteen[tile][i] = bias;
      }
  }

  /// Adds the products. \param row, part  from a row of weights, and from a product of one, to the
  /// next, in halves
  template <int row, int part, class MatrixRows>
  __device__ void add(const Weights<layer>& weights, int first_tile,
                      const MatrixRows (&rows)[each]) {
#pragma unroll
    for (int step = 0; step < P::steps; ++step) {
      const int at = step / P::steps_of_row * row + step % P::steps_of_row * part;
      uint2 of_step[tiles];
#pragma unroll
      for (int tile = 0; tile < tiles; ++tile)
        of_step[tile] =
            *reinterpret_cast<const uint2*>(weights.of[step][first_tile + tile][threadIdx.x % 32]);
#pragma unroll
      for (int j = 0; j < each; ++j) {
        std::uint32_t places[4];
        rows[j].load(at, places);
#pragma unroll
        for (int tile = 0; tile < tiles; ++tile)
          multiply_add_halves(of[j][tile], places, {of_step[tile].x, of_step[tile].y});
      }
    }
  }

  /// Makes all of them at least 0 (ReLU).
  __device__ void rectify() {
#pragma unroll
    for (auto& of_sixteen : of)
#pragma unroll
      for (auto& of_tile : of_sixteen)
#pragma unroll
        for (float& sum : of_tile) sum = fmaxf(sum, 0);
  }

  /// The sum of squares over all channels of the upper or of the lower place, in all its lanes.
  __device__ float squares(int j, bool of_lower) const {
    float sum = 0;
#pragma unroll
    for (const auto& of_tile : of[j]) {
      const float first = of_tile[2 * of_lower], second = of_tile[2 * of_lower + 1];
      sum += first * first + second * second;
    }
    sum += __shfl_xor_sync(~0u, sum, 1);
    return sum + __shfl_xor_sync(~0u, sum, 2);
  }

  /// Writes the channels of the upper or of the lower place, times `share`, as halves.
  __device__ void write(int j, bool of_lower, float share, std::uint16_t* to) const {
#pragma unroll
    for (int tile = 0; tile < tiles; ++tile)
      *reinterpret_cast<std::uint32_t*>(to + tile * mma_columns + threadIdx.x % 4 * 2) =
          halves_of(share * of[j][tile][2 * of_lower], share * of[j][tile][2 * of_lower + 1]);
  }
};

}  // namespace xcorr::cuda::tracker
