// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums of products of bytes of a left with many rights at once, by groups of four warps (wgmma, on
// compute capability 9.0). The rights are the columns of a matrix that stays in shared memory,
// windows side by side the rows of the other one: these begin a byte apart, so a thread's words of
// them are words of a row of the left, 8 bytes apart, whatever the column of the right. They are
// read from four copies of that row that begin a byte apart. No product is of a zero between
// shifts, as in the banded matrices of tensor_block.cuh, and what depends on a window alone is
// needed once for all rights; but all columns are multiplied, however few rights there are.
//
// A warp stages the rows of its own windows, so groups need not wait for each other: while one
// scores its sums, others multiply.
#pragma once

#include "cuda/common/async_copy.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/tensor/wgmma.cuh"
#include "device/runtime.hpp"
#include "stages/common/variant_name.hpp"

namespace xcorr::cuda {

/// One tuning, for rights of up to 32 * `chunks` columns, or of up to 16, of which two rows are
/// `packed` into the 32 bytes of k. A warp has 16 windows across and `tiles` down, `packed` rows
/// apart; a group has four of them, wherever they are.
template <int c, int p, int t, int g>
struct BankTiling {
  static constexpr int chunks = c, packed = p, tiles = t, groups = g;
  static constexpr int rights = 32;

  static constexpr VariantName name(const char* family) {
    return variant_name(family, packed > 1 ? ".p" : ".k", packed > 1 ? packed : chunks, "t", tiles);
  }
  static constexpr int warps() { return 4 * groups; }
  static constexpr int threads() { return 32 * warps(); }
  static constexpr int warp_columns = 16;
  static constexpr int max_width() { return packed > 1 ? 16 : 32 * chunks; }

  /// The first of the rows of windows that a warp has; how many warps have all rows.
  static constexpr __host__ __device__ int first_row(int number) {
    return number / packed * packed * tiles + number % packed;
  }
  static constexpr __host__ __device__ int warps_down(int height) {
    return ceil_div(height, packed * tiles) * packed;
  }
  /// Groups of warps that all windows take.
  static __host__ __device__ int groups_of(Size windows) {
    return ceil_div(ceil_div(windows.width, warp_columns) * warps_down(windows.height), 4);
  }

  /// Steps of k are packed rows of the right, whole rounds of which are laid out, a step a tile: so
  /// a round begins with the same row of the left for all tiles.
  static constexpr __host__ __device__ int rounds(int height) {
    return ceil_div(height, packed * tiles);
  }
  /// The rights, in chunks of 32 columns and 32 bytes of k.
  static constexpr int chunk_bytes = 1024, core_bytes = 128;
  static constexpr int step_bytes = chunks * chunk_bytes;
  static constexpr __host__ __device__ int right_bytes(int height) {
    return rounds(height) * tiles * step_bytes;
  }

  /// Rows of the left that a round reads, as a warp stages them.
  static constexpr int stage_rows = tiles * packed;
  /// Words of a copy that a warp's windows read, and from copy to copy: so that the words of all
  /// copies that are read together lie in different banks.
  static constexpr int words = packed > 1 ? 7 : 3 + 8 * chunks;
  static constexpr int copy_pitch = words <= 8 ? 8 : 24;
  static_assert(words <= copy_pitch);
  static constexpr int row_words = 4 * copy_pitch, stage_words = stage_rows * row_words;
  /// Lanes that stage a row, which have the word that follows, too; and how many rows a lane does.
  static constexpr int row_lanes = words + 1 <= 8 ? 8 : words + 1 <= 16 ? 16 : 32;
  static constexpr int lane_rows = stage_rows * row_lanes / 32;

