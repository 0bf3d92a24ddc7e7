// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A tile of edges by a block, whose threads share its pixels: it brings the pixels of the tile and
// round it to shared memory, adds up columns there, then rows to gradients, marks the ridges among
// those, and finds the edges that are near one. Of several planes each is added up in the same
// memory, and leaves the gradients that are longer than those of the planes before.
//
// A thread has pixels side by side, and adds up two in a word, of 16 bits each. What may be
// negative has a bias there: then no sum of the lower half borrows from the upper one.
#pragma once

#include "cuda/common/launch.cuh"
#include "cuda/common/tiles.cuh"
#include "stages/image/edges.hpp"

namespace xcorr::cuda {

/// \tparam turned  its pixels are read at any angle, see for_tiles()
template <int wide_, int high_, int threads_, bool turned = false>
class EdgeTile {
 public:
  static constexpr int threads = threads_, wide = wide_, high = high_;
  /// The pixels that are read.
  static constexpr int columns = wide + 2 * edge_radius, rows = high + 2 * edge_radius;

  /// Calls put(x, y, edge) for each place of the tile, by the thread whose place it is. Ends with
  /// all threads there.
  /// \param read  read(plane, bring) calls bring(at), where at(x, y) is the plane's pixel there of
  ///               those that are read. Each is asked for once, if turned by all lanes of a warp.
  ///               All threads call it
  /// \param counts  whether the tile's place (x, y) may have an edge
  template <int planes, class Read, class Counts, class Put>
  __device__ void make(const EdgeRule& rule, Read read, Counts counts, Put put) {
    XCORR_ROLL
    for (int plane = 0; plane < planes; ++plane) {
      read(plane, [this](auto pixel_at) { bring(pixel_at); });
      __syncthreads();
      add_up_columns();
      __syncthreads();
      make_gradients(plane > 0);  // each the same thread's in all planes
    }
    __syncthreads();
    mark_ridges(rule);
    __syncthreads();
    find_edges(rule, counts, put);
    __syncthreads();
  }

 private:
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;

  /// Pixels of a word, and of one of their sums.
  static constexpr int of_word = 4, of_sum = 2;
  /// Pixels round a tile that have gradients, and those that may be ridges.
  static constexpr int margin = edge_radius - gradient_radius, reach = margin - 1;
  static constexpr int gradient_columns = wide + 2 * margin, gradient_rows = high + 2 * margin;
  static constexpr int ridge_columns = wide + 2 * reach, ridge_rows = high + 2 * reach;
  static_assert(wide % of_word == 0 && margin == 2 && reach == 1 && gradient_radius == 2);
  /// Of a row of ridges: then those of a pair of places are a word.
  static constexpr int first_ridge = 1;

  /// Of both halves of a word, so that slopes and gradients are positive: a gradient adds up 16
  /// slopes.
  static constexpr u32 both = 0x00010001, slope_bias = 1024, gradient_bias = 16 * slope_bias;

  /// The lower halves of two words, the upper ones, and the upper and the lower one of words that
  /// follow each other.
  __device__ static u32 lower(u32 a, u32 b) { return (a & 0xffff) | b << 16; }
  __device__ static u32 upper(u32 a, u32 b) { return a >> 16 | (b & 0xffff0000); }
  __device__ static u32 between(u32 a, u32 b) { return a >> 16 | b << 16; }

  template <class At>
  __device__ void bring(At at) {
    if constexpr (turned) {
      u8* const bytes = reinterpret_cast<u8*>(pixels_);
      for_tiles({columns, rows}, threadIdx.x / 32, threads / 32,
                [&](int x, int y) { bytes[y * columns + x] = at(x, y); });
    } else {
      constexpr int words = columns / of_word;
      for (int i = threadIdx.x; i < rows * words; i += threads) {
        const int x = i % words, y = i / words;
        u32 word = 0;
#pragma unroll
        for (int k = 0; k < of_word; ++k) word |= u32{at(of_word * x + k, y)} << 8 * k;
        pixels_[y][x] = word;
      }
    }
  }

