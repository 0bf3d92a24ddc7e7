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

#include "cuda/common/shared_memory.cuh"
#include "cuda/tensor/bank_layout.cuh"

namespace xcorr::cuda {

/// Of a warp's windows: sums[tile][4 n + 2 half + i] is of window 8 * half + lane / 4 of the tile's
/// 16 and of right 8 n + 2 * (lane % 4) + i.
template <class T>
using BankSums = std::uint32_t[T::tiles][16];

/// Where rounds of a group of rights are staged.
struct StagedRound {
  RightMatrix now, before;
};

/// A group of rights that stays in shared memory, by stage_bank().
template <class T>
class WholeRights {
 public:
  static constexpr bool adds = false;

  __device__ WholeRights()
      : matrix_(dynamic_shared<std::uint8_t>(), T::core_bytes, 2 * T::core_bytes) {}
  __device__ StagedRound next(int round) const {
    const RightMatrix now = matrix_.at(round * T::round_bytes);
    return {now, now.at(-T::round_bytes)};
  }

 private:
  RightMatrix matrix_;
};

/// Those of several planes, which are staged round by round, the next one beside the products of
/// this one. All warps of a block take the same rounds.
template <class T, int planes>
class RingOfRights {
 public:
  static constexpr bool adds = true;  ///< planes to the sums of others

  /// `laid_out`: the group's planes one after the other. `rounds`: of each.
  __device__ RingOfRights(const std::uint32_t* laid_out, int rounds)
      : laid_out_(laid_out), rounds_(rounds) {
    ask(0);
  }
  __device__ StagedRound next(int round) {
    if (round == rounds_) return {matrix(slot_), matrix(slot_)};  // what follows the last one
    wait_copies<0>();
    show_to_products();
    __syncthreads();  // it has arrived, and the one before the previous is no longer needed
    const int before = slot_;
    slot_ = after(slot_);
    ask(after(slot_));
    return {matrix(slot_), matrix(before)};
  }

 private:
  static __device__ RightMatrix matrix(int slot) {
    return RightMatrix(dynamic_shared<std::uint8_t>(), T::core_bytes, 2 * T::core_bytes)
        .at(slot * T::round_bytes);
  }
  static __device__ int after(int slot) { return slot + 1 < T::ring ? slot + 1 : 0; }

  /// After the last round of the last plane the first one follows, for the next windows.
  __device__ void ask(int slot) {
    const std::uint32_t* const from = laid_out_ + asked_ * (T::round_bytes / 4);
    std::uint8_t* const to = dynamic_shared<std::uint8_t>() + slot * T::round_bytes;
    for (int i = threadIdx.x * 16; i < T::round_bytes; i += T::threads() * 16)
      copy_async<16>(to + i, from + i / 4, 16);
    commit_copies();
    asked_ = asked_ + 1 < planes * rounds_ ? asked_ + 1 : 0;
  }

  const std::uint32_t* laid_out_;
  int rounds_, asked_ = 0, slot_ = T::ring - 1;  ///< slot: of the products
};

/// Whole or by rounds.
template <class T, int planes>
using StagedRights = std::conditional_t<(planes > 1), RingOfRights<T, planes>, WholeRights<T>>;

/// Begins to stage group `number` of the rights for the products of a block.
template <class T, int planes>
__device__ StagedRights<T, planes> stage_bank(const Problem& p, const std::uint32_t* laid_out,
                                              int number) {
  laid_out += std::int64_t{number} * planes * T::right_bytes(p.right.height) / 4;
  if constexpr (planes > 1) {
    return {laid_out, T::rounds(p.right.height)};
  } else {
    std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
    const auto* const from = reinterpret_cast<const std::uint8_t*>(laid_out);
    for (int i = threadIdx.x * 16; i < T::right_bytes(p.right.height); i += T::threads() * 16)
      copy_async<16>(shared + i, from + i, 16);
    commit_copies();
    wait_copies<0>();
    show_to_products();
    __syncthreads();
    return {};
  }
}

/// Sums to which all planes are added begin with 0, others with the first product.
template <int planes, int tiles>
__device__ void begin_sums(std::uint32_t (&sums)[tiles][16]) {
  if constexpr (planes > 1)
#pragma unroll
    for (auto& of_tile : sums) {
#pragma unroll
      for (std::uint32_t& sum : of_tile) sum = 0;
      hold_registers(of_tile);
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

/// A warp's products with a group of rights. All warps of a group do the same.
template <class T, class Rights>
class BankProducts {
 public:
  /// `staged`: bytes of shared memory that rights take; `rows`: of the first windows.
  __device__ BankProducts(int height, int staged, Rights rights, BankRows<T> rows)
      : rounds_(T::rounds(height)),
        rights_(rights),
        stages_(reinterpret_cast<std::uint32_t*>(dynamic_shared<std::uint8_t>() + staged) +
                threadIdx.x / 32 * 2 * T::stage_words),
        rows_(rows) {
#pragma unroll
    for (int i = 0; i < T::lane_rows; ++i) fetched_[i] = rows_.next();
  }

  /// The sums of the warp's windows, or what a plane adds to them. `then()`: the rows of those
  /// whose sums are wanted next.
  template <class Then>
  __device__ void multiply(Then then, BankSums<T>& sums) {
    Parts parts;
    // Rows are stored a stage ahead of the products, and fetched another one ahead.
#pragma unroll
    for (int i = 0; i < T::lane_rows; ++i) stage(0, i);
    __syncwarp();
    load(rows_of(0), parts.ahead);
    multiply_round<BankRound::first>(sums, parts, rights_.next(0), 0);
    for (int round = 1; round < rounds_; ++round)
      multiply_round<BankRound::inner>(sums, parts, rights_.next(round), round);
    rows_ = then();
    multiply_round<BankRound::after>(sums, parts, rights_.next(rounds_), rounds_);
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

  /// `number`: of the round. The words of its first step are there, and those of the next round's
  /// when it ends.
  template <BankRound which>
  __device__ void multiply_round(BankSums<T>& sums, Parts& parts, const StagedRound& rights,
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
          const RightMatrix right =
              tile <= i ? rights.now.at((i - tile) * T::step_bytes + chunk * T::chunk_bytes)
                        : rights.before.at((T::tiles + i - tile) * T::step_bytes +
                                           chunk * T::chunk_bytes);
          if (!Rights::adds && which == BankRound::first && tile == i && chunk == 0)
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
  Rights rights_;
  std::uint32_t* stages_;
  BankRows<T> rows_;
  std::uint32_t fetched_[T::lane_rows];
};

}  // namespace xcorr::cuda
