// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of bytes by matrix instructions, for the families that store them (tensor_core)
// and that score them in place (tensor_match). One row of the right is a banded (Toeplitz) matrix,
// B[k][n] = right[k - n], so that 16 x 32 shifts are pieces of 16 left rows, as they lie in memory,
// times B: no pixel is rearranged. The columns of B are the same bytes shifted, read from four
// copies of the row that begin a byte apart; set_rights() makes them. A piece of the left serves
// every tile of 16 shifts whose row of the right meets it there: tile m and row j where 16 m + j is
// the piece's first row. Sums wrap at 2^32, which is right while the true ones fit.
#pragma once

#include <algorithm>
#include <utility>

#include "../runtime.hpp"
#include "async_copy.cuh"
#include "launch.cuh"
#include "mma.cuh"
#include "overlap.cuh"
#include "shared_memory.cuh"

namespace xcorr::cuda {

/// One tuning. A warp computes 32 shifts in x and 16 * tiles in y. Of a block's four warps
/// 4 / split lie side by side; `split` of them share the rows of the right for the same shifts.
/// Rows of the right are staged 16 * groups at a time, with `steps` times 32 bytes of k for each.
struct Tiling {
  int steps, tiles, groups, split;
  int blocks;  ///< that a multiprocessor shall have registers for

  static constexpr int warps = 4, threads = 32 * warps;
  constexpr int across() const { return warps / split; }
  constexpr int columns() const { return 32 * across(); }  ///< shifts of a block
  constexpr int rows() const { return 16 * tiles; }

  /// Columns of a right that a row of k takes beside the 31 that B is shifted by: one less than
  /// would do, so that wider rights are cut where 16-byte copies begin.
  constexpr int most_columns() const { return 32 * steps - 32; }
  constexpr int stage_rows() const { return 16 * groups; }
  /// Words of one copy of a right's row: 32 zero bytes, the row, zero bytes. An odd number of eight
  /// banks, so that the four copies lie in different ones.
  constexpr int copy_words() const {
    int words = 8 * steps + 8;
    while (words % 16 != 8) words += 8;
    return words;
  }
  constexpr int row_words() const { return 4 * copy_words(); }
  constexpr int left_columns() const { return columns() + 32 * (steps - 1); }
  /// An odd number of 16 bytes, so that eight rows lie in different banks.
  constexpr int left_pitch() const { return (left_columns() / 16 | 1) * 16; }
  constexpr int left_rows() const { return rows() + stage_rows() - 1; }
  constexpr int left_bytes() const { return left_rows() * left_pitch(); }
  constexpr int stage_bytes() const { return left_bytes() + stage_rows() * row_words() * 4; }

