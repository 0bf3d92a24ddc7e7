// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Transforms of windows of 40 x 40 cells by a block, in shared memory: two real images share a
// complex one, as its real and its imaginary part. A thread transforms a row or a column in its
// registers.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "cuda/fft/fft_registers.cuh"
#include "stages/tracker/feature_fft.hpp"

namespace xcorr::cuda::tracker {
using namespace xcorr::tracker;

using Value = Complex<float>;
/// An image's rows lie so far apart that the threads of a warp reach rows and columns without
/// conflicts of banks.
constexpr int row_pitch = grid + 1, image_values = grid * row_pitch;

/// A block has a group of channels: channel c and channel c + 4 are a pair.
constexpr int pairs_of_block = group / 2;
constexpr int threads_of_pairs = pairs_of_block * grid;
constexpr std::size_t bytes_of_pairs = pairs_of_block * image_values * sizeof(Value);

/// Transforms as many images, by the first 40 threads for each. Begins and ends with a barrier.
template <Direction D>
__device__ void transform(Value* images, int count) {
  const int thread = threadIdx.x, number = thread % grid;
  Value* const image = images + thread / grid * image_values;
  __syncthreads();
  // Rows become columns, twice, by the same instructions: to fetch them takes as long as to execute
  // them.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const bool has_line = thread < count * grid;
    Value line[grid];
    if (has_line) {
#pragma unroll
      for (int i = 0; i < grid; ++i) line[i] = image[number * row_pitch + i];
      dft<D>(line);
    }
    __syncthreads();
    if (has_line)
#pragma unroll
      for (int i = 0; i < grid; ++i) image[i * row_pitch + number] = line[i];
    __syncthreads();
  }
}

/// What two channels have at a frequency.
struct TwoParts {
  Value a, b;
};

/// ... from the transform of the image that they share.
__device__ inline TwoParts split(const Value* image, int frequency) {
  const int k = frequency / grid, j = frequency % grid;
  const Value there = image[j * row_pitch + k],
              back = image[(grid - j) % grid * row_pitch + (grid - k) % grid];
  return {{(there.re + back.re) * 0.5f, (there.im - back.im) * 0.5f},
          {(there.im + back.im) * 0.5f, (back.re - there.re) * 0.5f}};
}

/// The way back, of all frequencies together.
__device__ inline void join(const TwoParts& parts, int frequency, Value* image) {
  const int k = frequency / grid, j = frequency % grid;
  const auto [a, b] = parts;
  image[j * row_pitch + k] = {a.re - b.im, a.im + b.re};
  if (k > 0 && 2 * k < grid)
    image[(grid - j) % grid * row_pitch + grid - k] = {a.re + b.im, b.re - a.im};
}

/// One of the four numbers of each pair of a block.
using Four = float[pairs_of_block];

__device__ inline void read_four(const float* from, Four& values) {
  const float4 word = *reinterpret_cast<const float4*>(from);
  values[0] = word.x, values[1] = word.y, values[2] = word.z, values[3] = word.w;
}
__device__ inline void write_four(const Four& values, float* to) {
  *reinterpret_cast<float4*>(to) = {values[0], values[1], values[2], values[3]};
}

/// Reads a block's channels of a window, scaled as their energies say. \param channels_of  the
/// group
__device__ inline void read_channels(const float* channels_of, const double* energies,
                                     Value* images) {
  static_assert(cells % threads_of_pairs == 0);
  const float scale = scale_of(warp_sum(energies, grid));
#pragma unroll
  for (int k = 0; k < cells; k += threads_of_pairs) {
    const int i = k + static_cast<int>(threadIdx.x);
    Four re, im;
    read_four(channels_of + i * group, re);
    read_four(channels_of + i * group + pairs_of_block, im);
#pragma unroll
    for (int p = 0; p < pairs_of_block; ++p)
      images[p * image_values + i / grid * row_pitch + i % grid] = {re[p] * scale, im[p] * scale};
  }
}

/// What a block's channels have at a frequency.
struct FourPairs {
  Four a_re, a_im, b_re, b_im;

  __device__ Value a(int pair) const { return {a_re[pair], a_im[pair]}; }
  __device__ Value b(int pair) const { return {b_re[pair], b_im[pair]}; }
};

/// \param spectrum  the group's part
__device__ inline void read_pairs(const float* spectrum, int frequency, FourPairs& values) {
  const float* const from = spectrum + frequency * group;
  read_four(from, values.a_re);
  read_four(from + pairs_of_block, values.b_re);
  read_four(from + to_imaginary, values.a_im);
  read_four(from + to_imaginary + pairs_of_block, values.b_im);
}

/// Writes a block's part of a spectrum.
__device__ inline void write_spectrum(const Value* images, float* spectrum) {
  for (int i = threadIdx.x; i < frequencies; i += threads_of_pairs) {
    FourPairs values;
#pragma unroll
    for (int p = 0; p < pairs_of_block; ++p) {
      const auto [a, b] = split(images + p * image_values, i);
      values.a_re[p] = a.re, values.a_im[p] = a.im;
      values.b_re[p] = b.re, values.b_im[p] = b.im;
    }
    float* const to = spectrum + i * group;
    write_four(values.a_re, to);
    write_four(values.b_re, to + pairs_of_block);
    write_four(values.a_im, to + to_imaginary);
    write_four(values.b_im, to + to_imaginary + pairs_of_block);
  }
}

__device__ inline void read_spectrum(const float* spectrum, Value* images) {
  for (int i = threadIdx.x; i < frequencies; i += threads_of_pairs) {
    FourPairs values;
    read_pairs(spectrum, i, values);
#pragma unroll
    for (int p = 0; p < pairs_of_block; ++p)
      join({values.a(p), values.b(p)}, i, images + p * image_values);
  }
}

}  // namespace xcorr::cuda::tracker
