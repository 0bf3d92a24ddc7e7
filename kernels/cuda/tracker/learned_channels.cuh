// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The learned channels of windows on the GPU. A block makes the channels of 8 x 8 cells, from the
// pixels that these need to the last layer, in shared memory; it makes again what its neighbours
// need, too: 2.4 times the first layer, 1.6 times the second one.
#pragma once

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/tracker/layer_products.cuh"
#include "cuda/tracker/window.cuh"

namespace xcorr::cuda::tracker {

/// So many threads, whose warps share a layer's places.
constexpr int learned_warps = 8, learned_threads = 32 * learned_warps;
/// Cells of a block across and down, and such blocks of a window.
constexpr int learned_side = 8, learned_tiles = grid / learned_side;
static_assert(learned_side * learned_tiles == grid);
constexpr int learned_blocks = learned_tiles * learned_tiles;

/// The places of a layer's input that so many of its output need, across or down.
constexpr int needed(int layer, int places) {
  return (places - 1) * convolutions[layer].stride + convolutions[layer].size;
}
/// Where those of an output that begins there begin.
template <int layer>
constexpr int begin_of_input(int of_output) {
  constexpr Convolution made = convolutions[layer];
  return of_output * made.stride - made.before();
}

/// A square part of a layer's output.
struct Part {
  int side;      ///< places across and down
  int all_side;  ///< of all of the layer's

  constexpr int places() const { return side * side; }
  /// So many products of matrices.
  constexpr int products() const { return (places() + mma_rows - 1) / mma_rows; }
};
constexpr Part third_part{learned_side, grid}, second_part{needed(2, learned_side), grid};
/// With what the squares that even a place out are a mean of.
constexpr Part first_part{needed(1, second_part.side) + 2 * square_reach, convolutions[1].side};

/// A place of a part.
template <const Part& part>
struct Place {
  int x, y;

  /// The i-th one; behind the last one, that.
  __device__ explicit Place(int i)
      : x(min(i, part.places() - 1) % part.side), y(min(i, part.places() - 1) / part.side) {}
  /// Whether the layer has one, if its part begins at (left, top).
  __device__ bool is_there(int left, int top) const {
    return left + x >= 0 && top + y >= 0 && left + x < part.all_side && top + y < part.all_side;
  }
};

/// Pixels lie in shared memory in rows as in a window, from `pixels_before` ahead of those that are
/// needed on, so that they are copied sixteen bytes at a time.
constexpr int copied = 16 / sizeof(std::uint16_t), pixels_needed = needed(0, first_part.side),
              pixels_before = 4,
              pixel_row =
                  ceil_div((pixels_before + pixels_needed) * Window::values + 1, copied) * copied;
/// From place to place, halves: so that lanes side by side read different banks.
constexpr int even_pitch = convolutions[1].in + 4, second_pitch = convolutions[2].in;

struct LearnedPart {
  union {
    alignas(16) std::uint16_t pixels[pixels_needed * pixel_row];
    /// The first layer, evened out; not where it only counts to what others are evened out by.
    std::uint16_t even[first_part.products() * mma_rows * even_pitch];
  };
  /// Of the first layer: their sums at a place, and of places side by side.
  float squares[first_part.products() * mma_rows], across[first_part.places()];
  float shares[first_part.products() * mma_rows];  ///< that even it out
  /// With places behind the last one, which are 0 and which the last product reads.
  alignas(16) std::uint16_t second[second_part.products() * mma_rows * second_pitch];
  float third_squares[Product<2>::tiles][third_part.places()];
};
static_assert(second_part.products() * mma_rows > second_part.places());

/// Brings the pixels of a part that begins at (left, top); past the window's edge they are 0.
static __device__ void load_pixels(LearnedPart& part, const Window& window, int left, int top) {
  constexpr int copies = pixel_row / copied, of_window = window_size * Window::values;
  static_assert(learned_side * cell % copied == 0 && of_window % copied == 0);
  const int before = (left - pixels_before) * Window::values;
  for (int i = threadIdx.x; i < pixels_needed * copies; i += learned_threads) {
    const int x = before + i % copies * copied, y = top + i / copies;
    const bool inside = x >= 0 && x < of_window && y >= 0 && y < window_size;
    copy_async<16>(&part.pixels[i * copied],
                   &window.inputs[0][0][0] + (inside ? y * of_window + x : 0), inside ? 16 : 0);
  }
  commit_copies();
  wait_copies<0>();
}

/// Of the first layer, what each place is multiplied with: 0 where there is none, or where not all
/// around it is in the part. \param left, top  of the part
static __device__ void find_shares(LearnedPart& part, int left, int top) {
  constexpr int around = 2 * square_reach + 1, side = first_part.side;
  const auto has = [](int at) { return at >= 0 && at < first_part.all_side; };
  for (int i = threadIdx.x; i < first_part.places(); i += learned_threads) {
    const Place<first_part> place(i);
    float sum = 0;
    if (has(top + place.y)) {
#pragma unroll
      for (int x = 0; x < around; ++x) sum += has(left + place.x + x) ? part.squares[i + x] : 0;
    }
    part.across[i] = sum;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < first_part.products() * mma_rows; i += learned_threads) {
    const Place<first_part> place(i);
    const int x = place.x - square_reach, y = place.y - square_reach;
    float share = 0;
    if (min(x, y) >= 0 && max(x, y) < side - 2 * square_reach && place.is_there(left, top)) {
      float sum = 0;
#pragma unroll
      for (int v = 0; v < around; ++v) sum += part.across[(y + v) * side + x];
      share = rsqrtf(sum / (square_places * convolutions[1].in) + least_square);
    }
    part.shares[i] = share;
  }
}

/// The first layer, evened out. \param left, top  of the part
static __device__ void make_even(LearnedPart& part, int left, int top) {
  using P = Product<0>;
  constexpr int each = first_part.products() / learned_warps;
  static_assert(each * learned_warps == first_part.products());
  const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * each * mma_rows + lane / 4;
  const auto input_of = [&](int i) {
    const Place<first_part> place(i);
    return part.pixels + place.y * P::made.stride * pixel_row +
           (pixels_before + place.x * P::made.stride) * P::made.in + lane % 4 * 2;
  };
  Rows rows[each];
#pragma unroll
  for (int j = 0; j < each; ++j)
    rows[j] = {input_of(first + j * mma_rows), input_of(first + j * mma_rows + 8)};
  Sums<0, P::tiles, each> sums(0);
  sums.template add<pixel_row, mma_depth>(weights_of_first, 0, rows);
  sums.rectify();
#pragma unroll
  for (int j = 0; j < each; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = first + j * mma_rows + 8 * half;
      const float squares = sums.squares(j, half);
      if (lane % 4 == 0) part.squares[i] = squares;
    }
  __syncthreads();
  find_shares(part, left, top);
  __syncthreads();
#pragma unroll
  for (int j = 0; j < each; ++j)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = first + j * mma_rows + 8 * half;
      sums.write(j, half, part.shares[i], part.even + i * even_pitch);
    }
}