  /// Words from row to row of a warp's sums in shared memory: four rows lie in different banks.
  static constexpr int sums_pitch = 40;
  constexpr int warp_sums() const { return rows() * sums_pitch; }
  constexpr int sums_bytes() const { return warps * warp_sums() * 4; }
};

// clang-format off
constexpr Tiling tilings[] = {
    {2, 1, 2, 4, 4},
    {2, 2, 1, 1, 4},
    {2, 4, 1, 1, 3},
    {2, 4, 1, 1, 4},
    {2, 4, 2, 1, 3},
    {2, 4, 2, 1, 4},
    {3, 1, 4, 4, 2},
    {3, 2, 2, 1, 2},
    {3, 4, 2, 1, 2},
    {3, 4, 4, 1, 2},
    {4, 4, 2, 1, 2},
    {5, 1, 4, 4, 2},
    {5, 4, 2, 1, 2},
    {5, 4, 4, 1, 2},
};
// clang-format on
constexpr int tiling_count = static_cast<int>(std::size(tilings));

/// The names of a family's variants, in the order of the tilings: k, how many times 32 bytes of k;
/// t, tiles of 16 rows a warp; g, groups of 16 rows a stage; s, warps that share the rows; b,
/// blocks that a multiprocessor has registers for, where that is not what others have.
// clang-format off
#define XCORR_TENSOR_NAMES(family)                                            \
  {                                                                           \
    family ".k2t1g2s4", family ".k2t2g1", family ".k2t4g1", family ".k2t4g1b4", \
    family ".k2t4g2", family ".k2t4g2b4", family ".k3t1g4s4", family ".k3t2g2", \
    family ".k3t4g2", family ".k3t4g4", family ".k4t4g2", family ".k5t1g4s4",   \
    family ".k5t4g2", family ".k5t4g4"                                        \
  }
// clang-format on

/// Rows of the right that a launch takes.
struct RightRows {
  int first, count;
};

// ---- preparing rights -----------------------------------------------------------------------

/// Bands of columns in which rights wider than a row of k are taken.
template <int number>
__host__ __device__ constexpr int bands_of(const Problem& p) {
  return ceil_div(p.right.width, tilings[number].most_columns());
}

/// For each right, band and row: four copies, the c-th beginning c bytes in.
template <int number>
__global__ void shift_rights(Problem p, const std::byte* rights, std::uint32_t* to) {
  constexpr Tiling t = tilings[number];
  const int bands = bands_of<number>(p);
  const int row = blockIdx.x % p.right.height, band = blockIdx.x / p.right.height % bands;
  const int index = blockIdx.x / p.right.height / bands;
  const auto* from =
      reinterpret_cast<const std::uint8_t*>(rights + index * p.right_stride + row * p.right_pitch) +
      band * t.most_columns();
  const int columns = min(t.most_columns(), p.right.width - band * t.most_columns());
  to += std::int64_t{blockIdx.x} * t.row_words();
  for (int word = threadIdx.x; word < t.row_words(); word += blockDim.x) {
    const int first = 4 * (word % t.copy_words()) + word / t.copy_words() - 32;
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      if (first + i >= 0 && first + i < columns) value |= std::uint32_t{from[first + i]} << 8 * i;
    to[word] = value;
  }
}

template <int number>
std::int64_t lines_of(const Problem& p) {
  return p.total_rights() * bands_of<number>(p) * p.right.height;
}

template <int number>
class ShiftedRights final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const MatchProblem& problem, const Device&) {
    const Problem& p = problem.correlate;
    const std::int64_t lines = lines_of<number>(p);
    auto block =
        Block::make(Backend::cuda, static_cast<std::size_t>(lines) * tilings[number].row_words() *
                                       sizeof(std::uint32_t));
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new ShiftedRights(p, lines, std::move(block.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return enqueue("shift_rights", shift_rights<number>, dim3(static_cast<unsigned>(lines_)),
                   dim3(128), 0, stream, problem_, static_cast<const std::byte*>(rights), words());
  }
  std::uint32_t* words() const { return block_.template as<std::uint32_t>(); }

 private:
  ShiftedRights(const Problem& p, std::int64_t lines, Block block)
      : problem_(p), lines_(lines), block_(std::move(block)) {}

  Problem problem_;
  std::int64_t lines_;
  Block block_;
};

// ---- a block's sums -------------------------------------------------------------------------

/// The first shift of a block, as elements of the output. Blocks begin up to 15 columns before
/// the output, so that 16-byte copies of the left lie as in memory.
struct Corner {
  int x, y;
};

/// Copies of the left may be 16 bytes at a time.
inline bool is_left_aligned(const Problem& p, const void* lefts) {
  return p.left_pitch % 16 == 0 && p.left_stride % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(lefts) % 16 == 0;
}

inline int skew_of(const Problem& p) { return p.shifts.x & 15; }

template <int number>
dim3 tensor_grid(const Problem& p, std::int64_t outputs) {
  constexpr Tiling t = tilings[number];
  return dim3(ceil_div(p.shifts.width + skew_of(p), t.columns()),
              ceil_div(p.shifts.height, t.rows()), static_cast<unsigned>(outputs));
}

/// What a block needs for `rows` rows of the right, and then for its sums.
template <int number>
std::size_t tensor_shared_bytes(const Problem& p, int rows) {
  constexpr Tiling t = tilings[number];
  const int stages = bands_of<number>(p) * ceil_div(rows, t.stage_rows());
  return std::max(std::min(stages, 2) * t.stage_bytes(), t.sums_bytes());
}

/// 16 bytes from (x, y) on of the left; zeros where there is nothing. x is a multiple of 16.
__device__ inline void stage_left(std::uint8_t* to, const Problem& p, const std::byte* left, int x,
                                  int y, bool aligned) {
  const bool inside = unsigned(y) < unsigned(p.left.height) && x >= 0;
  const int valid = inside ? min(max(p.left.width - x, 0), 16) : 0;
  const auto* from = reinterpret_cast<const std::uint8_t*>(left + y * p.left_pitch) + x;
  if (aligned) return copy_async<16>(to, from, valid);
  for (int i = 0; i < 16; ++i) to[i] = i < valid ? from[i] : 0;
}

/// The products of 16 * tiles rows of 32 shifts with row j of each group of a stage's rows.
/// `left`, `right`: this lane's places, see sum_products().
template <int number>
__device__ void multiply_row(std::uint32_t (&sums)[tilings[number].tiles][4][4],
                             const std::uint8_t* left, const std::uint8_t* right) {
  constexpr Tiling t = tilings[number];
#pragma unroll
  for (int s = 0; s < t.steps; ++s) {
    // Eight shifts further is two words back, the second half of k four words on. A word that two
    // tiles use is loaded for each: instructions want pairs of registers, and moves cost more.
    std::uint32_t b[t.groups][4][2];
#pragma unroll
    for (int g = 0; g < t.groups; ++g)
#pragma unroll
      for (int n = 0; n < 4; ++n)
#pragma unroll
        for (int half = 0; half < 2; ++half)
          b[g][n][half] =
              load_word(right + 4 * (16 * g * t.row_words() + 8 * s + 4 * half - 2 * n));
#pragma unroll
    for (int piece = 0; piece < t.tiles + t.groups - 1; ++piece) {
      std::uint32_t a[4];
      load_matrices(a, left + 16 * piece * t.left_pitch() + 32 * s);
#pragma unroll
      for (int g = 0; g < t.groups; ++g) {
        const int m = piece - g;
        if (m < 0 || m >= t.tiles) continue;
#pragma unroll
        for (int n = 0; n < 4; ++n) multiply_add(sums[m][n], a, b[g][n][0], b[g][n][1]);
      }
    }
  }
}

/// The sums of a block's shifts over some rows of right number `right`, in shared memory for
/// BlockSums to read; ends with a barrier. `shifted`: of all rights.
template <int number>
__device__ void sum_products(const Problem& p, const std::byte* left, std::int64_t right,
                             const std::uint32_t* shifted, Corner corner, RightRows rows,
                             bool aligned) {
  constexpr Tiling t = tilings[number];
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const int bands = bands_of<number>(p);
  const int row_stages = ceil_div(rows.count, t.stage_rows()), stages = bands * row_stages;
  const auto rows_in = [&](int stage) {
    return min(t.stage_rows(), rows.count - stage % row_stages * t.stage_rows());
  };

  const auto fill = [&](int stage) {
    if (stage < stages) {
      const int band = stage / row_stages;
      const int first_row = rows.first + stage % row_stages * t.stage_rows();
      std::uint8_t* const to = shared + stage % 2 * t.stage_bytes();
      constexpr int units = t.left_columns() / 16;
      const int x = p.shifts.x + corner.x + band * t.most_columns();
      const int y = p.shifts.y + corner.y + first_row;
      for (int i = threadIdx.x; i < t.left_rows() * units; i += t.threads)
        stage_left(to + i / units * t.left_pitch() + i % units * 16, p, left, x + i % units * 16,
                   y + i / units, aligned);
      const std::uint32_t* from =
          shifted + ((right * bands + band) * p.right.height + first_row) * t.row_words();
      const int words = rows_in(stage) * t.row_words();
      for (int i = threadIdx.x * 4; i < t.stage_rows() * t.row_words(); i += t.threads * 4)
        copy_async<16>(to + t.left_bytes() + i * 4, from + (i < words ? i : 0), i < words ? 16 : 0);
    }
    commit_copies();
  };

  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  // Column l / 4 of B begins l / 4 bytes before its row: that many words, in the copy that makes
  // up for the rest.
  const int copy = -(lane / 4) & 3, back = (lane / 4 + 3) / 4;
  const int my_right = t.left_bytes() + 4 * (copy * t.copy_words() + lane % 4 + 8 - back);
  const int my_left = (lane % 16) * t.left_pitch() + lane / 16 * 16 + warp % t.across() * 32;
  constexpr int share = 16 / t.split;
  const int first = warp / t.across() * share;

  std::uint32_t sums[t.tiles][4][4] = {};
  fill(0);
  for (int stage = 0; stage < stages; ++stage) {
    fill(stage + 1);
    wait_copies<1>();
    __syncthreads();
    const std::uint8_t* const base = shared + stage % 2 * t.stage_bytes();
    const int end = min(first + share, rows_in(stage));  // past 16 rows the others are in groups
    for (int j = first; j < end; ++j)
      multiply_row<number>(sums, base + my_left + j * t.left_pitch(),
                           base + my_right + 4 * j * t.row_words());
    __syncthreads();
  }

  auto* const to =
      reinterpret_cast<uint2*>(reinterpret_cast<std::uint32_t*>(shared) + warp * t.warp_sums() +
                               lane / 4 * t.sums_pitch + lane % 4 * 2);
#pragma unroll
  for (int m = 0; m < t.tiles; ++m)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        to[((16 * m + 8 * half) * t.sums_pitch + 8 * n) / 2] = {sums[m][n][2 * half],
                                                                sums[m][n][2 * half + 1]};
  __syncthreads();
}

/// A block's sums as its warps read them: a lane a column, eight rows at a time.
template <int number>
class BlockSums {
  static constexpr Tiling t = tilings[number];

