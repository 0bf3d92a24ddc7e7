// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixels of windows on the GPU, a block eight rows of one. Of upright windows they are
// resampled first downwards, of all columns of the frame that a block needs, then across. Colours
// follow.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/tensor/mma_halves.cuh"
#include "cuda/tracker/window.cuh"
#include "stages/tracker/turned_window.hpp"

namespace xcorr::cuda::tracker {

/// A thread has a column of half of the rows.
constexpr int cut_threads = 2 * window_size;
constexpr int rows_of_block = 8, row_blocks = window_size / rows_of_block;
constexpr int own_rows = rows_of_block / 2;
/// Rows or columns of the frame that so many pixels of a window can need: six a pixel, and what its
/// edges read past them.
constexpr int most_taps(int pixels) { return 6 * (pixels - 1) + WindowTaps::most; }
constexpr int most_columns = most_taps(window_size), most_rows = most_taps(rows_of_block);

/// For a pixel of the window in one direction.
class TapWeights {
 public:
  /// Only places are as large as a frame, and need double precision.
  __device__ TapWeights(const WindowTaps& taps, int i)
      : first(taps.first(i)),
        away_(static_cast<float>(taps.away(i, first))),
        step_(static_cast<float>(taps.step * taps.per_half)) {
    float sum = 0;
    for (int k = 0; k < taps.each; ++k) sum += height(k);
    share_ = 1 / sum;
  }
  /// Of the k-th tap, or of any other one.
  __device__ float of(int k) const { return height(k) * share_; }

  const int first;

 private:
  __device__ float height(int k) const {
    return fmaxf(1 - fabsf(fmaf(static_cast<float>(k), step_, away_)), 0);
  }

  float away_, step_, share_;
};

static __device__ int clamped(int i, int least, int most) { return min(max(i, least), most); }

/// A row of the frame, and what it counts in the rows of a block.
struct alignas(16) FrameRow {
  float weights[rows_of_block];
  std::int64_t offset;  ///< bytes
};

/// What a block makes of its rows for the layers to learn from.
struct alignas(16) Inputs {
  std::uint16_t of[rows_of_block][window_size][Window::values];
};

/// The chroma of 2 x 2 pixels of a block's rows.
static __device__ void add_chroma(const stage::FeatureMaps::Problem& p,
                                  const stage::FeatureMaps::Buffers& b, int top, Inputs& inputs) {
  static_assert(chroma_grid * rows_of_block / 2 == cut_threads);
  const int x = threadIdx.x % chroma_grid, y = threadIdx.x / chroma_grid;
  Color color{};
  if (p.colors.colors != Colors::none) {
    const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
    color = color_of_four(p.colors, p.frame, planes, b.croppings[blockIdx.y], x, top / 2 + y);
  }
  const std::uint16_t blue = half_of(static_cast<float>(color.blue) / unit_of_chroma),
                      red = half_of(static_cast<float>(color.red) / unit_of_chroma);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    auto& to = inputs.of[2 * y + i / 2][2 * x + i % 2];
    to[1] = blue;
    to[2] = red;
  }
}

/// Writes what a block has made of its rows. \param lumas  of the thread's pixels
static __device__ void write_rows(const stage::FeatureMaps::Problem& p,
                                  const stage::FeatureMaps::Buffers& b,
                                  const float (&lumas)[own_rows], Inputs& inputs, Window* windows) {
  const int top = blockIdx.x * rows_of_block;
  const int x = threadIdx.x % window_size, row = threadIdx.x / window_size * own_rows;
#pragma unroll
  for (int r = 0; r < own_rows; ++r) {
    windows[blockIdx.y].pixels[(top + row + r) * window_size + x] = lumas[r];
    inputs.of[row + r][x][0] = half_of((lumas[r] - middle_luma) / unit_of_luma);
  }
  add_chroma(p, b, top, inputs);
  __syncthreads();
  auto* const to = reinterpret_cast<uint4*>(windows[blockIdx.y].inputs[top]);
  for (int i = threadIdx.x; i < int{sizeof inputs / sizeof *to}; i += cut_threads)
    to[i] = reinterpret_cast<const uint4*>(inputs.of)[i];
}

