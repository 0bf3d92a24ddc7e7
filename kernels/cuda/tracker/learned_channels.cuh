// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The learned channels of windows on the GPU, a kernel a layer. A block has 8 x 8 places of a
// window's output: it brings what they are made of to shared memory, and the layer's weights. A
// thread sums four channels of four places, so that five loads feed sixteen multiplications.
#pragma once

#include "cuda/common/launch.cuh"
#include "stages/tracker/feature_maps.hpp"

namespace xcorr::cuda::tracker {

using namespace xcorr::tracker;

static __device__ const float learned_parameters[] = {
#include "stages/tracker/learned_channels.inc"
};

/// What a window is made into on the way.
struct alignas(16) Window {
  static constexpr int first_side = convolutions[1].side, first_out = convolutions[1].in,
                       second_out = convolutions[2].in;

  float pixels[window_size * window_size];          ///< luma
  float first[first_side * first_side][first_out];  ///< of the first layer
  float squares[first_side * first_side];           ///< their sums, place by place
  float second[cells][second_out];
  float learned[cells][learned_channels];
};

template <int layer>
struct alignas(16) Tile {
  static constexpr Convolution made = convolutions[layer];
  static constexpr int side = 8, tiles = made.out_side() / side;  ///< tiles across and down
  static_assert(made.out_side() % side == 0);
  /// Places of the input across and down.
  static constexpr int places = (side - 1) * made.stride + made.size;
  static constexpr int of_thread = 4;         ///< channels
  static constexpr int places_of_thread = 4;  ///< below each other, rows_apart
  static constexpr int rows_apart = side / places_of_thread;
  static constexpr int shares = (made.out + of_thread - 1) / of_thread, out = shares * of_thread;
  static constexpr int threads = side * side / places_of_thread * shares;
  /// Of a place of the input: odd, so that threads side by side read different banks.
  static constexpr int pitch = made.in | 1;

  /// Whether a place is one of the layer's input.
  __device__ static bool has(int x, int y) {
    return x >= 0 && y >= 0 && x < made.side && y < made.side;
  }

  float weights[made.size * made.size * made.in][out];
  float input[places * places][pitch];
};

/// Where a block's tile begins, of a grid of the tiles of a window by windows.
template <int layer>
struct Corner {
  using T = Tile<layer>;

  int column = blockIdx.x % T::tiles * T::side, row = blockIdx.x / T::tiles * T::side;
  /// In the layer's input.
  int left = column * T::made.stride - T::made.before(),
      top = row * T::made.stride - T::made.before();
};

/// Brings the layer's weights.
template <int layer>
__device__ void load_weights(Tile<layer>& tile) {
  using T = Tile<layer>;
  const float* const from = learned_parameters + first_parameter(layer);
  for (int i = threadIdx.x; i < T::made.weights() / T::made.out * T::out; i += T::threads) {
    const int row = i / T::out, k = i % T::out;
    tile.weights[row][k] = k < T::made.out ? from[row * T::made.out + k] : 0;
  }
}

/// Calls bring(x, y, to) for each place of a tile's input that is in the layer's, which writes its
/// channels there; those past the edge are 0.
template <int layer, class Bring>
__device__ void load_input(Tile<layer>& tile, const Corner<layer>& corner, Bring bring) {
  using T = Tile<layer>;
  for (int i = threadIdx.x; i < T::places * T::places; i += T::threads) {
    const int x = corner.left + i % T::places, y = corner.top + i / T::places;
    float* const to = tile.input[i];
    if (T::has(x, y))
      bring(x, y, to);
    else
      for (int k = 0; k < T::made.in; ++k) to[k] = 0;
  }
}

/// A thread's sums.
template <int layer>
struct Sums {
  using T = Tile<layer>;

  int x, y, first;  ///< of the uppermost place in the tile; the first channel
  float of[T::places_of_thread][T::of_thread];

