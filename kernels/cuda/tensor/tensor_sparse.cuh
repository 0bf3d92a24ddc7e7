// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor_block.cuh by sparse matrices (wgmma.sp, on compute capability 9.0), which multiply none of
// the band's zeros. A row of a right of up to `period` columns times as many shifts is a band,
// A[i][k] = right[k - i], of twice that many k. Of k and k + period exactly one is not zero in each
// of its rows. So with the columns in the order 0, period, 1, period + 1 ... every four neighbours
// have two nonzeros, as the instructions ask for, and no product is lost. What is stored of A is
// circulant, right[(k - i) mod period]; where the nonzeros are depends on i and k alone, so that
// two registers of a thread tell it for the whole kernel.
//
// An instruction has 64 rows of A, those of 64 / period shifts down. B's columns are rows of the
// left, so many apart, with pixels x and x + period side by side. They are stored as chunks of 8
// such pairs, of all rows together. So a row further is 16 bytes further, and all rows of the right
// share one tile of the left and one set of sums.
#pragma once

#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/pixel_pairs.cuh"
#include "cuda/tensor/tensor_block.cuh"
#include "cuda/tensor/wgmma.cuh"

namespace xcorr::cuda {

/// A tiling's parameters by their names.
struct SparseTuning {
  int period;      ///< 32 or 64
  int columns;     ///< of B
  int groups = 1;  ///< of four warps: below each other, or side by side where the period is 32
  int ahead;       ///< rounds for which a lane's words are in registers
  int blocks;      ///< for which a multiprocessor must have registers
};

/// One tuning.
template <SparseTuning t>
struct SparseTiling {
  static constexpr int period = t.period, groups = t.groups, ahead = t.ahead, blocks = t.blocks;
  static constexpr int down = 64 / period;  ///< shifts down in the rows of an instruction
  static constexpr int across = period == 64 ? 1 : groups;
  static constexpr int split = 1;             ///< sums are whole
  static constexpr int sums = t.columns / 2;  ///< of a thread

  /// After the family's name: p, the period; r, rows of a block.
  static constexpr VariantName name(const char* family) {
    return variant_name(family, ".p", period, "r", rows());
  }

  static constexpr int threads() { return 128 * groups; }
  static constexpr int columns() { return period * across; }  ///< shifts of a block
  static constexpr int group_rows() { return t.columns * down; }
  static constexpr int rows() { return group_rows() * (groups / across); }
  static constexpr int place(int row) { return row; }  ///< of its sums
  /// So that a warp's sums of eight columns and four rows lie in different banks.
  static constexpr int sums_pitch = 32 + 4 / down;

  static constexpr int max_columns() { return period; }
  static constexpr int max_bands = period == 64 ? 2 : 1;
  static constexpr int bands(int width) { return ceil_div(width, max_columns()); }

  // ---- the right ----

  /// Of a row, each entry has the four words that a lane needs: for two instructions where the
  /// period is 64, else for one. How often a word goes back by 16 columns, which is how far apart
  /// the shifts of a lane's two rows are:
  static constexpr int back(int word) { return period == 64 ? word : (word ^ word >> 1) & 1; }
  /// A lane's first column is 4 (l % 4) - l / 4, less 8 for every second warp.
  static constexpr int least_column = -15, entries = 13 - least_column;
  static constexpr int row_words() { return entries * 4; }
  static constexpr int row_bytes() { return row_words() * 4; }
  /// Entries lie so that eight lanes read from all banks.
  static constexpr int word_of(int entry) {
    return (entry >> 1 & 1) * (row_words() / 2) + (entry >> 2) * 8 + (entry & 1) * 4;
  }
  static constexpr int entry_of(int word) {
    constexpr int half = row_words() / 2;
    return word % half / 8 * 4 + word / half * 2 + word / 4 % 2;
  }
  /// The right's column of a laid-out word's byte.
  static constexpr int column(int word, int byte) {
    return (least_column + entry_of(word) - back(word % 4) * 16 + byte + 2 * 64) % period;
  }
  /// Two instructions at a time take `down` rows of the left; so many times for a right of some
  /// height, of which the last of the shifts that share A's rows needs `down` - 1 rows of the left
  /// more. A multiple of `ahead`: past its end a right is 0.
  static constexpr int rounds(int height) {
    return ceil_div(ceil_div(height + down - 1, down), ahead) * ahead;
  }
  /// Rows in shared memory: zeros above and below, and what is loaded but not used.
  static constexpr int right_rows(int height) { return (rounds(height) + ahead) * down + down - 1; }

  // ---- the left ----