  __device__ void add_up_columns() {
    constexpr int words = columns / of_word;
    for (int i = threadIdx.x; i < gradient_rows * words; i += threads) {
      const int x = i % words, y = i / words;
      u32 smooth[2], slope[2];  // of the even pixels, of the odd ones
#pragma unroll
      for (int odd = 0; odd < 2; ++odd) {
        const auto at = [&](int k) { return pixels_[y + k][x] >> 8 * odd & 0x00ff00ff; };
        smooth[odd] = edge_smooth(at);
        slope[odd] = edge_slope(at) + slope_bias * both;
      }
      smooth_[y][2 * x] = lower(smooth[0], smooth[1]);
      smooth_[y][2 * x + 1] = upper(smooth[0], smooth[1]);
      slope_[y][2 * x] = lower(slope[0], slope[1]);
      slope_[y][2 * x + 1] = upper(slope[0], slope[1]);
    }
  }

  /// \param has_longest  of the planes before
  __device__ void make_gradients(bool has_longest) {
    constexpr int pairs = gradient_columns / of_sum;
    for (int i = threadIdx.x; i < gradient_rows * pairs; i += threads) {
      const int x = i % pairs, y = i / pairs;
      // Of the pair k pixels on.
      const auto of = [&](const u32* row) {
        return
            [row](int k) { return k % 2 == 0 ? row[k / 2] : between(row[k / 2], row[k / 2 + 1]); };
      };
      const u32 right = edge_slope(of(&smooth_[y][x])) + gradient_bias * both;
      const u32 below = edge_smooth(of(&slope_[y][x]));
      const u32 gradients[of_sum] = {lower(right, below), upper(right, below)};
#pragma unroll
      for (int k = 0; k < of_sum; ++k) {
        const int square =
            across(gradients[k]) * across(gradients[k]) + down(gradients[k]) * down(gradients[k]);
        if (has_longest && !takes_over(square, squares_[y][of_sum * x + k])) continue;
        gradients_[y][of_sum * x + k] = gradients[k];
        squares_[y][of_sum * x + k] = square;
      }
    }
  }
  __device__ static int across(u32 gradient) { return int(gradient & 0xffff) - int(gradient_bias); }
  __device__ static int down(u32 gradient) { return int(gradient >> 16) - int(gradient_bias); }

  __device__ void mark_ridges(const EdgeRule& rule) {
    constexpr int pairs = ridge_columns / of_sum;
    for (int i = threadIdx.x; i < ridge_rows * pairs; i += threads) {
      const int x = of_sum * (i % pairs), y = i / pairs;
      int squares[3][of_sum + 2];
#pragma unroll
      for (int v = 0; v < 3; ++v)
#pragma unroll
        for (int u = 0; u < of_sum + 2; ++u) squares[v][u] = squares_[y + v][x + u];
#pragma unroll
      for (int k = 0; k < of_sum; ++k) {
        const u32 gradient = gradients_[y + 1][x + k + 1];
        ridges_[y][first_ridge + x + k] =
            is_ridge(across(gradient), down(gradient), rule,
                     [&](int dx, int dy) { return squares[1 + dy][k + 1 + dx]; });
      }
    }
  }

  template <class Counts, class Put>
  __device__ void find_edges(const EdgeRule& rule, Counts counts, Put put) {
    constexpr int pairs = wide / of_sum;
    for (int i = threadIdx.x; i < high * pairs; i += threads) {
      const int x = of_sum * (i % pairs), y = i / pairs;
      // Ridges of a pair in a word: of the place and beside it, above and below.
      const auto pair = [&](int dx, int dy) -> u32 {
        return *reinterpret_cast<const u16*>(
            &ridges_[y + reach + dy][first_ridge + reach + x + dx]);
      };
      const u32 near = is_near_ridge([&](int dx, int dy) {
        const u32 here = pair(0, dy);
        return dx < 0   ? here << 8 | pair(-2, dy) >> 8
               : dx > 0 ? here >> 8 | pair(2, dy) << 8
                        : here;
      });
#pragma unroll
      for (int k = 0; k < of_sum; ++k) {
        Edge edge{no_edge, no_edge};
        if (counts(x + k, y)) {
          const u32 gradient = gradients_[y + margin][x + k + margin];
          edge = edge_of(across(gradient), down(gradient), near >> 8 * k & 1, rule);
        }
        put(x + k, y, edge);
      }
    }
  }

  u32 pixels_[rows][columns / of_word];
  u32 smooth_[gradient_rows][columns / of_sum], slope_[gradient_rows][columns / of_sum];
  u32 gradients_[gradient_rows][gradient_columns];  ///< across in the lower half, down
  std::int32_t squares_[gradient_rows][gradient_columns];
  alignas(u16) u8 ridges_[ridge_rows][first_ridge + ridge_columns + 1];
};

}  // namespace xcorr::cuda
