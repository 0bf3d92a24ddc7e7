// SPDX-License-Identifier: LGPL-2.1-or-later
//
// tensor_block.cuh by groups of four warps (wgmma, on compute capability 9.0), at twice the rate of
// mma.sync. B lies in shared memory as core matrices of 8 shifts by 16 bytes of k. Those on one
// diagonal are equal: a core matrix 8 shifts further is the one 8 bytes of k before, so a row takes
// only 4 * steps + 2 of them. The tiles of a block are interleaved: of 8 tiles the first has rows
// 0, 8, 16 ... of shifts. So a piece of the left, rows r, r + 8 ..., is used by every tile p with
// row r - p of the right, and is loaded once for all tiles of a group.
#pragma once

#include "cuda/tensor/mma.cuh"
#include "cuda/tensor/tensor_block.cuh"
#include "cuda/tensor/wgmma.cuh"

namespace xcorr::cuda {

/// One tuning. A block computes 128 shifts in x, 32 for each warp of a group, and 16 * tiles *
/// groups in y. Rows of the right are staged `rows_at_once`, with `steps` times 32 bytes of k for
/// each.
template <int k, int t, int g, int rows_at_once, int b>
struct WarpgroupTiling {
  static constexpr int steps = k, tiles = t, groups = g;  // tiles: per group
  static constexpr int blocks = b;  ///< for which a multiprocessor must have registers
  static constexpr int split = 1;   ///< sums are whole

  /// After the family's name: k, multiples of 32 bytes of k; t, tiles of 16 rows per warp; g,
  /// groups of four warps; r, rows at once, where there are many.
  static constexpr VariantName name(const char* family) {
    VariantName name = variant_name(family, ".k", k, "t", t);
    name.add_if(groups > 1, "g", groups);
    name.add_if(rows_at_once > 8, "r", rows_at_once);
    return name;
  }

  static constexpr int threads() { return 128 * groups; }
  static constexpr int columns() { return 128; }  ///< shifts of a block
  static constexpr int all_tiles() { return tiles * groups; }
  static constexpr int rows() { return 16 * all_tiles(); }
  /// The place of a row's sums: those of a tile lie together.
  static constexpr int place(int row) { return row % all_tiles() * 16 + row / all_tiles(); }
  static constexpr int sums_pitch = paired_sums_pitch;

  static constexpr int max_columns() { return 32 * steps - 31; }
  static constexpr int stage_rows() { return rows_at_once; }
  /// The stage being multiplied, the next one, and the previous one, which the last tiles of a
  /// round still need.
  static constexpr int max_stages = 3;
  static constexpr int core_bytes = 128;
  /// For one row of the right.
  static constexpr int row_bytes() { return (4 * steps + 2) * core_bytes; }
  static constexpr int row_words() { return row_bytes() / 4; }
  /// The right's column of a laid-out word's byte. Core matrix c has bytes 8 (c - 3)... of k, for
  /// its i-th shift i bytes back.
  static constexpr int column(int word, int byte) {
    const int core = word / 32, shift = word % 32 / 4;
    return 8 * (core - 3) - shift + word % 4 * 4 + byte;
  }
  static constexpr int left_columns() { return columns() + 32 * (steps - 1); }
  /// An odd multiple of 16 bytes, so that eight rows of a piece lie in different banks.
  static constexpr int left_pitch() { return (left_columns() / 16 | 1) * 16; }
  /// Left rows that a stage needs, from its first row of the right on.
  static constexpr int left_rows() { return rows() + stage_rows() - 1; }
  /// Slots for a stage's left rows and those that the next one adds, for each tile's first row.
  static constexpr int slots() { return ceil_div(left_rows() + stage_rows(), all_tiles()); }
  static constexpr int left_bytes() { return all_tiles() * slots() * left_pitch(); }
  static constexpr int stage_bytes() { return stage_rows() * row_bytes(); }

