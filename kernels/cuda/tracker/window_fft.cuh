// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Transforms of windows of 40 x 40 cells by a block, in shared memory: two real images share a
// complex one, as its real and its imaginary part. A thread transforms a row or a column in its
// registers; or, where there are so few windows that multiprocessors are left over, eight threads
// do, which takes them a third of the time.
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

/// A line's transform is five-point ones of every eighth value, then eight-point ones.
constexpr int first_points = 5, second_points = 8;
static_assert(first_points * second_points == grid);
static __device__ constexpr Roots<float, grid> roots_of_line;

/// Of a group of channels, channel c and channel c + 4 are a pair. A block has all pairs of a
/// group; or one, where there are so few windows that each such block has a multiprocessor: it ends
/// sooner.
constexpr int pairs_of_group = group / 2;
constexpr int threads_by_lines(int images) { return images * grid; }
constexpr int threads_by_points = second_points * grid;
constexpr int threads_of(int pairs) {
  return pairs == 1 ? threads_by_points : threads_by_lines(pairs);
}
constexpr std::size_t bytes_of_pairs(int pairs) { return pairs * image_values * sizeof(Value); }
constexpr unsigned blocks_of_window(int pairs) { return groups * pairs_of_group / pairs; }
inline bool by_single_pairs(int windows, const Device& device) {
  return windows * blocks_of_window(1) <= static_cast<unsigned>(device.multiprocessors);
}

/// The first channel of such a block.
template <int pairs>
__device__ int first_channel() {
  constexpr int blocks = pairs_of_group / pairs;
  return blockIdx.x / blocks * group + blockIdx.x % blocks * pairs;
}

/// Transforms images by 40 threads for each, the first ones of a block.
template <Direction D, int images>
__device__ void transform_by_lines(Value* first) {
  const int number = threadIdx.x % grid;
  Value* const image = first + threadIdx.x / grid * image_values;
  const bool has_line = threadIdx.x < threads_by_lines(images);
  // Rows become columns, twice, by the same instructions: to fetch them takes as long as to execute
  // them.
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
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

/// Transforms an image by 320 threads.
template <Direction D>
__device__ void transform_by_points(Value* image) {
  const int number = threadIdx.x % grid, part = threadIdx.x / grid;
  Value* const line = image + number * row_pitch;
  Value factors[first_points];
#pragma unroll
  for (int k = 1; k < first_points; ++k) {
    const int i = part * k;
    factors[k] = {roots_of_line.cosine[i], roots_of_line.sine[i] * static_cast<int>(D)};
  }
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    Value few[first_points];
#pragma unroll
    for (int k = 0; k < first_points; ++k) few[k] = line[second_points * k + part];
    dft<D>(few);
    line[part] = few[0];
#pragma unroll
    for (int k = 1; k < first_points; ++k) line[second_points * k + part] = few[k] * factors[k];
    __syncthreads();
    const bool has_more = part < first_points;
    Value more[second_points];
    if (has_more) {
#pragma unroll
      for (int k = 0; k < second_points; ++k) more[k] = line[second_points * part + k];
      dft<D>(more);
    }
    __syncthreads();
    if (has_more)
#pragma unroll
      for (int k = 0; k < second_points; ++k)
        image[(part + first_points * k) * row_pitch + number] = more[k];
    __syncthreads();
  }
}

/// Transforms images: one by 320 threads, several by as many as they have lines. Begins and ends
/// with a barrier.
template <Direction D, int images>
__device__ void transform(Value* first) {
  __syncthreads();
  if constexpr (images == 1)
    transform_by_points<D>(first);
  else
    transform_by_lines<D, images>(first);
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
template <int pairs>
using Numbers = float[pairs];

__device__ inline void read(const float* from, Numbers<4>& values) {
  const float4 word = *reinterpret_cast<const float4*>(from);
  values[0] = word.x, values[1] = word.y, values[2] = word.z, values[3] = word.w;
}
__device__ inline void read(const float* from, Numbers<1>& value) { value[0] = *from; }
__device__ inline void write(const Numbers<4>& values, float* to) {
  *reinterpret_cast<float4*>(to) = {values[0], values[1], values[2], values[3]};
}
__device__ inline void write(const Numbers<1>& value, float* to) { *to = value[0]; }

/// Reads a block's channels of a window, scaled as their energies say. \param channels_of  from the
/// block's first one
template <int pairs, int threads = threads_of(pairs)>
__device__ void read_channels(const float* channels_of, const double* energies, Value* images) {
  static_assert(energy_parts <= 64);  // as warp_sum() takes
  const float scale = scale_of(warp_sum(energies, energy_parts));
#pragma unroll
  for (int k = 0; k < cells; k += threads) {
    const int i = k + static_cast<int>(threadIdx.x);
    if (cells % threads != 0 && i >= cells) break;
    Numbers<pairs> re, im;
    read(channels_of + i * group, re);
    read(channels_of + i * group + pairs_of_group, im);
#pragma unroll
    for (int p = 0; p < pairs; ++p)
      images[p * image_values + i / grid * row_pitch + i % grid] = {re[p] * scale, im[p] * scale};
  }
}

/// What a block's channels have at a frequency.
template <int pairs>
struct Pairs {
  Numbers<pairs> a_re, a_im, b_re, b_im;

  __device__ Value a(int pair) const { return {a_re[pair], a_im[pair]}; }
  __device__ Value b(int pair) const { return {b_re[pair], b_im[pair]}; }
};

/// \param spectrum  from the block's first channel
template <int pairs>
__device__ void read_pairs(const float* spectrum, int frequency, Pairs<pairs>& values) {
  const float* const from = spectrum + frequency * group;
  read(from, values.a_re);
  read(from + pairs_of_group, values.b_re);
  read(from + to_imaginary, values.a_im);
  read(from + to_imaginary + pairs_of_group, values.b_im);
}

/// Writes a block's part of a spectrum.
template <int pairs>
__device__ void write_spectrum(const Value* images, float* spectrum) {
  for (int i = threadIdx.x; i < frequencies; i += threads_of(pairs)) {
    Pairs<pairs> values;
#pragma unroll
    for (int p = 0; p < pairs; ++p) {
      const auto [a, b] = split(images + p * image_values, i);
      values.a_re[p] = a.re, values.a_im[p] = a.im;
      values.b_re[p] = b.re, values.b_im[p] = b.im;
    }
    float* const to = spectrum + i * group;
    write(values.a_re, to);
    write(values.b_re, to + pairs_of_group);
    write(values.a_im, to + to_imaginary);
    write(values.b_im, to + to_imaginary + pairs_of_group);
  }
}

template <int pairs>
__device__ void read_spectrum(const float* spectrum, Value* images) {
  for (int i = threadIdx.x; i < frequencies; i += threads_of(pairs)) {
    Pairs<pairs> values;
    read_pairs(spectrum, i, values);
#pragma unroll
    for (int p = 0; p < pairs; ++p) join({values.a(p), values.b(p)}, i, images + p * image_values);
  }
}

}  // namespace xcorr::cuda::tracker
