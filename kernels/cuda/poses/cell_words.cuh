// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the words of images and of the frame lie that fused_coarse_search multiplies: k runs over
// those of an image, and a table says where in a block's part of the frame each of them meets its
// own. Edges are taken as numbers with a sign.
#pragma once

#include <algorithm>

#include "cuda/poses/cell_scores.cuh"

namespace xcorr::cuda {

/// A block's cells: of a warp side by side, of its warps two by two.
constexpr int warps_across = 2, warps_down = 2;
constexpr int cells_across = cells_of_warp * warps_across, threads = 32 * warps_across * warps_down;
/// A step of k: words of an image.
constexpr int words_of_step = 8;

/// How the words of images and frame lie.
struct Words {
  int width;   ///< words of an image's row
  int plane;   ///< words of a plane of an image
  int planes;  ///< of an image and of the frame
  int steps;   ///< of k
  /// Of the frame in shared memory: a plane's rows, words of one, words of a copy of all planes.
  int rows, pitch, copy;

  explicit Words(const Problem& p)
      : width(ceil_div(p.right.width, 4)),
        plane(width * p.right.height),
        planes(p.planes),
        steps(ceil_div(planes * plane, words_of_step)),
        rows(side * warps_down + p.right.height - 1),
        // Eight places and four words lie in different banks: they are 4, 16 and 1 apart.
        pitch(16 + ceil_div(std::max(cells_across + width - 1 - 16, 0), 32) * 32),
        copy(whole_copy(planes * rows * pitch)) {}
  __host__ __device__ int padded() const { return steps * words_of_step; }
  __host__ __device__ int offsets_bytes() const { return padded() * 4; }
  __host__ __device__ int frame_bytes() const { return (side * copy * 4 + 15) / 16 * 16; }

 private:
  static int whole_copy(int words) { return words / 32 * 32 + (words % 32 <= 4 ? 4 : 36); }
};

/// The word at byte x of a row, 0 outside. x is a multiple of 4.
__device__ inline u32 frame_word(const Problem& p, const std::uint8_t* left, int x, int y,
                                 bool aligned) {
  if (y < 0 || y >= p.left.height) return 0;
  const std::uint8_t* row = left + y * p.left_pitch;
  if (aligned && x >= 0 && x + 4 <= p.left.width) return *reinterpret_cast<const u32*>(row + x);
  u32 word = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (x + k >= 0 && x + k < p.left.width) word |= u32{row[x + k]} << 8 * k;
  return word;
}

/// Four copies of the frame from (x, y) on, the next a byte further.
template <int planes>
__device__ void load_frame(const Problem& p, const Words& words, const std::uint8_t* left, int x,
                           int y, bool aligned, u32* to) {
  constexpr u32 sign = planes == edge_planes ? edge_signs : 0;
  const int shift = x & 3, used = cells_across + words.width - 1;
  for (int i = threadIdx.x; i < planes * words.rows * used; i += threads) {
    const int row = i / used, word = i - row * used, plane = row / words.rows;
    u32 here[3];
#pragma unroll
    for (int k = 0; k < 3; ++k)
      here[k] = frame_word(p, left + plane * p.left_plane, x - shift + 4 * (word + k),
                           y + row - plane * words.rows, aligned) ^
                sign;
#pragma unroll
    for (int copy = 0; copy < side; ++copy) {
      const int bytes = shift + copy;
      const u32 low = bytes < 4 ? here[0] : here[1], high = bytes < 4 ? here[1] : here[2];
      to[copy * words.copy + row * words.pitch + word] =
          __funnelshift_r(low, high, 8 * (bytes & 3));
    }
  }
}

}  // namespace xcorr::cuda
