// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of bytes by matrix instructions: shared by the kernels by warps
// (tensor_warps.cuh), by groups of four warps (tensor_warpgroups.cuh) and by these with sparse
// matrices (tensor_sparse.cuh). One row of the right is a banded (Toeplitz) matrix, B[k][n] =
// right[k - n], so that 16 x 32 shifts are pieces of 16 left rows, as they lie in memory, times B:
// no pixel is rearranged. What comes of a right is laid out once, as the instructions in use
// require. A tiling `T` is a type that kernels take as a parameter. Sums are modulo 2^32, so they
// are right while the true ones fit.
#pragma once

#include <algorithm>

#include "cuda/common/async_copy.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/common/shared_memory.cuh"
#include "device/runtime.hpp"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {

/// A family's tilings, in the order of its variants.
template <class... T>
struct Tilings {};

/// Rows of the right that a launch takes.
struct RightRows {
  int first, count;
};

// ---- preparing rights -----------------------------------------------------------------------

/// The bands of columns into which rights wider than a row of k are split.
template <class T>
__host__ __device__ constexpr int bands_of(const Problem& p) {
  return T::bands(p.right.width);
}

/// For each right, band and row: the words of its matrix.
template <class T>
__global__ void lay_out_rights(Problem p, const std::byte* rights, std::uint32_t* to) {
  const int bands = bands_of<T>(p);
  const int row = blockIdx.x % p.right.height, band = blockIdx.x / p.right.height % bands;
  const int index = blockIdx.x / p.right.height / bands;
  const auto* from =
      reinterpret_cast<const std::uint8_t*>(rights + index * p.right_stride + row * p.right_pitch) +
      band * T::max_columns();
  const int columns = min(T::max_columns(), p.right.width - band * T::max_columns());
  to += std::int64_t{blockIdx.x} * T::row_words();
  for (int word = threadIdx.x; word < T::row_words(); word += blockDim.x) {
    std::uint32_t value = 0;
    for (int i = 0; i < 4; ++i)
      if (const int column = T::column(word, i); column >= 0 && column < columns)
        value |= std::uint32_t{from[column]} << 8 * i;
    to[word] = value;
  }
}

template <class T>
std::int64_t lines_of(const Problem& p) {
  return p.total_rights() * bands_of<T>(p) * p.right.height;
}

template <class T>
class LaidOutRights final : public PlanState {
 public:
  /// For the problem of a correlation or of a search.
  template <class P>
  static Result<std::unique_ptr<PlanState>> make(const P& problem, const Device&) {
    return make(problem.correlate);
  }
  static Result<std::unique_ptr<PlanState>> make(const Problem& p) {
    const std::int64_t lines = lines_of<T>(p);
    auto block = Block::make(
        Backend::cuda, static_cast<std::size_t>(lines) * T::row_words() * sizeof(std::uint32_t));
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new LaidOutRights(p, lines, std::move(block.value())));
  }

  Status set_rights(const void* rights, Stream stream) override {
    return enqueue("lay_out_rights", lay_out_rights<T>, dim3(static_cast<unsigned>(lines_)),
                   dim3(128), 0, stream, problem_, static_cast<const std::byte*>(rights), words());
  }
  std::uint32_t* words() const { return block_.template as<std::uint32_t>(); }

 private:
  LaidOutRights(const Problem& p, std::int64_t lines, Block block)
      : problem_(p), lines_(lines), block_(std::move(block)) {}

  Problem problem_;
  std::int64_t lines_;
  Block block_;
};

// ---- a block's sums -------------------------------------------------------------------------

/// The first shift of a block, as elements of the output. Blocks begin up to 15 columns before the
/// output, so that 16-byte copies of the left are aligned.
struct Corner {
  int x, y;
};

/// Copies of the left may be 16 bytes at a time.
inline bool is_left_aligned(const Problem& p, const void* lefts) {
  return p.left_pitch % 16 == 0 && p.left_stride % 16 == 0 &&
         (p.planes == 1 || p.left_plane % 16 == 0) &&
         reinterpret_cast<std::uintptr_t>(lefts) % 16 == 0;
}

constexpr int skew_of(const Problem& p) { return p.shifts.x & 15; }

template <class T>
dim3 tensor_grid(const Problem& p, std::int64_t outputs) {
  return dim3(ceil_div(p.shifts.width + skew_of(p), T::columns()),
              ceil_div(p.shifts.height, T::rows()), static_cast<unsigned>(outputs));
}