  static constexpr int runs = period / PixelRun::count;
  /// Rows that a thread loads before it stores the first: all, for rights as high as they are wide.
  static constexpr int rows_at_once = ceil_div(rows() + period - 1, threads() / runs);
  static constexpr int chunk = 16;  ///< bytes, of 8 pairs
  /// Rows of the left that are `down` apart lie side by side: slots of one chunk. An odd number, so
  /// that eight chunks lie in different banks.
  static constexpr int slots(int height) { return (rows() / down + rounds(height) - 1) | 1; }
  /// The chunks of all kinds of rows are eight in all. Of a period of 64 an instruction takes 0, 1,
  /// 4, 5 or 2, 3, 6, 7, so that what it needs of the right are an entry's words in their order.
  static constexpr int place_of_chunk(int row, int number) {
    return period == 64 ? (number & 1) | (number >> 1 & 2) | (number << 1 & 4)
                        : row % down * 4 + number;
  }
  static constexpr int tile_bytes(int height) { return 8 * slots(height) * chunk; }

  /// What a block needs for `height` rows of a right, and then for its sums.
  static constexpr std::size_t shared_bytes(int, int height) {
    const std::size_t rows_of_both =
        std::size_t(across) * tile_bytes(height) + std::size_t(right_rows(height)) * row_bytes();
    return std::max(rows_of_both, sums_bytes(columns() / 32 * rows(), sums_pitch));
  }
  static bool has_instructions(const Device& device) { return device.compute_capability == 90; }
  /// Narrower ones are left to the shorter period, or to others.
  static constexpr bool takes_width(int width) {
    return width > period / 2 && bands(width) <= max_bands;
  }
};

// clang-format off
using SparseTilings = Tilings<  //
    SparseTiling<SparseTuning{.period = 64, .columns = 256, .ahead = 8, .blocks = 2}>,
    SparseTiling<SparseTuning{.period = 64, .columns = 64, .groups = 2, .ahead = 4, .blocks = 2}>,
    SparseTiling<SparseTuning{.period = 64, .columns = 64, .ahead = 4, .blocks = 4}>,
    SparseTiling<SparseTuning{.period = 32, .columns = 64, .groups = 2, .ahead = 2, .blocks = 2}>>;
// clang-format on

// ---- staging --------------------------------------------------------------------------------

/// Copies `count` laid-out rows of a right, with zeros above and below.
template <class T>
__device__ void stage_right_rows(std::uint8_t* to, const std::uint32_t* from, int count) {
  constexpr int units = T::row_bytes() / 16, above = (T::down - 1) * units;
  const int all = T::right_rows(count) * units;
#pragma unroll 2
  for (int i = threadIdx.x; i < all; i += T::threads()) {
    const bool exists = i >= above && i < above + count * units;
    copy_async<16>(to + i * 16, from + (exists ? (i - above) * 4 : 0), exists ? 16 : 0);
  }
  commit_copies();
}

// ---- products -------------------------------------------------------------------------------

/// Where a lane's rows of A are among a block's shifts.
template <class T>
struct SparseRows {
  int across, down;         ///< of the warp's first row
  std::uint32_t places[2];  ///< for the two products of a round: see multiply_sparse_async()

  __device__ explicit SparseRows(int warp)
      : across(8 * (warp & 1) + (T::period == 64 ? 32 * (warp >> 1) : 0)),
        down(T::period == 64 ? 0 : warp >> 1) {
    const int lane = threadIdx.x % 32, shift = across + lane / 4 + 16 * (lane & 1),
              half = lane >> 1 & 1;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int first_pair = T::period == 64 ? 16 * i + 32 * half : 16 * half;
      // Of the pair (k, k + period) the second counts where k < the shift.
      const int seconds = min(max(shift - first_pair, 0), 16);
      const std::uint32_t all = 0x55555555;
      places[i] = 0x88888888 | (seconds < 16 ? all & ((1u << 2 * seconds) - 1) : all);
    }
  }

  /// The lane's words of the first round's first row. `rows`: the right's in shared memory.
  __device__ const std::uint8_t* words(const std::uint8_t* rows) const {
    const int lane = threadIdx.x % 32,
              entry = 4 * (lane % 4) - lane / 4 - across % 16 - T::least_column;
    return rows + (T::down - 1 - down) * T::row_bytes() + 4 * T::word_of(entry);
  }
};

/// What a lane brings to the products of the rounds one after the other. Of a period of 64 both
/// products of a round are made of the same words, which are loaded for several rounds at once;
/// else these are as they are loaded.
template <class T, bool shares_words = T::period == 64>
class LeftParts {
 public:
  __device__ LeftParts(const std::uint8_t* words, int warp) : words_(words), turned_(warp & 2) {
    load(0);
    arrange(0);
  }
  /// Of the i-th of `ahead` rounds.
  __device__ auto& of(int i, int product) const { return parts_[i % 2][product]; }
  /// When the i-th of the rounds from `round` on has begun, and the one before has ended.
  __device__ void advance(int round, int i) {
    arrange(i + 1);
    if (i == T::ahead - 2) load(round + T::ahead);
  }

 private:
  __device__ void load(int round) {
#pragma unroll
    for (int i = 0; i < T::ahead; ++i)
      load_shared(loaded_[i], words_ + (round + i) * T::row_bytes());
  }
  __device__ void arrange(int i) {
    const auto& words = loaded_[i % T::ahead];
    auto& [first, second] = parts_[i % 2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      first[k] = turned_ ? words[k ^ 2] : words[k];
      second[k] = turned_ ? words[(k + 1) & 3] : words[(k + 3) & 3];
    }
    hold_registers(first);
    hold_registers(second);
  }