  /// What a block needs for such rights; what follows is the caller's.
  static constexpr __host__ __device__ int shared_bytes(int height) {
    return right_bytes(height) + warps() * 2 * stage_words * 4;
  }
};

/// A tiling's parameters by their names: a kernel's own must be numbers.
struct BankTuning {
  int chunks = 1, packed = 1, tiles, groups;
};
template <BankTuning t>
using OfBank = BankTiling<t.chunks, t.packed, t.tiles, t.groups>;

/// Groups of T::rights as words of shared memory. Grid: groups; chunks, row by row.
template <class T>
__global__ void lay_out_bank(Problem p, const std::byte* rights, std::uint32_t* to) {
  const int first = blockIdx.x * T::rights, step = static_cast<int>(blockIdx.y) / T::chunks,
            chunk = static_cast<int>(blockIdx.y) % T::chunks;
  to += (std::int64_t{blockIdx.x} * gridDim.y + blockIdx.y) * T::chunk_bytes / 4;
  for (int word = threadIdx.x; word < T::chunk_bytes / 4; word += blockDim.x) {
    // Eight rights a core matrix, 16 bytes of k each.
    const int core = word / 32, right = first + core / 2 * 8 + word % 32 / 4,
              k = core % 2 * 16 + word % 4 * 4;
    const int y = T::packed > 1 ? T::packed * step + k / 16 : step,
              x = T::packed > 1 ? k % 16 : 32 * chunk + k;
    std::uint32_t value = 0;
    if (right < p.rights && y < p.right.height)
      for (int i = 0; i < 4; ++i)
        if (x + i < p.right.width)
          value |= std::to_integer<std::uint32_t>(
                       rights[right * p.right_stride + y * p.right_pitch + x + i])
                   << 8 * i;
    to[word] = value;
  }
}

template <class T>
class LaidOutBank final : public PlanState {
 public:
  static Result<std::unique_ptr<PlanState>> make(const Problem& p) {
    auto block =
        Block::make(Backend::cuda, std::size_t(groups_of(p)) * T::right_bytes(p.right.height));
    if (!block.ok()) return block.status();
    return std::unique_ptr<PlanState>(new LaidOutBank(p, std::move(block.value())));
  }
  static int groups_of(const Problem& p) { return ceil_div(p.rights, T::rights); }

  Status set_rights(const void* rights, Stream stream) override {
    const dim3 chunks(groups_of(problem_), T::right_bytes(problem_.right.height) / T::chunk_bytes);
    return enqueue("lay_out_bank", lay_out_bank<T>, chunks, dim3(128), 0, stream, problem_,
                   static_cast<const std::byte*>(rights), words());
  }
  std::uint32_t* words() const { return block_.template as<std::uint32_t>(); }

 private:
  LaidOutBank(const Problem& p, Block block) : problem_(p), block_(std::move(block)) {}

  Problem problem_;
  Block block_;
};

/// Of a warp's windows: sums[tile][4 n + 2 half + i] is of window 8 * half + lane / 4 of the tile's
/// 16 and of right 8 n + 2 * (lane % 4) + i.
template <class T>
using BankSums = std::uint32_t[T::tiles][16];

/// Stages a group of rights for all products of a block.
template <class T>
__device__ void stage_bank(const Problem& p, const std::uint32_t* laid_out) {
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  const auto* const from = reinterpret_cast<const std::uint8_t*>(laid_out);
  for (int i = threadIdx.x * 16; i < T::right_bytes(p.right.height); i += T::threads() * 16)
    copy_async<16>(shared + i, from + i, 16);
  commit_copies();
  wait_copies<0>();
  show_to_products();
  __syncthreads();
}

/// What all windows of a left have of it, as rows of words: they begin on words, and have whole
/// ones.
struct WordRows {
  const std::byte* first;
  std::int64_t pitch;
  Size size;