  static constexpr int bands(int width) { return ceil_div(width, max_columns()); }
  /// What a block needs for `height` rows of a right, and then for its sums.
  static constexpr std::size_t shared_bytes(int, int height, int = 1) {
    const int stages = std::min(ceil_div(height, stage_rows()), max_stages);
    return std::max<std::size_t>(left_bytes() + stages * stage_bytes(), sums_bytes(4 * rows()));
  }
  static bool has_instructions(const Device& device) { return device.compute_capability == 90; }
  static constexpr bool takes_width(int width) { return bands(width) == 1; }
};

/// A tiling's parameters by their names: a kernel's own must be numbers.
struct WgmmaTuning {
  int steps, tiles, groups = 1, rows_at_once, blocks;
};
template <WgmmaTuning t>
using ByWarpgroups = WarpgroupTiling<t.steps, t.tiles, t.groups, t.rows_at_once, t.blocks>;

// clang-format off
using WarpgroupTilings = Tilings<  //
    ByWarpgroups<WgmmaTuning{.steps = 2, .tiles = 4, .rows_at_once = 8, .blocks = 4}>,
    ByWarpgroups<WgmmaTuning{.steps = 2, .tiles = 4, .rows_at_once = 16, .blocks = 4}>,
    ByWarpgroups<WgmmaTuning{.steps = 2, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>,
    ByWarpgroups<WgmmaTuning{.steps = 3, .tiles = 4, .rows_at_once = 4, .blocks = 4}>,
    ByWarpgroups<WgmmaTuning{.steps = 3, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>,
    ByWarpgroups<WgmmaTuning{.steps = 4, .tiles = 4, .rows_at_once = 4, .blocks = 4}>,
    ByWarpgroups<WgmmaTuning{.steps = 4, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>,
    ByWarpgroups<WgmmaTuning{.steps = 5, .tiles = 4, .rows_at_once = 4, .blocks = 4}>,
    ByWarpgroups<WgmmaTuning{.steps = 5, .tiles = 4, .groups = 2, .rows_at_once = 8, .blocks = 2}>>;
// clang-format on

/// A round takes one piece of the left for each of a group's tiles, the first of which begins with
/// the row of the right whose number is the round's. In the first round the rows of later tiles are
/// above the right, in the last one those of earlier tiles are below it.
enum class Round { first, inner, last };

/// Registers for parts of pieces, 32 columns each: while one is multiplied, three are loaded.
constexpr int parts_ahead = 4;

/// The products of a round; `adds`: to sums that are there in the first one, too. `now`, `before`:
/// the right's rows of this round and of the previous one. `load`: loads a part of a piece, which
/// may be of the next round.
template <class T, Round round, bool adds, class Load>
__device__ void multiply_round(std::uint32_t (&sums)[T::tiles][16],
                               std::uint32_t (&parts)[parts_ahead][4], const RightMatrix& now,
                               const RightMatrix& before, Load load) {
  constexpr int pieces = round == Round::last ? T::tiles - 1 : T::tiles;
#pragma unroll
  for (int i = 0; i < pieces * T::steps; ++i) {
    const int piece = i / T::steps, step = i % T::steps;
    begin_products();
#pragma unroll
    for (int tile = 0; tile < T::tiles; ++tile) {
      if (tile <= piece ? round == Round::last : round == Round::first) continue;
      const RightMatrix& rows = tile <= piece ? now : before;
      const int row = tile <= piece ? piece - tile : T::tiles + piece - tile;
      const RightMatrix right = rows.at(row * T::row_bytes() + step * 4 * T::core_bytes);
      if (!adds && round == Round::first && tile == piece && step == 0)
        multiply_async<false>(sums[tile], parts[i % parts_ahead], right);
      else
        multiply_async<true>(sums[tile], parts[i % parts_ahead], right);
    }
    commit_products();
    wait_products<1>();  // so that the registers of the previous part are free
    if (round != Round::last || i + parts_ahead - 1 < pieces * T::steps)
      load(parts[(i + parts_ahead - 1) % parts_ahead], i + parts_ahead - 1);
  }
}

/// The sums of a block's shifts over some rows of right number `right` and all its planes, in
/// shared memory for BlockSums to read; ends with a barrier. `left`: the first plane; `laid_out`:
/// all rights.
template <int planes, int... numbers>
__device__ void sum_products(WarpgroupTiling<numbers...>, const Problem& p, const std::byte* left,
                             std::int64_t right, const std::uint32_t* laid_out, Corner corner,
                             RightRows rows, bool aligned) {
  using T = WarpgroupTiling<numbers...>;
  static_assert(T::tiles % parts_ahead == 0 && T::stage_rows() % T::tiles == 0 &&
                8 % T::all_tiles() == 0);  // the last condition is for BlockSums
  std::uint8_t* const shared = dynamic_shared<std::uint8_t>();
  std::uint8_t* const shared_rights = shared + T::left_bytes();
  const int stages = ceil_div(rows.count, T::stage_rows());
  int plane = 0;

  const auto fill = [&](int stage) {
    if (stage < stages) {
      constexpr int units = T::left_columns() / 16;
      const int x = p.shifts.x + corner.x, y = p.shifts.y + corner.y + rows.first;
      const int end = T::left_rows() + stage * T::stage_rows();
      const int begin = stage > 0 ? end - T::stage_rows() : 0;
#pragma unroll 2
      for (int i = threadIdx.x; i < (end - begin) * units; i += T::threads()) {
        const int row = begin + i / units, unit = i % units;
        const int slot = row % T::all_tiles() * T::slots() + row / T::all_tiles() % T::slots();
        stage_left(shared + slot * T::left_pitch() + unit * 16, p, left + plane * p.left_plane,
                   x + unit * 16, y + row, aligned);
      }
      const int first_row = stage * T::stage_rows();
      const std::int64_t of_plane = right + std::int64_t{plane} * p.rights;
      stage_rights<T>(
          shared_rights + stage % T::max_stages * T::stage_bytes(),
          laid_out + (of_plane * p.right.height + rows.first + first_row) * T::row_words(),
          min(T::stage_rows(), rows.count - first_row));
    }
    commit_copies();
  };

  const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
  // By a shuffle, so that the compiler knows that all lanes have the same value.
  const int group = T::groups > 1 ? static_cast<int>(__shfl_sync(~0u, threadIdx.x / 128, 0)) : 0;
  const std::uint8_t* const my_left = shared + lane / 16 * 16 + warp * 32;
  // A group's tiles begin `tiles` rows after those of the previous group, so it is as many rounds
  // ahead.
  const auto loader = [&](int round) {
    return [=](std::uint32_t(&to)[4], int part) {
      const int piece = part / T::steps, step = part % T::steps;
      const int ahead = round + group + piece / T::tiles;
      const int slot = ahead % T::groups * T::tiles * T::slots() + piece % T::tiles * T::slots() +
                       (ahead / T::groups + lane % 16) % T::slots();
      load_matrices(to, my_left + slot * T::left_pitch() + 32 * step);
    };
  };
  constexpr int stage_rounds = T::stage_rows() / T::tiles;
  const auto rights_of = [&](int round) {
    return RightMatrix(shared_rights, 2 * T::core_bytes, T::core_bytes)
        .at(round % (T::max_stages * stage_rounds) * T::tiles * T::row_bytes());
  };

  const auto begin_stage = [&](int stage) {
    wait_copies<0>();
    show_to_products();
    __syncthreads();  // the stage has arrived, and the one before the previous is no longer needed
    fill(stage + 1);
  };

  constexpr bool adds = planes > 1;
  std::uint32_t sums[T::tiles][16], parts[parts_ahead][4];
  if constexpr (adds)
#pragma unroll
    for (auto& of_tile : sums) {
#pragma unroll
      for (std::uint32_t& sum : of_tile) sum = 0;
      hold_registers(of_tile);
    }
  const int rounds = ceil_div(rows.count, T::tiles);
#pragma unroll 1
  for (plane = 0; plane < planes; ++plane) {
    fill(0);
    begin_stage(0);
#pragma unroll
    for (int i = 0; i < parts_ahead - 1; ++i) loader(0)(parts[i], i);
    multiply_round<T, Round::first, adds>(sums, parts, rights_of(0), rights_of(0), loader(0));
    for (int round = 1; round < rounds; ++round) {
      if (round % stage_rounds == 0) begin_stage(round / stage_rounds);
      multiply_round<T, Round::inner, adds>(sums, parts, rights_of(round), rights_of(round - 1),
                                            loader(round));
    }
    multiply_round<T, Round::last, adds>(sums, parts, rights_of(rounds), rights_of(rounds - 1),
                                         loader(rounds));
    wait_products<0>();
    __syncthreads();
  }

  // The core matrices across B are those of shifts 24 to 31, then 16 to 23 ...
  uint2* const to = place_of_sums(warp * T::rows() + group * T::tiles * 16);
#pragma unroll
  for (int tile = 0; tile < T::tiles; ++tile)
#pragma unroll
    for (int n = 0; n < 4; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        to[((16 * tile + 8 * half) * T::sums_pitch + 8 * (3 - n)) / 2] = {
            sums[tile][4 * n + 2 * half], sums[tile][4 * n + 2 * half + 1]};
  __syncthreads();
}

}  // namespace xcorr::cuda
