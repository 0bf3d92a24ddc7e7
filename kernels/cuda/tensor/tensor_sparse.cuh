// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor_block.cuh by sparse matrices (wgmma.sp, on compute capability 9.0), which multiply none of
// the band's zeros. A row of a right of up to 64 columns times 64 shifts is a band, A[i][k] =
// right[k - i], of 128 k. Of k and k + 64 exactly one is not zero in each of its rows. So with the
// columns in the order 0, 64, 1, 65 ... every four neighbours have two nonzeros, as the
// instructions ask for, and no product is lost. What is stored of A is circulant,
// right[(k - i) mod 64]; where the nonzeros are depends on i and k alone, so that two registers of
// a thread tell it for the whole kernel.
//
// B's columns are rows of the left, with pixels x and x + 64 side by side. They are stored as
// chunks of 8 such pairs, of all rows together. So a row further is 16 bytes further, and all rows
// of the right share one tile of the left and one set of sums. Wider rights are two bands of
// columns, one after the other.
#pragma once

#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/pixel_pairs.cuh"
#include "cuda/tensor/tensor_block.cuh"
#include "cuda/tensor/wgmma.cuh"

namespace xcorr::cuda {

/// A tiling's parameters by their names.
struct SparseTuning {
  int columns;     ///< of B
  int groups = 1;  ///< of four warps, below each other
  int ahead;       ///< rows of the right for which a lane's words are in registers
  int blocks;      ///< for which a multiprocessor must have registers
};

/// One tuning.
template <SparseTuning t>
struct SparseTiling {
  static constexpr int period = 64, ahead = t.ahead, blocks = t.blocks;
  static constexpr int split = 1;             ///< sums are whole
  static constexpr int sums = t.columns / 2;  ///< of a thread

  /// After the family's name: r, rows of a block.
  static constexpr VariantName name(const char* family) {
    return variant_name(family, ".r", rows());
  }

  static constexpr int threads() { return 128 * t.groups; }
  static constexpr int columns() { return period; }  ///< shifts of a block
  static constexpr int group_rows() { return t.columns; }
  static constexpr int rows() { return t.columns * t.groups; }
  static constexpr int place(int row) { return row; }  ///< of its sums
  /// So that a warp's sums of eight columns and four rows lie in different banks.
  static constexpr int sums_pitch = 36;

  static constexpr int max_columns() { return period; }
  static constexpr int bands(int width) { return ceil_div(width, max_columns()); }

  // ---- the right ----

  /// Of a row, each entry has the four words that a lane needs for two instructions: each 16
  /// columns before the last, which is how far apart the shifts of a lane's two rows are. A lane's
  /// first column is 4 (l % 4) - l / 4, less 8 for every second warp.
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
    return (least_column + entry_of(word) - word % 4 * 16 + byte + 2 * period) % period;
  }
  /// Rows that are multiplied, those past the end by 0.
  static constexpr int padded_rows(int height) { return ceil_div(height, ahead) * ahead; }
  /// Rows in shared memory: besides, what is loaded but not used.
  static constexpr int right_rows(int height) { return padded_rows(height) + ahead; }

  // ---- the left ----

  static constexpr int runs = period / PixelRun::count;
  /// Rows that a thread loads before it stores the first: all, for rights as high as they are wide.
  static constexpr int rows_at_once = ceil_div(rows() + period - 1, threads() / runs);
  static constexpr int chunk = 16;  ///< bytes, of 8 pairs
  /// An odd number, so that eight chunks lie in different banks.
  static constexpr int left_rows(int height) { return (rows() + padded_rows(height) - 1) | 1; }
  /// An instruction takes chunks 0, 1, 4, 5 or 2, 3, 6, 7, so that what it needs of the right are
  /// an entry's words in their order.
  static constexpr int place_of_chunk(int number) {
    return (number & 1) | (number >> 1 & 2) | (number << 1 & 4);
  }
  static constexpr int left_bytes(int height) { return 8 * left_rows(height) * chunk; }