  __device__ explicit Sums(const Tile<layer>& tile)
      : x(threadIdx.x / T::shares % T::side),
        y(threadIdx.x / T::shares / T::side),
        first(threadIdx.x % T::shares * T::of_thread) {
    const float* const biases = learned_parameters + first_parameter(layer) + T::made.weights();
#pragma unroll
    for (int k = 0; k < T::of_thread; ++k) {
      const float bias = first + k < T::made.out ? biases[first + k] : 0;
#pragma unroll
      for (float(&sums)[T::of_thread] : of) sums[k] = bias;
    }
    constexpr int apart = T::rows_apart * T::made.stride * T::places * T::pitch;
    XCORR_ROLL
    for (int of_input = 0; of_input < T::made.size * T::made.size; ++of_input) {
      const int column = x * T::made.stride + of_input % T::made.size,
                row = y * T::made.stride + of_input / T::made.size;
      const float* const from = tile.input[row * T::places + column];
      const float(*weights)[T::out] = &tile.weights[of_input * T::made.in];
#pragma unroll
      for (int i = 0; i < T::made.in; ++i) {
        const float4 each = *reinterpret_cast<const float4*>(&weights[i][first]);
#pragma unroll
        for (int j = 0; j < T::places_of_thread; ++j) add(of[j], from[j * apart + i], each);
      }
    }
  }

  /// Of one of the thread's places, in the layer's output.
  __device__ int place(const Corner<layer>& corner, int j) const {
    return (corner.row + y + j * T::rows_apart) * T::made.out_side() + corner.column + x;
  }

 private:
  __device__ static void add(float (&sums)[4], float value, const float4& weights) {
    sums[0] = fmaf(value, weights.x, sums[0]);
    sums[1] = fmaf(value, weights.y, sums[1]);
    sums[2] = fmaf(value, weights.z, sums[2]);
    sums[3] = fmaf(value, weights.w, sums[3]);
  }
};

/// Of the lanes that have a place's channels, the sum of their squares.
template <int layer>
__device__ float sum_squares(const Sums<layer>& sums, int j) {
  constexpr int shares = Tile<layer>::shares;
  static_assert(shares == 4, "lanes side by side");
  float squares = 0;
#pragma unroll
  for (int k = 0; k < Tile<layer>::of_thread; ++k) squares += sums.of[j][k] * sums.of[j][k];
  squares += __shfl_xor_sync(~0u, squares, 1);
  return squares + __shfl_xor_sync(~0u, squares, 2);
}

/// Brings luma, and chroma, which 2 x 2 pixels share: a corner is at even ones.
static __device__ void load_pixels(Tile<0>& tile, const Corner<0>& corner,
                                   const stage::FeatureMaps::Problem& p,
                                   const stage::FeatureMaps::Buffers& b, const Cropping& cropping,
                                   const Window& window) {
  using T = Tile<0>;
  static_assert(T::side * T::made.stride % 2 == 0 && T::made.before() % 2 == 0);
  constexpr int fours = (T::places + 1) / 2;
  const std::uint8_t* const planes[] = {b.plane_0, b.plane_1, b.plane_2};
  for (int i = threadIdx.x; i < fours * fours; i += T::threads) {
    const int x = i % fours * 2, y = i / fours * 2;
    const int column = corner.left + x, row = corner.top + y;
    const bool inside = T::has(column, row);
    Color color{};
    if (inside && p.colors.colors != Colors::none)
      color = color_of_four(p.colors, p.color_part, planes, cropping, column / 2, row / 2);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int u = x + j % 2, v = y + j / 2;
      if (u >= T::places || v >= T::places) continue;
      float* const to = tile.input[v * T::places + u];
      const int pixel = (corner.top + v) * window_size + corner.left + u;
      to[0] = inside ? (window.pixels[pixel] - middle_luma) / unit_of_luma : 0;
      to[1] = static_cast<float>(color.blue) / unit_of_chroma;
      to[2] = static_cast<float>(color.red) / unit_of_chroma;
    }
  }
}

/// Grid: the tiles of a window, windows.
static __global__ void __launch_bounds__(Tile<0>::threads)
    convolve_pixels(stage::FeatureMaps::Problem p, stage::FeatureMaps::Buffers b, Window* windows) {
  using T = Tile<0>;
  __shared__ T tile;
  load_weights(tile);
  wait_for_previous();
  if (b.looks[blockIdx.y].side == 0) return;
  Window& window = windows[blockIdx.y];
  const Corner<0> corner;
  load_pixels(tile, corner, p, b, b.croppings[blockIdx.y], window);
  __syncthreads();
  Sums<0> sums(tile);
#pragma unroll
  for (int j = 0; j < T::places_of_thread; ++j) {
#pragma unroll
    for (float& value : sums.of[j]) value = fmaxf(value, 0);
    const float squares = sum_squares(sums, j);
    const int place = sums.place(corner, j);
    *reinterpret_cast<float4*>(&window.first[place][sums.first]) = {sums.of[j][0], sums.of[j][1],
                                                                    sums.of[j][2], sums.of[j][3]};
    if (sums.first == 0) window.squares[place] = squares;
  }
}