static __device__ void make_second(LearnedPart& part, int left, int top) {
  using P = Product<1>;
  const int lane = threadIdx.x % 32;
  const auto input_of = [&](int i) {
    const Place<second_part> place(i);
    const int x = place.x * P::made.stride + square_reach,
              y = place.y * P::made.stride + square_reach;
    return part.even + (y * first_part.side + x) * even_pitch + lane % 4 * 2;
  };
  for (int j = threadIdx.x / 32; j < second_part.products(); j += learned_warps) {
    const int upper = j * mma_rows + lane / 4, lower = upper + 8;
    Sums<1, P::tiles, 1> sums(0);
    sums.template add<first_part.side * even_pitch, even_pitch>(
        weights_of_second, 0, {Rows{input_of(upper), input_of(lower)}});
    sums.rectify();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = half ? lower : upper;
      const bool is_there = i < second_part.places() && Place<second_part>(i).is_there(left, top);
      sums.write(0, half, is_there ? 1 : 0, part.second + i * second_pitch);
    }
  }
}

/// The last layer, of which each warp makes a tile of channels of 16 places, and its channels at
/// the part's cells, which begin at (column, row). Returns the sum of their squares, in one thread.
static __device__ double make_third(LearnedPart& part, int column, int row, const Fade& fade,
                                    float* channels_of) {
  using P = Product<2>;
  static_assert(third_part.products() * P::tiles == learned_warps);
  const int lane = threadIdx.x % 32, tile = threadIdx.x / 32 % P::tiles;
  const int upper = threadIdx.x / 32 / P::tiles * mma_rows + lane / 4, lower = upper + 8;
  const Place<third_part> place(upper / mma_rows * mma_rows + lane % mma_rows);
  const AlignedRows rows{part.second + (place.y * second_part.side + place.x) * second_pitch +
                         lane / mma_rows * 8};
  Sums<2, 1, 1> sums(tile);
  sums.template add<second_part.side * second_pitch, mma_depth>(weights_of_third, tile, {rows});
  const float of_upper = sums.squares(0, false), of_lower = sums.squares(0, true);
  if (lane % 4 == 0) {
    part.third_squares[tile][upper] = of_upper;
    part.third_squares[tile][lower] = of_lower;
  }
  __syncthreads();
  const auto squares_at = [&](int i) {
    float squares = 0;
#pragma unroll
    for (const auto& of_tile : part.third_squares) squares += of_tile[i];
    return squares;
  };
  const auto share_at = [&](int i, float squares) {
    const Place<third_part> at(i);
    return fade.of[column + at.x] * fade.of[row + at.y] *
           learned_parameters[first_gain + directions] * rsqrtf(squares + least_square);
  };
  if (const int channel = tile * mma_columns + lane % 4 * 2; channel < learned_channels) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int i = half ? lower : upper;
      const float share = share_at(i, squares_at(i));
      const Place<third_part> at(i);
      const int cell_there = (row + at.y) * grid + column + at.x;
      *reinterpret_cast<float2*>(channels_of + place_of(cell_there, directions + channel)) = {
          share * sums.of[0][0][2 * half], share * sums.of[0][0][2 * half + 1]};
    }
  }
  double sum = 0;
  if (threadIdx.x < 32) {
    for (int i = lane; i < third_part.places(); i += 32) {
      const float squares = squares_at(i), share = share_at(i, squares);
      sum += share * share * squares;
    }
    sum = warp_sum(sum);
  }
  return sum;
}

/// A block's part of the learned channels of a window. Returns the sum of their squares, in its
/// first thread. \param tile  of the window
static __device__ double learn(LearnedPart& part, const Window& window, int tile, const Fade& fade,
                               float* channels_of) {
  const int column = tile % learned_tiles * learned_side, row = tile / learned_tiles * learned_side;
  const int left_2 = begin_of_input<2>(column), top_2 = begin_of_input<2>(row);
  const int left_1 = begin_of_input<1>(left_2) - square_reach,
            top_1 = begin_of_input<1>(top_2) - square_reach;
  load_pixels(part, window, begin_of_input<0>(left_1), begin_of_input<0>(top_1));
  __syncthreads();
  make_even(part, left_1, top_1);
  __syncthreads();
  make_second(part, left_2, top_2);
  __syncthreads();
  return make_third(part, column, row, fade, channels_of);
}

}  // namespace xcorr::cuda::tracker
