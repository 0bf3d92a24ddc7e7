// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The kernels of fft around cuFFT's transforms: padding of matrices, products of spectra, the
// requested shifts of circular results. T is the transforms' real type. Memory is read and written
// in words of 16 bytes, so padded rows and spectra are integers of them.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/correlate/correlate.hpp"

namespace xcorr::cuda {

constexpr int fft_block_width = 32, fft_block_height = 8, fft_block_size = 256;

template <class T>
struct alignas(16) Word {
  static constexpr int size = 16 / sizeof(T);
  T at[size];
};

/// Error of a product relative to eps * |left| |right| (Euclidean norms): the largest seen over the
/// sizes that the harness tries is below 1; log2 of the size, the factor of the usual bound, is
/// below 30.
constexpr float fft_error_factor = 4;

/// From the left's sum of squares.
__host__ __device__ inline float product_error_of(float energy) {
  return fft_error_factor * 0x1p-24f * sqrtf(energy);
}

/// Matrices of one side.
struct Side {
  const std::byte* data;
  std::int64_t stride, pitch;
  Size size;
  int count;
};

/// Matrices less `offset`, or each less its own mean, padded with zeros; a thread does one word of
/// each row. Sums the squares if requested.
template <class In, class T>
__global__ void __launch_bounds__(fft_block_width* fft_block_height)
    pad(Side in, Size padded, float offset, const float* means, T* out, float* energy) {
  const int x = (blockIdx.x * fft_block_width + threadIdx.x) * Word<T>::size;
  float squares = 0;
  for (int m = blockIdx.z; m < in.count; m += gridDim.z) {
    const std::byte* matrix = in.data + m * in.stride;
    T* to = out + m * padded.area();
    const T less = means ? means[m] : offset;
#pragma unroll 4
    for (int y = blockIdx.y * fft_block_height + threadIdx.y; y < padded.height;
         y += gridDim.y * fft_block_height) {
      const In* row = reinterpret_cast<const In*>(matrix + y * in.pitch);
      Word<T> word;
#pragma unroll
      for (int i = 0; i < Word<T>::size; ++i) {
        word.at[i] =
            x + i < in.size.width && y < in.size.height ? static_cast<T>(row[x + i]) - less : T{0};
        squares += static_cast<float>(word.at[i] * word.at[i]);
      }
      if (x < padded.width)
        *reinterpret_cast<Word<T>*>(to + std::int64_t{y} * padded.width + x) = word;
    }
  }
  if (!energy) return;
  __shared__ float partial[fft_block_height];
  squares = warp_sum(squares);
  if (threadIdx.x == 0) partial[threadIdx.y] = squares;
  __syncthreads();
  if (threadIdx.x || threadIdx.y) return;
  for (int i = 1; i < fft_block_height; ++i) squares += partial[i];
  atomicAdd(energy, squares);
}

/// The means of u8 matrices, one block per matrix.
static __global__ void __launch_bounds__(fft_block_size) mean_of(Side in, float* means) {
  __shared__ unsigned long long partial[fft_block_size];
  const std::byte* matrix = in.data + blockIdx.x * in.stride;
  unsigned long long sum = 0;
  for (int i = threadIdx.x; i < in.size.width * in.size.height; i += fft_block_size)
    sum += static_cast<unsigned>(matrix[i / in.size.width * in.pitch + i % in.size.width]);
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = fft_block_size / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    means[blockIdx.x] =
        static_cast<float>(double(partial[0]) / (double(in.size.width) * in.size.height));
}

/// a * conj(b), bin by bin.
template <class T>
__device__ Word<T> times_conjugate(const Word<T>& a, const Word<T>& b) {
  Word<T> c;
#pragma unroll
  for (int i = 0; i < Word<T>::size; i += 2) {
    c.at[i] = a.at[i] * b.at[i] + a.at[i + 1] * b.at[i + 1];
    c.at[i + 1] = a.at[i + 1] * b.at[i] - a.at[i] * b.at[i + 1];
  }
  return c;
}

/// Spectra of a batch: `lefts` by `rights`, which begin at right_step * left for each left; `words`
/// from one spectrum to the next.
struct SpectraBatch {
  int lefts, rights;
  std::int64_t right_step, words;
};

/// left * conj(right) * scale of a word of bins, for LEFTS lefts per thread: each right is read
/// once for all of them. Also converts the left's energy, if given, into Buffers::product_error.
template <class T, int LEFTS>
__global__ void __launch_bounds__(fft_block_size)
    multiply(const Word<T>* left, const Word<T>* right, SpectraBatch batch, T scale, Word<T>* out,
             const float* energy, float* product_error) {
  const std::int64_t i = std::int64_t{blockIdx.x} * fft_block_size + threadIdx.x;
  if (i == 0 && energy) *product_error = product_error_of(*energy);
  if (i >= batch.words) return;
  for (int first = blockIdx.y * LEFTS; first < batch.lefts; first += gridDim.y * LEFTS) {
    Word<T> a[LEFTS];
#pragma unroll
    for (int l = 0; l < LEFTS; ++l) {
      const int known = first + l < batch.lefts ? first + l : first;
      a[l] = left[known * batch.words + i];
#pragma unroll
      for (T& value : a[l].at) value *= scale;
    }
    const Word<T>* b = right + first * batch.right_step * batch.words + i;
    Word<T>* c = out + std::int64_t{first} * batch.rights * batch.words + i;
#pragma unroll 4
    for (int r = 0; r < batch.rights; ++r) {
      const Word<T> conjugated = b[r * batch.words];
#pragma unroll
      for (int l = 0; l < LEFTS; ++l)
        if (LEFTS == 1 || first + l < batch.lefts)
          c[(std::int64_t{l} * batch.rights + r) * batch.words] = times_conjugate(a[l], conjugated);
    }
  }
}

/// The requested shifts of `count` circular results.
template <class T>
__global__ void __launch_bounds__(fft_block_width* fft_block_height)
    crop(const T* in, Size padded, Rect shifts, int count, T* out) {
  const int x = blockIdx.x * fft_block_width + threadIdx.x;
  if (x >= shifts.width) return;
  int column = shifts.x + x;
  if (column < 0) column += padded.width;
  for (int y = blockIdx.y * fft_block_height + threadIdx.y; y < shifts.height;
       y += gridDim.y * fft_block_height) {
    int row = shifts.y + y;
    if (row < 0) row += padded.height;
    for (int m = blockIdx.z; m < count; m += gridDim.z)
      out[(std::int64_t{m} * shifts.height + y) * shifts.width + x] =
          in[(std::int64_t{m} * padded.height + row) * padded.width + column];
  }
}

}  // namespace xcorr::cuda