static __global__ void __launch_bounds__(Tile<1>::threads)
    convolve_first(stage::FeatureMaps::Buffers b, Window* windows) {
  using T = Tile<1>;
  constexpr int around = T::places + 2 * square_reach;
  __shared__ T tile;
  __shared__ float squares[around][around];
  load_weights(tile);
  wait_for_previous();
  if (b.looks[blockIdx.y].side == 0) return;
  Window& window = windows[blockIdx.y];
  const Corner<1> corner;
  for (int i = threadIdx.x; i < around * around; i += T::threads) {
    const int x = corner.left - square_reach + i % around,
              y = corner.top - square_reach + i / around;
    squares[i / around][i % around] = T::has(x, y) ? window.squares[y * T::made.side + x] : 0;
  }
  __syncthreads();
  load_input(tile, corner, [&](int x, int y, float* to) {
    float sum = 0;
#pragma unroll
    for (int v = 0; v <= 2 * square_reach; ++v)
#pragma unroll
      for (int u = 0; u <= 2 * square_reach; ++u)
        sum += squares[y - corner.top + v][x - corner.left + u];
    const float share = rsqrtf(sum / (square_places * T::made.in) + least_square);
    const float* const from = window.first[y * T::made.side + x];
#pragma unroll
    for (int k = 0; k < T::made.in; ++k) to[k] = share * from[k];
  });
  __syncthreads();
  const Sums<1> sums(tile);
#pragma unroll
  for (int j = 0; j < T::places_of_thread; ++j)
    *reinterpret_cast<float4*>(&window.second[sums.place(corner, j)][sums.first]) = {
        fmaxf(sums.of[j][0], 0), fmaxf(sums.of[j][1], 0), fmaxf(sums.of[j][2], 0),
        fmaxf(sums.of[j][3], 0)};
}

static __global__ void __launch_bounds__(Tile<2>::threads)
    convolve_second(stage::FeatureMaps::Buffers b, Window* windows) {
  using T = Tile<2>;
  __shared__ T tile;
  load_weights(tile);
  wait_for_previous();
  if (b.looks[blockIdx.y].side == 0) return;
  Window& window = windows[blockIdx.y];
  const Corner<2> corner;
  load_input(tile, corner, [&](int x, int y, float* to) {
    const float* const from = window.second[y * T::made.side + x];
#pragma unroll
    for (int k = 0; k < T::made.in; ++k) to[k] = from[k];
  });
  __syncthreads();
  const Sums<2> sums(tile);
  const float gain = learned_parameters[first_gain + directions];
#pragma unroll
  for (int j = 0; j < T::places_of_thread; ++j) {
    const float share = gain * rsqrtf(sum_squares(sums, j) + least_square);
    float* const to = window.learned[sums.place(corner, j)];
#pragma unroll
    for (int k = 0; k < T::of_thread; ++k)
      if (sums.first + k < learned_channels) to[sums.first + k] = share * sums.of[j][k];
  }
}

/// Of all windows, after their luma.
inline Status enqueue_learned(const stage::FeatureMaps::Problem& p, const Device& device,
                              const stage::FeatureMaps::Buffers& b, Window* windows) {
  const auto grid = [&](int tiles) { return dim3(tiles * tiles, p.windows); };
  if (Status s = enqueue_early(device, "feature_maps: convolve_pixels", convolve_pixels,
                               grid(Tile<0>::tiles), Tile<0>::threads, 0, b.stream, p, b, windows);
      !s.ok())
    return s;
  if (Status s = enqueue_early(device, "feature_maps: convolve_first", convolve_first,
                               grid(Tile<1>::tiles), Tile<1>::threads, 0, b.stream, b, windows);
      !s.ok())
    return s;
  return enqueue_early(device, "feature_maps: convolve_second", convolve_second,
                       grid(Tile<2>::tiles), Tile<2>::threads, 0, b.stream, b, windows);
}

}  // namespace xcorr::cuda::tracker