/// 16 bytes of the left from (x, y) on; zeros outside. x is a multiple of 16.
__device__ inline void stage_left(std::uint8_t* to, const Problem& p, const std::byte* left, int x,
                                  int y, bool aligned) {
  const bool inside = unsigned(y) < unsigned(p.left.height) && x >= 0;
  const int valid = inside ? min(max(p.left.width - x, 0), 16) : 0;
  const auto* from = reinterpret_cast<const std::uint8_t*>(left + y * p.left_pitch) + x;
  if (aligned) return copy_async<16>(to, from, valid);
#pragma unroll 2  // unrolling further would take registers from the sums
  for (int i = 0; i < 16; ++i) to[i] = i < valid ? from[i] : 0;
}

/// Copies `count` of a right's laid-out rows, and zeros for the rest of a stage.
template <class T>
__device__ void stage_rights(std::uint8_t* to, const std::uint32_t* from, int count) {
  const int words = count * T::row_words();
#pragma unroll 2
  for (int i = threadIdx.x * 4; i < T::stage_rows() * T::row_words(); i += T::threads() * 4)
    copy_async<16>(to + i * 4, from + (i < words ? i : 0), i < words ? 16 : 0);
}

/// Words from row to row of a warp's sums in shared memory that are stored two at a time, so that
/// four rows lie in different banks.
constexpr int paired_sums_pitch = 40;

/// Where a lane stores two sums at a time. A warp's accumulators have 16 rows and 8 columns each,
/// as multiply_add() leaves them; `row`: the first row of sums.
__device__ inline uint2* place_of_sums(int row) {
  const int lane = threadIdx.x % 32;
  return reinterpret_cast<uint2*>(dynamic_shared<std::uint32_t>() +
                                  (row + lane / 4) * paired_sums_pitch + lane % 4 * 2);
}

/// The bytes of that many rows of 32 columns.
constexpr std::size_t sums_bytes(int rows, int pitch = paired_sums_pitch) {
  return static_cast<std::size_t>(rows) * pitch * sizeof(std::uint32_t);
}

/// A block's sums as its warps read them: one column per lane, eight rows at a time. Each row of
/// sums is stored T::split times, each with a part of the sum.
template <class T>
class BlockSums {
  static constexpr int across = T::columns() / 32, strip_sums = T::rows() * T::sums_pitch;

 public:
  static constexpr int step = 8 * (T::threads() / 32 / across);

  __device__ explicit BlockSums(Corner corner)
      : strip_(static_cast<int>(threadIdx.x) / 32 % across),
        x_(corner.x + 32 * strip_ + static_cast<int>(threadIdx.x) % 32) {}

  /// This lane's column of the output, which may be outside it.
  __device__ int x() const { return x_; }

  /// The first of this warp's groups of eight rows of the block; the next group is `step` rows on.
  __device__ int first_row() const { return static_cast<int>(threadIdx.x) / 32 / across * 8; }

  /// The sum in this lane's column and row `row + r` of the block; `row` is a multiple of 8, `r`
  /// below 8. Offsets are then sums, of which that of `r` is a compile-time constant.
  __device__ std::uint32_t at(int row, int r) const {
    const auto* from = dynamic_shared<std::uint32_t>() + strip_ * strip_sums +
                       (T::place(row) + T::place(r)) * T::sums_pitch + threadIdx.x % 32;
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < T::split; ++i) sum += from[i * across * strip_sums];
    return sum;
  }

 private:
  int strip_, x_;  // strip: of 32 columns
};

// ---- eligibility ----------------------------------------------------------------------------

/// The most rows of a right for which 32 bits hold the sums.
inline int max_rows_in_32_bits(const Problem& p) {
  return static_cast<int>(std::min<std::int64_t>(p.right.height, widest_u8_row / p.right.width));
}

/// `rights`: the most in a launch.
template <class T>
bool supports_tiling(const Problem& p, int rights, const Device& device) {
  return T::has_instructions(device) && T::takes_width(p.right.width) &&
         max_rows_in_32_bits(p) > 0 &&
         T::shared_bytes(p.right.width, max_rows_in_32_bits(p), p.planes) <=
             max_shared_bytes(device) &&
         lines_of<T>(p.each_plane()) <= 0x7fffffff && p.shifts.height <= 65535LL * T::rows() &&
         std::int64_t{p.lefts} * rights <= 65535;
}

}  // namespace xcorr::cuda