/// Of upright windows.
static __global__ void __launch_bounds__(cut_threads)
    cut(stage::FeatureMaps::Problem p, stage::FeatureMaps::Buffers b, Window* windows) {
  __shared__ WindowTaps taps_x, taps_y;
  __shared__ int firsts[window_size];
  __shared__ float across[WindowTaps::most][window_size];
  __shared__ FrameRow rows[most_rows];
  __shared__ union {
    float columns[rows_of_block][most_columns];
    Inputs inputs;
  } strip;
  wait_for_previous();  // which may have brought the looks
  const Look look = b.looks[blockIdx.y];
  if (look.side == 0) return;
  if (threadIdx.x == 0)
    taps_x = WindowTaps(look.x, look.side);
  else if (threadIdx.x == 32)
    taps_y = WindowTaps(look.y, look.side);
  __syncthreads();
  const int top = blockIdx.x * rows_of_block;
  const int first_row = taps_y.first(top);
  const int row_count = taps_y.first(top + rows_of_block - 1) + taps_y.each - first_row;
  if (threadIdx.x < window_size) {
    const TapWeights weights(taps_x, threadIdx.x);
    firsts[threadIdx.x] = weights.first;
    for (int k = 0; k < taps_x.each; ++k) across[k][threadIdx.x] = weights.of(k);
  } else {
    for (int i = threadIdx.x - window_size; i < row_count * rows_of_block;
         i += cut_threads - window_size) {
      const int k = i / rows_of_block, r = i % rows_of_block;
      const TapWeights weights(taps_y, top + r);
      rows[k].weights[r] = weights.of(first_row + k - weights.first);
      const int y = clamped((first_row + k) * taps_y.step, 0, p.frame.height - 1);
      if (r == 0) rows[k].offset = y * p.pitch;
    }
  }
  __syncthreads();

  const int left = firsts[0], count = firsts[window_size - 1] + taps_x.each - left;
  for (int i = threadIdx.x; i < count; i += cut_threads) {
    const int x = clamped((left + i) * taps_x.step, 0, p.frame.width - 1);
    float sums[rows_of_block] = {};
#pragma unroll 4
    for (int k = 0; k < row_count; ++k) {
      const auto pixel = static_cast<float>(b.pixels[rows[k].offset + x]);
#pragma unroll
      for (int r = 0; r < rows_of_block; ++r) sums[r] += rows[k].weights[r] * pixel;
    }
#pragma unroll
    for (int r = 0; r < rows_of_block; ++r) strip.columns[r][i] = sums[r];
  }
  __syncthreads();

  const int x = threadIdx.x % window_size, row = threadIdx.x / window_size * own_rows;
  const float* const from = strip.columns[row] + firsts[x] - left;
  float sums[own_rows] = {};
  for (int k = 0; k < taps_x.each; ++k) {
    const float weight = across[k][x];
#pragma unroll
    for (int r = 0; r < own_rows; ++r) sums[r] += weight * from[r * most_columns + k];
  }
  __syncthreads();
  write_rows(p, b, sums, strip.inputs, windows);
}

/// Of windows that may be turned.
static __global__ void __launch_bounds__(cut_threads)
    cut_turned(stage::FeatureMaps::Problem p, stage::FeatureMaps::Buffers b, Window* windows) {
  __shared__ Inputs inputs;
  wait_for_previous();
  if (b.looks[blockIdx.y].side == 0) return;
  const Cropping from = b.croppings[blockIdx.y];
  const int x = threadIdx.x % window_size,
            y = blockIdx.x * rows_of_block + threadIdx.x / window_size * own_rows;
  float lumas[own_rows];
#pragma unroll
  for (int r = 0; r < own_rows; ++r)
    lumas[r] = static_cast<float>(turned_pixel<1>(p, b.pixels, from, x, y + r));
  write_rows(p, b, lumas, inputs, windows);
}

}  // namespace xcorr::cuda::tracker
