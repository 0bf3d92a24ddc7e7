// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor_block.cuh by warps (mma.sync). The columns of B are the same bytes shifted, read from four
// copies of the right's row that begin a byte apart. A piece of the left is used by every tile of
// 16 shifts for which a row of the right meets it: tile m and row j where 16 m + j is the piece's
// first row.
#pragma once

#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/tensor_block.cuh"

namespace xcorr::cuda {

/// One tuning. A warp computes 32 shifts in x and 16 * tiles in y. Of a block's four warps 4 /
/// split lie side by side; `split` of them divide the rows of the right for the same shifts. Rows
/// of the right are staged 16 * groups at a time, with `steps` times 32 bytes of k for each.
template <int k, int t, int g, int s, int b>
struct WarpTiling {
  static constexpr bool by_warps = true;
  static constexpr int steps = k, tiles = t, groups = g, split = s;
  static constexpr int blocks = b;  ///< for which a multiprocessor must have registers

  /// After the family's name: k, multiples of 32 bytes of k; t, tiles of 16 rows per warp; g,
  /// groups of 16 rows per stage; s, warps that divide the rows; b, blocks, where others have
  /// fewer.
  static constexpr VariantName name(const char* family) {
    VariantName name = variant_name(family, ".k", k, "t", t, "g", g);
    name.add_if(split > 1, "s", split);
    name.add_if(tiles == 4 && blocks == 4, "b", blocks);
    return name;
  }

  static constexpr int threads() { return 128; }
  static constexpr int across() { return 4 / split; }
  static constexpr int columns() { return 32 * across(); }  ///< shifts of a block
  static constexpr int rows() { return 16 * tiles; }
  static constexpr int place(int row) { return row; }  ///< of its sums
  static constexpr int sums_pitch = paired_sums_pitch;

  /// Columns of a right that a row of k holds besides the 31 that B is shifted by: one less than
  /// would fit, so that wider rights are split where 16-byte copies begin.
  static constexpr int max_columns() { return 32 * steps - 32; }
  static constexpr int stage_rows() { return 16 * groups; }
  /// Words of one copy of a right's row: 32 zero bytes, the row, zero bytes. An odd multiple of
  /// eight banks, so that the four copies lie in different ones.
  static constexpr int copy_words() {
    int words = 8 * steps + 8;
    while (words % 16 != 8) words += 8;
    return words;
  }
  static constexpr int row_words() { return 4 * copy_words(); }
  /// The right's column of a laid-out word's byte. The c-th copy begins c bytes in.
  static constexpr int column(int word, int byte) {
    return 4 * (word % copy_words()) + word / copy_words() - 32 + byte;
  }
  static constexpr int left_columns() { return columns() + 32 * (steps - 1); }
  /// An odd multiple of 16 bytes, so that eight rows lie in different banks.
  static constexpr int left_pitch() { return (left_columns() / 16 | 1) * 16; }
  static constexpr int left_rows() { return rows() + stage_rows() - 1; }
  static constexpr int left_bytes() { return left_rows() * left_pitch(); }
  static constexpr int stage_bytes() { return left_bytes() + stage_rows() * row_words() * 4; }

  static constexpr int bands(int width) { return ceil_div(width, max_columns()); }
  /// What a block needs for `height` rows of a right, and then for its sums.
  static constexpr std::size_t shared_bytes(int width, int height, int planes = 1) {
    const int stages = planes * bands(width) * ceil_div(height, stage_rows());
    return std::max<std::size_t>(std::min(stages, 2) * stage_bytes(), sums_bytes(4 * rows()));
  }
  static bool has_instructions(const Device& device) { return device.compute_capability >= 75; }
  /// Rights wider than a row of k are left to the tilings with the most steps.
  static constexpr bool takes_width(int width) { return bands(width) == 1 || steps == max_steps; }
  static constexpr int max_steps = 5;