  static WordRows of(const Problem& p, const std::byte* left) {
    return {left + p.shifts.y * p.left_pitch + p.shifts.x, p.left_pitch, size_of(p)};
  }
  /// For a copy where they are not such rows.
  static WordRows copy(const Problem& p, const void* memory) {
    const Size size = size_of(p);
    const int width = ceil_div(size.width, 4) * 4;
    return {static_cast<const std::byte*>(memory), width, {width, size.height}};
  }
  static Size size_of(const Problem& p) {
    return {p.shifts.width + p.right.width - 1, p.shifts.height + p.right.height - 1};
  }
  bool are_words() const {
    return reinterpret_cast<std::uintptr_t>(first) % 4 == 0 && pitch % 4 == 0 &&
           size.width % 4 == 0;
  }
  std::size_t bytes() const { return static_cast<std::size_t>(pitch) * size.height; }
};

constexpr int copy_threads = 128;

/// Grid: columns, rows.
static __global__ void __launch_bounds__(copy_threads) copy_rows(WordRows from, WordRows to) {
  wait_for_previous();
  const int x = 4 * static_cast<int>(blockIdx.x * copy_threads + threadIdx.x);
  if (x >= to.size.width) return;
  for (int y = blockIdx.y; y < from.size.height; y += gridDim.y) {
    std::uint32_t word[1];
    load_words(reinterpret_cast<const std::uint8_t*>(from.first + y * from.pitch), x,
               from.size.width, word);
    *reinterpret_cast<std::uint32_t*>(const_cast<std::byte*>(to.first) + y * to.pitch + x) =
        word[0];
  }
}

/// What a lane stages of the rows that a warp's windows read, one row after the other. Whatever is
/// right of the left or below it is multiplied by zeros, or is of no window.
template <class T>
class BankRows {
 public:
  /// \param x, y  the first window's; x is a multiple of 4
  __device__ BankRows(const WordRows& left, int x, int y) : pitch_(left.pitch) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    x = min(x + 4 * (lane % T::row_lanes), left.size.width - 4);
    y = min(y + lane / T::row_lanes, left.size.height - 1);
    word_ = reinterpret_cast<const std::uint32_t*>(left.first + y * pitch_ + x);
    below_ = left.size.height - 1 - y;
  }
  __device__ std::uint32_t next() {
    constexpr int step = 32 / T::row_lanes;
    const std::uint32_t word = *word_;
    if (below_ >= step) word_ += step * pitch_ / 4;
    below_ -= step;
    return word;
  }

 private:
  const std::uint32_t* word_;
  std::int64_t pitch_;
  int below_;
};

/// In the first round only tiles that have begun are multiplied, after the last one those that have
/// not ended.
enum class BankRound { first, inner, after };

/// A warp's products with a group of rights that has been staged. All warps of a group do the same.
template <class T>
class BankProducts {
 public:
  /// `rows`: of the first windows.
  __device__ BankProducts(int height, BankRows<T> rows)
      : rounds_(T::rounds(height)),
        stages_(reinterpret_cast<std::uint32_t*>(dynamic_shared<std::uint8_t>() +
                                                 T::right_bytes(height)) +
                threadIdx.x / 32 * 2 * T::stage_words),
        rows_(rows) {
#pragma unroll
    for (int i = 0; i < T::lane_rows; ++i) fetched_[i] = rows_.next();
  }

  /// The sums of the warp's windows. `then`: the rows of those whose sums are wanted next.
  __device__ void multiply(const BankRows<T>& then, BankSums<T>& sums) {
    const RightMatrix rights(dynamic_shared<std::uint8_t>(), T::core_bytes, 2 * T::core_bytes);
    Parts parts;
    // Rows are stored a stage ahead of the products, and fetched another one ahead.
#pragma unroll
    for (int i = 0; i < T::lane_rows; ++i) stage(0, i);
    __syncwarp();
    load(rows_of(0), parts.ahead);
    multiply_round<BankRound::first>(sums, parts, rights, 0);
    for (int round = 1; round < rounds_; ++round)
      multiply_round<BankRound::inner>(sums, parts, rights.at(round * T::tiles * T::step_bytes),
                                       round);
    rows_ = then;
    multiply_round<BankRound::after>(sums, parts, rights.at(rounds_ * T::tiles * T::step_bytes),
                                     rounds_);
    wait_products<0>();
  }