 public:
  __device__ explicit BlockSums(Corner corner)
      : strip_(static_cast<int>(threadIdx.x) / 32 % t.across()),
        x_(corner.x + 32 * strip_ + static_cast<int>(threadIdx.x) % 32) {}

  /// This lane's column of the output; may be outside.
  __device__ int x() const { return x_; }

  /// Calls f(row) for the first of each eight rows of the block that are this warp's.
  template <class F>
  __device__ void for_eight_rows(F f) const {
    const int part = threadIdx.x / 32 / t.across();
    for (int row = 8 * part; row < t.rows(); row += 8 * t.split) f(row);
  }

  /// The sum in this lane's column and a row of the block.
  __device__ std::uint32_t at(int row) const {
    const auto* from = dynamic_shared<std::uint32_t>() + strip_ * t.warp_sums() +
                       row * t.sums_pitch + threadIdx.x % 32;
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < t.split; ++i) sum += from[i * t.across() * t.warp_sums()];
    return sum;
  }

 private:
  int strip_, x_;  // strip: of 32 columns
};

// ---- eligibility ----------------------------------------------------------------------------

/// Rows of a right for which 32 bits hold the sums.
inline int most_rows_in_32_bits(const Problem& p) {
  return static_cast<int>(std::min<std::int64_t>(p.right.height, widest_u8_row / p.right.width));
}

template <int number>
bool supports_tiling(const MatchProblem& problem, const Device& device) {
  constexpr Tiling t = tilings[number];
  const Problem& p = problem.correlate;
  // Rights that are wider than a row of k go to the tilings of more steps first.
  const bool narrow = bands_of<number>(p) == 1 || t.steps == tilings[tiling_count - 1].steps;
  return narrow && p.type == ElementType::u8 && device.compute_capability >= 75 &&
         most_rows_in_32_bits(p) > 0 &&
         tensor_shared_bytes<number>(p, most_rows_in_32_bits(p)) <= most_shared_bytes(device) &&
         lines_of<number>(p) <= 0x7fffffff && p.shifts.height <= 65535LL * t.rows() &&
         std::int64_t{p.lefts} * problem.most_rights() <= 65535;
}

}  // namespace xcorr::cuda
