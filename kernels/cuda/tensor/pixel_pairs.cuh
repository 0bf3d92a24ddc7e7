// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tiles of the left for sparse matrices (tensor_sparse.cuh): of each row pixels that are 64 apart,
// side by side. They go through registers, all that fit of them in flight at once.
#pragma once

#include "cuda/common/row_words.cuh"
#include "cuda/tensor/tensor_block.cuh"

namespace xcorr::cuda {

/// 16 pixels of a row of the left from some x on, 0 outside.
class PixelRun {
 public:
  static constexpr int count = 16;

  __device__ PixelRun(int x, int width, bool aligned)
      : x_(x), width_(width), inside_(x >= 0 && x + count <= width), aligned_(aligned) {}

  /// Whether one load is enough, or none.
  __device__ bool is_whole() const { return (inside_ && aligned_) || x_ <= -count || x_ >= width_; }
  __device__ uint4 load_whole(const std::uint8_t* row) const {
    return inside_ ? *reinterpret_cast<const uint4*>(row + x_) : uint4{};
  }
  __device__ uint4 load(const std::uint8_t* row) const {
    std::uint32_t words[count / 4];
    load_words(row, x_, width_, words);
    return {words[0], words[1], words[2], words[3]};
  }

 private:
  int x_, width_;
  bool inside_, aligned_;
};

/// Eight pixels each of two runs, side by side.
__device__ inline uint4 pairs_of(std::uint32_t near0, std::uint32_t near1, std::uint32_t far0,
                                 std::uint32_t far1) {
  return {__byte_perm(near0, far0, 0x5140), __byte_perm(near0, far0, 0x7362),
          __byte_perm(near1, far1, 0x5140), __byte_perm(near1, far1, 0x7362)};
}

/// A tile of `rows` of the left from y on, with columns from x on, a multiple of 16 in a row's
/// memory if the left is aligned.
template <class T, int rows_at_once>
__device__ void stage_pairs(std::uint8_t* to, const Problem& p, const std::byte* left, int x, int y,
                            int rows, bool aligned) {
  constexpr int step = T::threads() / T::runs;
  const int run = threadIdx.x % T::runs, own = threadIdx.x / T::runs;
  const int begin = -y, end = min(rows, p.left.height - y);  // of rows that exist
  const auto* const top = reinterpret_cast<const std::uint8_t*>(left) + y * p.left_pitch;
  const int at = x + run * PixelRun::count;
  const PixelRun near(at, p.left.width, aligned), far(at + T::period, p.left.width, aligned);
  uint4* const chunks[] = {reinterpret_cast<uint4*>(to) + T::place_of_chunk(2 * run) * rows,
                           reinterpret_cast<uint4*>(to) + T::place_of_chunk(2 * run + 1) * rows};
  const auto store = [&](int row, const uint4& a, const uint4& b) {
    chunks[0][row] = pairs_of(a.x, a.y, b.x, b.y);
    chunks[1][row] = pairs_of(a.z, a.w, b.z, b.w);
  };
  if (near.is_whole() && far.is_whole()) {
    for (int first = own; first < rows; first += rows_at_once * step) {
      const std::uint8_t* const from = top + first * p.left_pitch;
      uint4 pixels[rows_at_once][2] = {};
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i)
        if (const int row = first + i * step; row >= begin && row < end) {
          pixels[i][0] = near.load_whole(from + i * step * p.left_pitch);
          pixels[i][1] = far.load_whole(from + i * step * p.left_pitch);
        }
#pragma unroll
      for (int i = 0; i < rows_at_once; ++i)
        if (const int row = first + i * step; row < rows) store(row, pixels[i][0], pixels[i][1]);
    }
  } else {
#pragma unroll 1
    for (int row = own; row < rows; row += step) {
      uint4 pixels[2] = {};
      if (row >= begin && row < end) {
        pixels[0] = near.load(top + row * p.left_pitch);
        pixels[1] = far.load(top + row * p.left_pitch);
      }
      store(row, pixels[0], pixels[1]);
    }
  }
}

}  // namespace xcorr::cuda