 private:
  /// The left's words of two steps, which products may still read, and of the next one.
  struct Parts {
    std::uint32_t of[2][T::chunks][4], ahead[T::chunks][4];
  };

  static __device__ int lane() { return static_cast<int>(threadIdx.x) % 32; }

  /// The first of this lane's words in a stage.
  __device__ const std::uint32_t* rows_of(int number) const {
    return stages_ + number % 2 * T::stage_words + lane() / 4 % 4 * T::copy_pitch + lane() / 16 +
           lane() % 4;
  }

  /// Stores what has been fetched of the i-th row that this lane has of a stage, and fetches that
  /// of the next one.
  __device__ void stage(int number, int i) {
    const std::uint32_t word = fetched_[i], after = __shfl_down_sync(~0u, word, 1);
    fetched_[i] = rows_.next();
    if (lane() % T::row_lanes >= T::words) return;
    const int row = i * (32 / T::row_lanes) + lane() / T::row_lanes;
    std::uint32_t* const to =
        stages_ + number % 2 * T::stage_words + row * T::row_words + lane() % T::row_lanes;
#pragma unroll
    for (int copy = 0; copy < 4; ++copy)
      to[copy * T::copy_pitch] = __funnelshift_r(word, after, 8 * copy);
  }

  /// `rights`: the first step's that meets the first tile. `number`: of the round. The words of its
  /// first step are there, and those of the next round's when it ends.
  template <BankRound which>
  __device__ void multiply_round(BankSums<T>& sums, Parts& parts, const RightMatrix& rights,
                                 int number) {
    constexpr int steps = which == BankRound::after ? T::tiles - 1 : T::tiles;
    const std::uint32_t* const rows = rows_of(number);
#pragma unroll
    for (int i = 0; i < steps; ++i) {
      auto& part = parts.of[i % 2];
#pragma unroll
      for (int chunk = 0; chunk < T::chunks; ++chunk)
#pragma unroll
        for (int k = 0; k < 4; ++k) part[chunk][k] = parts.ahead[chunk][k];
      if (i + 1 < steps) load(rows + (i + 1) * T::packed * T::row_words, parts.ahead);
      begin_products();
#pragma unroll
      for (int tile = 0; tile < T::tiles; ++tile) {
        if (tile <= i ? which == BankRound::after : which == BankRound::first) continue;
#pragma unroll
        for (int chunk = 0; chunk < T::chunks; ++chunk) {
          const RightMatrix right = rights.at((i - tile) * T::step_bytes + chunk * T::chunk_bytes);
          if (which == BankRound::first && tile == i && chunk == 0)
            multiply_async<false>(sums[tile], part[chunk], right);
          else
            multiply_async<true>(sums[tile], part[chunk], right);
        }
      }
      commit_products();
      // Meanwhile rows for the next round.
      if (which != BankRound::after && i < T::lane_rows) stage(number + 1, i);
      if (which != BankRound::after && i + 1 == steps) {
        __syncwarp();
        load(rows_of(number + 1), parts.ahead);
      }
      wait_products<1>();  // so that the registers of the previous step are free
    }
    if (which == BankRound::after) {
#pragma unroll
      for (int i = 0; i < T::lane_rows; ++i) fetched_[i] = rows_.next();
      __syncwarp();
    }
  }
  /// The left's words of a step.
  __device__ void load(const std::uint32_t* row, std::uint32_t (&to)[T::chunks][4]) const {
#pragma unroll
    for (int chunk = 0; chunk < T::chunks; ++chunk)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        to[chunk][k] =
            T::packed > 1 ? row[k / 2 * T::row_words + k % 2 * 2] : row[8 * chunk + 2 * k];
  }

  int rounds_;
  std::uint32_t* stages_;
  BankRows<T> rows_;
  std::uint32_t fetched_[T::lane_rows];
};

}  // namespace xcorr::cuda