  const std::uint8_t* words_;
  bool turned_;
  std::uint32_t loaded_[T::ahead][4], parts_[2][2][4];
};

template <class T>
class LeftParts<T, false> {
 public:
  __device__ LeftParts(const std::uint8_t* words, int) : words_(words) {
#pragma unroll
    for (int i = 0; i < T::ahead - 1; ++i) load(i, i);
  }
  __device__ auto& of(int i, int product) const { return parts_[i][product]; }
  __device__ void advance(int round, int i) {
    load(round + i + T::ahead - 1, (i + T::ahead - 1) % T::ahead);
  }

 private:
  __device__ void load(int round, int i) {
#pragma unroll
    for (int product = 0; product < 2; ++product)
      load_shared(parts_[i][product], words_ + (round * T::down + product) * T::row_bytes());
  }

  const std::uint8_t* words_;
  std::uint32_t parts_[T::ahead][2][4];
};

/// Adds the products of a group's columns with all rows of a right.
template <class T>
__device__ void multiply_rounds(std::uint32_t (&sums)[T::sums], const SparseRows<T>& rows,
                                LeftParts<T> parts, const RightMatrix& right, int slots,
                                int rounds) {
  for (int round = 0; round < rounds; round += T::ahead) {
#pragma unroll
    for (int i = 0; i < T::ahead; ++i) {
      const RightMatrix now = right.at((round + i) * T::chunk);
      begin_products();
      multiply_sparse_async(sums, parts.of(i, 0), now, rows.places[0]);
      multiply_sparse_async(sums, parts.of(i, 1), now.at(4 * slots * T::chunk), rows.places[1]);
      commit_products();
      wait_products<1>();  // so that the registers of the previous round are free
      parts.advance(round, i);
    }
  }
  wait_products<0>();
}

/// The sums of a block's shifts over some rows of right number `right`, in shared memory for
/// BlockSums to read; ends with a barrier. `laid_out`: all rights.
template <SparseTuning tuning>
__device__ void sum_products(SparseTiling<tuning>, const Problem& p, const std::byte* left,
                             std::int64_t right, const std::uint32_t* laid_out, Corner corner,
                             RightRows rows, bool aligned) {
  using T = SparseTiling<tuning>;
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int slots = T::slots(rows.count), tile_bytes = T::tile_bytes(rows.count);
  std::uint8_t* const shared_rows = shared + T::across * tile_bytes;
  // By a shuffle, so that the compiler knows that all lanes have the same value.
  const int warp = static_cast<int>(__shfl_sync(~0u, threadIdx.x / 32, 0)), group = warp / 4;
  const int beside = group % T::across, below = group / T::across;
  const SparseRows<T> lane_rows(warp % 4);
  const RightMatrix matrix(
      shared + beside * tile_bytes + below * T::group_rows() / T::down * T::chunk, slots * T::chunk,
      8 * T::chunk);

  const int bands = bands_of<T>(p);
  const auto stage = [&](int band, auto rows_at_once) {
    stage_right_rows<T>(
        shared_rows,
        laid_out + ((right * bands + band) * p.right.height + rows.first) * T::row_words(),
        rows.count);
    const int x = p.shifts.x + corner.x + band * T::period, y = p.shifts.y + corner.y + rows.first;
    for (int i = 0; i < T::across; ++i)
      stage_pairs<T, rows_at_once>(shared + i * tile_bytes, p, left, x + i * T::period, y,
                                   rows.count, aligned);
    wait_copies<0>();
    show_to_products();
    __syncthreads();
  };
  const auto multiply = [&](std::uint32_t(&sums)[T::sums]) {
    multiply_rounds<T>(sums, lane_rows, {lane_rows.words(shared_rows), warp % 4}, matrix, slots,
                       T::rounds(rows.count));
    __syncthreads();
  };

  stage(0, std::integral_constant<int, T::rows_at_once>());
  std::uint32_t sums[T::sums] = {};
  hold_registers(sums);
  multiply(sums);
  if constexpr (T::max_bands > 1)
    for (int band = 1; band < bands; ++band) {
      stage(band, std::integral_constant<int, 1>());  // the sums have most registers
      multiply(sums);
    }

  // A row of the products is a shift across, a column a row of windows.
  const int lane = threadIdx.x % 32, x = beside * T::period + lane_rows.across + lane / 4;
  const int y = below * T::group_rows() + lane_rows.down + lane % 4 * 2 * T::down;
  std::uint32_t* const to =
      dynamic_shared<std::uint32_t>() + (x / 32 * T::rows() + y) * T::sums_pitch + x % 32;
#pragma unroll
  for (int i = 0; i < T::sums; ++i)
    to[(i / 4 * 8 + i % 2) * T::down * T::sums_pitch + i / 2 % 2 * 16] = sums[i];
  __syncthreads();
}

}  // namespace xcorr::cuda