  /// The products of 16 * tiles rows of 32 shifts with row j of each group of a stage's rows.
  /// `left`, `right`: this lane's places, see sum_products().
  static __device__ void multiply_row(std::uint32_t (&sums)[tiles][4][4], const std::uint8_t* left,
                                      const std::uint8_t* right) {
#pragma unroll
    for (int step = 0; step < steps; ++step) {
      // Eight shifts further is two words back, the second half of k four words on. A word that two
      // tiles use is loaded for each: instructions need pairs of registers, and moves cost more.
      std::uint32_t words[groups][4][2];
#pragma unroll
      for (int group = 0; group < groups; ++group)
#pragma unroll
        for (int n = 0; n < 4; ++n)
#pragma unroll
          for (int half = 0; half < 2; ++half)
            words[group][n][half] =
                load_word(right + 4 * (16 * group * row_words() + 8 * step + 4 * half - 2 * n));
#pragma unroll
      for (int piece = 0; piece < tiles + groups - 1; ++piece) {
        std::uint32_t a[4];
        load_matrices(a, left + 16 * piece * left_pitch() + 32 * step);
#pragma unroll
        for (int group = 0; group < groups; ++group) {
          const int m = piece - group;
          if (m < 0 || m >= tiles) continue;
#pragma unroll
          for (int n = 0; n < 4; ++n)
            multiply_add(sums[m][n], a, words[group][n][0], words[group][n][1]);
        }
      }
    }
  }
};

/// A tiling of bytes, or of what a lane makes of them (tensor_halves.cuh).
template <class T>
concept OfWarps = T::by_warps;

/// A tiling's parameters by their names: a kernel's own must be numbers.
struct MmaTuning {
  int steps, tiles, groups, split = 1, blocks;
};
template <MmaTuning t>
using ByWarps = WarpTiling<t.steps, t.tiles, t.groups, t.split, t.blocks>;

// clang-format off
using WarpTilings = Tilings<  //
    ByWarps<MmaTuning{.steps = 2, .tiles = 1, .groups = 2, .split = 4, .blocks = 4}>,
    ByWarps<MmaTuning{.steps = 2, .tiles = 2, .groups = 1, .blocks = 4}>,
    ByWarps<MmaTuning{.steps = 2, .tiles = 4, .groups = 1, .blocks = 4}>,
    ByWarps<MmaTuning{.steps = 2, .tiles = 4, .groups = 2, .blocks = 3}>,
    ByWarps<MmaTuning{.steps = 2, .tiles = 4, .groups = 2, .blocks = 4}>,
    ByWarps<MmaTuning{.steps = 3, .tiles = 1, .groups = 4, .split = 4, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 3, .tiles = 2, .groups = 2, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 3, .tiles = 4, .groups = 2, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 3, .tiles = 4, .groups = 4, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 4, .tiles = 4, .groups = 2, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 5, .tiles = 1, .groups = 4, .split = 4, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 5, .tiles = 4, .groups = 2, .blocks = 2}>,
    ByWarps<MmaTuning{.steps = 5, .tiles = 4, .groups = 4, .blocks = 2}>>;
// clang-format on

/// The sums of a block's shifts over some rows of right number `right` and all its planes, in
/// shared memory for BlockSums to read; ends with a barrier. `left`: the first plane; `laid_out`:
/// all rights.
template <int planes, OfWarps T>
__device__ void sum_products(T, const Problem& p, const std::byte* left, std::int64_t right,
                             const std::uint32_t* laid_out, Corner corner, RightRows rows,
                             bool aligned) {
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int bands = bands_of<T>(p);
  const int row_stages = ceil_div(rows.count, T::stage_rows()),
            stages = planes * bands * row_stages;
  const auto rows_in = [&](int stage) {
    return min(T::stage_rows(), rows.count - stage % row_stages * T::stage_rows());
  };

  const auto fill = [&](int stage) {
    if (stage < stages) {
      const int part = stage / row_stages, plane = planes > 1 ? part / bands : 0,
                band = part - plane * bands;
      const std::int64_t of_plane = right + std::int64_t{plane} * p.rights;
      const int first_row = rows.first + stage % row_stages * T::stage_rows();
      std::uint8_t* const to = shared + stage % 2 * T::stage_bytes();
      constexpr int units = T::left_columns() / 16;
      const int x = p.shifts.x + corner.x + band * T::max_columns();
      const int y = p.shifts.y + corner.y + first_row;
      for (int i = threadIdx.x; i < T::left_rows() * units; i += T::threads())
        stage_left(to + i / units * T::left_pitch() + i % units * 16, p,
                   left + plane * p.left_plane, x + i % units * 16, y + i / units, aligned);
      stage_rights<T>(
          to + T::left_bytes(),
          laid_out + ((of_plane * bands + band) * p.right.height + first_row) * T::row_words(),
          rows_in(stage));
    }
    commit_copies();
  };

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Column l / 4 of B begins l / 4 bytes before its row: that many whole words, and the copy that
  // is offset by the remaining bytes.
  const int copy = -(lane / 4) & 3, back = (lane / 4 + 3) / 4;
  const int my_right = T::left_bytes() + 4 * (copy * T::copy_words() + lane % 4 + 8 - back);
  const int my_left = (lane % 16) * T::left_pitch() + lane / 16 * 16 + warp % T::across() * 32;
  constexpr int share = 16 / T::split;
  const int first = warp / T::across() * share;

  std::uint32_t sums[T::tiles][4][4] = {};
  fill(0);
  for (int stage = 0; stage < stages; ++stage) {
    fill(stage + 1);
    wait_copies<1>();
    __syncthreads();
    const std::uint8_t* const base = shared + stage % 2 * T::stage_bytes();
    const int end = min(first + share, rows_in(stage));  // rows past 16 are in the other groups
    for (int j = first; j < end; ++j)
      T::multiply_row(sums, base + my_left + j * T::left_pitch(),
                      base + my_right + 4 * j * T::row_words());
    __syncthreads();
  }

  uint2* const to = place_of_sums(warp * T::rows());
#pragma unroll
  for (int m = 0; m < T::tiles; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        to[((16 * m + 8 * half) * T::sums_pitch + 8 * n) / 2] = {sums[m][n][2 * half],
                                                                 sums[m][n][2 * half + 1]};
  __syncthreads();
}

}  // namespace xcorr::cuda