  /// What a block needs for `height` rows of a right, and then for its sums.
  static constexpr std::size_t shared_bytes(int, int height, int = 1) {
    return std::max<std::size_t>(left_bytes(height) + right_rows(height) * row_bytes(),
                                 sums_bytes(columns() / 32 * rows(), sums_pitch));
  }
  static bool has_instructions(const Device& device) { return device.compute_capability == 90; }
  /// Others take less time by dense matrices, whose bands are narrower.
  static constexpr bool takes_width(int width) {
    return (width > 32 && width <= 64) || (width > 112 && width <= 128);
  }
};

// clang-format off
using SparseTilings = Tilings<  //
    SparseTiling<SparseTuning{.columns = 256, .ahead = 8, .blocks = 2}>,
    SparseTiling<SparseTuning{.columns = 64, .groups = 2, .ahead = 4, .blocks = 2}>,
    SparseTiling<SparseTuning{.columns = 64, .ahead = 4, .blocks = 4}>>;
// clang-format on

// ---- staging --------------------------------------------------------------------------------

/// Copies `count` laid-out rows of a right, and zeros for the rest.
template <class T>
__device__ void stage_right_rows(std::uint8_t* to, const std::uint32_t* from, int count) {
  constexpr int units = T::row_bytes() / 16;
#pragma unroll 2
  for (int i = threadIdx.x; i < T::right_rows(count) * units; i += T::threads()) {
    const bool exists = i < count * units;
    copy_async<16>(to + i * 16, from + (exists ? i * 4 : 0), exists ? 16 : 0);
  }
  commit_copies();
}

// ---- products -------------------------------------------------------------------------------

/// The first of a warp's rows of A as a shift; the others follow, eight of them 16 further.
__device__ inline int first_shift(int warp) { return 8 * (warp & 1) + 32 * (warp >> 1); }

/// For the two products of a row of the right, see multiply_sparse_async().
struct Places {
  std::uint32_t of[2];

  __device__ explicit Places(int warp) {
    const int lane = threadIdx.x % 32, shift = first_shift(warp) + lane / 4 + 16 * (lane & 1);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int first_pair = 16 * i + 32 * (lane >> 1 & 1);
      // Of the pair (k, k + 64) the second counts where k < the shift.
      const int seconds = min(max(shift - first_pair, 0), 16);
      const std::uint32_t all = 0x55555555;
      of[i] = 0x88888888 | (seconds < 16 ? all & ((1u << 2 * seconds) - 1) : all);
    }
  }
};

/// What a lane brings to the products of the right's rows one after the other: both of a row are
/// made of the same words, which are loaded for several rows at once.
template <class T>
class LeftParts {
 public:
  /// `rows`: the right's in shared memory.
  __device__ LeftParts(const std::uint8_t* rows, int warp) : turned_(warp & 2) {
    const int lane = threadIdx.x % 32,
              entry = 4 * (lane % 4) - lane / 4 - 8 * (warp & 1) - T::least_column;
    words_ = rows + 4 * T::word_of(entry);
    load(0);
    arrange(0);
  }
  /// Of the i-th of `ahead` rows.
  __device__ auto& of(int i, int product) const { return parts_[i % 2][product]; }
  /// When the i-th of the rows from `row` on has begun, and the one before has ended.
  __device__ void advance(int row, int i) {
    arrange(i + 1);
    if (i == T::ahead - 2) load(row + T::ahead);
  }

 private:
  __device__ void load(int row) {
#pragma unroll
    for (int i = 0; i < T::ahead; ++i) load_shared(loaded_[i], words_ + (row + i) * T::row_bytes());
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

/// Adds the products of a group's columns with all rows of a right. `second`: bytes from the first
/// chunk of a row's first product to that of its second one.
template <class T>
__device__ void multiply_rows(std::uint32_t (&sums)[T::sums], const Places& places,
                              LeftParts<T> parts, const RightMatrix& right, int second, int rows) {
  for (int row = 0; row < rows; row += T::ahead) {
#pragma unroll
    for (int i = 0; i < T::ahead; ++i) {
      const RightMatrix now = right.at((row + i) * T::chunk);
      begin_products();
      multiply_sparse_async(sums, parts.of(i, 0), now, places.of[0]);
      multiply_sparse_async(sums, parts.of(i, 1), now.at(second), places.of[1]);
      commit_products();
      wait_products<1>();  // so that the registers of the previous row are free
      parts.advance(row, i);
    }
  }
  wait_products<0>();
}

/// The sums of a block's shifts over some rows of right number `right` and all its planes, in
/// shared memory for BlockSums to read; ends with a barrier. `left`: the first plane; `laid_out`:
/// all rights.
template <int planes, SparseTuning tuning>
__device__ void sum_products(SparseTiling<tuning>, const Problem& p, const std::byte* left,
                             std::int64_t right, const std::uint32_t* laid_out, Corner corner,
                             RightRows rows, bool aligned) {
  using T = SparseTiling<tuning>;
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int pitch = T::left_rows(rows.count) * T::chunk;  // from a chunk to the next
  std::uint8_t* const shared_rows = shared + 8 * pitch;
  // By a shuffle, so that the compiler knows that all lanes have the same value.
  const int warp = static_cast<int>(__shfl_sync(~0u, threadIdx.x / 32, 0)), group = warp / 4;
  const Places places(warp % 4);
  const RightMatrix matrix(shared + group * T::group_rows() * T::chunk, pitch, 8 * T::chunk);

  // The bands of one plane after those of another.
  const int bands = bands_of<T>(p), parts = planes * bands;
  const auto stage = [&](int part, auto rows_at_once) {
    const int plane = planes > 1 ? part / bands : 0, band = part - plane * bands;
    const std::int64_t of_plane = right + std::int64_t{plane} * p.rights;
    stage_right_rows<T>(
        shared_rows,
        laid_out + ((of_plane * bands + band) * p.right.height + rows.first) * T::row_words(),
        rows.count);
    stage_pairs<T, rows_at_once>(
        shared, p, left + plane * p.left_plane, p.shifts.x + corner.x + band * T::period,
        p.shifts.y + corner.y + rows.first, T::left_rows(rows.count), aligned);
    wait_copies<0>();
    show_to_products();
    __syncthreads();
  };
  const auto multiply = [&](std::uint32_t(&sums)[T::sums]) {
    multiply_rows<T>(sums, places, {shared_rows, warp % 4}, matrix, 4 * pitch,
                     T::padded_rows(rows.count));
    __syncthreads();
  };

  stage(0, std::integral_constant<int, T::rows_at_once>());
  std::uint32_t sums[T::sums] = {};
  hold_registers(sums);
  multiply(sums);
  // The sums have most registers, but those of few columns.
  constexpr int rows_at_once = planes > 1 && T::sums <= 32 ? T::rows_at_once : 1;
  for (int part = 1; part < parts; ++part) {
    stage(part, std::integral_constant<int, rows_at_once>());
    multiply(sums);
  }

  // A row of the products is a shift across, a column a row of windows.
  const int lane = threadIdx.x % 32, x = first_shift(warp % 4) + lane / 4;
  const int y = group * T::group_rows() + lane % 4 * 2;
  std::uint32_t* const to =
      dynamic_shared<std::uint32_t>() + (x / 32 * T::rows() + y) * T::sums_pitch + x % 32;
#pragma unroll
  for (int i = 0; i < T::sums; ++i)
    to[(i / 4 * 8 + i % 2) * T::sums_pitch + i / 2 % 2 * 16] = sums[i];
  __syncthreads();
}

}  // namespace xcorr::cuda
