// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The plain sum of products, for small templates or few shifts. The outputs are divided into tiles,
// the right into blocks. For each tile and block the pixels needed are unpacked into scratch memory
// in the form the arithmetic needs (8 bits: 16-bit pairs for a multiply-add of two taps; float and
// 16 bits: doubles), with zeros outside the left, so that any rectangle of shifts uses the same
// loop. The inner loop keeps `rows` x `vectors` outputs in registers: a left vector is used for
// several rows of outputs, a tap for several vectors.
#include "cpu/common.hpp"
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/direct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_DIRECT_JOB
#define XCORR_CPU_DIRECT_JOB
#include <cstring>

namespace xcorr::cpu::direct {

constexpr int tile_rows = 64, tile_columns = 128;  ///< outputs of a tile, at most
constexpr int block_side = 64;                     ///< of the right; 64 x 64 x 255^2 < 2^32
constexpr int row_group = 4;                       ///< output rows in registers
constexpr int slack = 32;                          ///< how far a vector may read past a row

constexpr int region_rows = tile_rows + block_side;
constexpr int region_pitch = tile_columns + block_side + slack;
constexpr int taps_rows = block_side + 2 * (row_group - 1);

/// Scratch memory of one slot. Cell: the unpacked pixel; Sum: the accumulator type.
template <class Cell, class Sum>
struct Scratch {
  alignas(64) Cell region[region_rows * region_pitch];
  alignas(64) Cell taps[taps_rows * block_side];  ///< row_group - 1 rows of zeros at each end
  alignas(64) Sum sums[tile_rows * tile_columns];
};

/// A tile of outputs of one left with some of its rights.
struct Job {
  const stage::Correlate::Problem* problem;
  const stage::Correlate::Buffers* buffers;
  int left, first_right, right_count;  ///< rights: index within this launch
  Rect tile;                           ///< in outputs
  void* scratch;
};

constexpr std::size_t scratch_bytes =
    std::max(sizeof(Scratch<std::uint32_t, std::uint64_t>), sizeof(Scratch<double, double>));

}  // namespace xcorr::cpu::direct
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::direct::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

/// Float pixels, and those of 16 bits, multiplied and summed as doubles, which hold all sums of 16
/// bits exactly.
template <class T>
struct Doubles {
  using Pixel = T;
  using Cell = double;
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  static constexpr int taps = 1;

  static Cell cell(const Pixel* p) { return *p; }

  struct Accumulator {
    V sum;
  };
  static HWY_INLINE Accumulator zero() { return {hn::Zero(D())}; }
  static HWY_INLINE V load(const Cell* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE V broadcast(Cell c) { return hn::Set(D(), c); }
  static HWY_INLINE void add(Accumulator& sum, V left, V tap) {
    sum.sum = hn::MulAdd(left, tap, sum.sum);
  }
  static HWY_INLINE void store_added(const Accumulator& sum, double* out) {
    hn::StoreU(hn::Add(sum.sum, hn::LoadU(D(), out)), D(), out);
  }
};

/// Adds a block's part to row_group x vectors outputs. `left`: the cell of the first output and
/// the block's first tap. `taps`: the zeros before its first row.
template <class Op, int vectors, class Sum>
HWY_INLINE void add_block(const typename Op::Cell* left, const typename Op::Cell* taps,
                          int block_rows, int block_cells, Sum* out) {
  constexpr int lanes = hn::MaxLanes(typename Op::D());
  typename Op::Accumulator sums[row_group][vectors];
  for (auto& row : sums)
    for (auto& sum : row) sum = Op::zero();
  for (int row = 0; row < block_rows + row_group - 1; ++row) {
    const auto* line = left + row * region_pitch;
    const auto* tap = taps + row * block_side;  // of the last of the output rows
    for (int c = 0; c < block_cells; ++c) {
      typename Op::V pixels[vectors];
      for (int v = 0; v < vectors; ++v) pixels[v] = Op::load(line + c * Op::taps + v * lanes);
      for (int r = 0; r < row_group; ++r) {
        const auto t = Op::broadcast(tap[(row_group - 1 - r) * block_side + c]);
        for (int v = 0; v < vectors; ++v) Op::add(sums[r][v], pixels[v], t);
      }
    }
  }
  for (int r = 0; r < row_group; ++r)
    for (int v = 0; v < vectors; ++v)
      Op::store_added(sums[r][v], out + r * tile_columns + v * lanes);
}

/// `count` cells from column x of a row on, each `step` pixels after the last; zero outside.
template <class Op>
void unpack(const typename Op::Pixel* row, int width, int x, int count, int step,
            typename Op::Cell* cells) {
  typename Op::Pixel line[2 * region_pitch] = {};
  const int pixels = (count - 1) * step + Op::taps;
  const int begin = std::clamp(-x, 0, pixels), end = std::clamp(width - x, begin, pixels);
  if (row && end > begin) std::memcpy(line + begin, row + x + begin, (end - begin) * sizeof *row);
  for (int k = 0; k < count; ++k) cells[k] = Op::cell(line + k * step);
}

/// One tile for one element type. Out: the type of the products.
template <class Op, class Sum, class Out>
class TileRun {
  using Pixel = typename Op::Pixel;
  using Cell = typename Op::Cell;

 public:
  explicit TileRun(const Job& job)
      : job_(job),
        problem_(job.problem->correlate),
        scratch_(*static_cast<Scratch<Cell, Sum>*>(job.scratch)),
        left_(left_of<Pixel>(problem_, job.buffers->lefts, job.left)) {}

  void run() {
    const bool one_block =
        problem_.right.width <= block_side && problem_.right.height <= block_side;
    for (int r = 0; r < job_.right_count; ++r) {
      const int right = job_.first_right + r;
      std::fill_n(scratch_.sums, tile_rows * tile_columns, Sum{});
      for (int y = 0; y < problem_.right.height; y += block_side)
        for (int x = 0; x < problem_.right.width; x += block_side) {
          const Rect block{x, y, std::min(block_side, problem_.right.width - x),
                           std::min(block_side, problem_.right.height - y)};
          if (r == 0 || !one_block) unpack_region(block);
          unpack_taps(right, block);
          add(block);
        }
      store(right);
    }
  }

 private:
  static int cells_of(int width) { return (width + Op::taps - 1) / Op::taps; }

  void unpack_region(const Rect& block) {
    const int x = problem_.shifts.x + job_.tile.x + block.x;
    const int y = problem_.shifts.y + job_.tile.y + block.y;
    const int rows = ceil_div(job_.tile.height, row_group) * row_group + block.height - 1;
    for (int j = 0; j < rows; ++j) {
      const bool inside = y + j >= 0 && y + j < left_.size.height;
      unpack<Op>(inside ? left_.row(y + j) : nullptr, left_.size.width, x,
                 job_.tile.width + block.width + slack, 1, scratch_.region + j * region_pitch);
    }
  }

  void unpack_taps(int right, const Rect& block) {
    const std::int64_t output =
        std::int64_t{job_.left} * problem_.rights + job_.buffers->first_right + right;
    const auto matrix = right_of<Pixel>(problem_, job_.buffers->rights, problem_.right_of(output));
    const int cells = cells_of(block.width);
    for (int j = 0; j < block.height + 2 * (row_group - 1); ++j) {
      const int y = j - (row_group - 1);
      const bool inside = y >= 0 && y < block.height;
      unpack<Op>(inside ? matrix.row(block.y + y) + block.x : nullptr, block.width, 0, cells,
                 Op::taps, scratch_.taps + j * block_side);
    }
  }

  void add(const Rect& block) {
    constexpr int lanes = hn::MaxLanes(typename Op::D());
    constexpr int vectors = HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM ? 4 : 2;
    const int cells = cells_of(block.width);
    for (int y = 0; y < job_.tile.height; y += row_group) {
      const Cell* left = scratch_.region + y * region_pitch;
      Sum* out = scratch_.sums + y * tile_columns;
      int x = 0;
      for (; job_.tile.width - x > lanes; x += vectors * lanes)
        add_block<Op, vectors>(left + x, scratch_.taps, block.height, cells, out + x);
      if (x < job_.tile.width)
        add_block<Op, 1>(left + x, scratch_.taps, block.height, cells, out + x);
    }
  }

  void store(int right) {
    const std::int64_t output = std::int64_t{job_.left} * job_.buffers->right_count + right;
    Out* out = static_cast<Out*>(job_.buffers->products) + output * job_.problem->products_stride();
    for (int y = 0; y < job_.tile.height; ++y) {
      Out* row = out + (job_.tile.y + y) * job_.problem->products_pitch() + job_.tile.x;
      const Sum* sums = scratch_.sums + y * tile_columns;
      for (int x = 0; x < job_.tile.width; ++x) row[x] = static_cast<Out>(sums[x]);
    }
  }

  const Job& job_;
  const Problem& problem_;
  Scratch<Cell, Sum>& scratch_;
  Matrix<Pixel> left_;
};

void run(const Job& job) {
  switch (job.problem->products) {
    case ElementType::u32:
      return TileRun<BytePairs, std::uint32_t, std::uint32_t>(job).run();
    case ElementType::u64:
      if (job.problem->correlate.type == ElementType::u16)
        return TileRun<Doubles<std::uint16_t>, double, std::uint64_t>(job).run();
      return TileRun<BytePairs, std::uint64_t, std::uint64_t>(job).run();
    default:
      return TileRun<Doubles<float>, double, float>(job).run();
  }
}

}  // namespace xcorr::cpu::direct::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace direct {

HWY_EXPORT(run);

/// How the outputs are divided into columns, rows and groups of rights, so that every core has
/// several pieces.
struct Cut {
  int columns, rows, groups, rows_each, rights_each;

  Cut(const Problem& p, int rights) {
    const std::int64_t wanted = 4 * slot_count();
    columns = ceil_div(p.shifts.width, tile_columns);
    const int least_rows = ceil_div(p.shifts.height, tile_rows);
    const std::int64_t least = std::int64_t{p.lefts} * columns * least_rows;
    rights_each = ceil_div(rights, std::clamp<std::int64_t>(ceil_div(wanted, least), 1, rights));
    groups = ceil_div(rights, rights_each);
    const int max_rows = ceil_div(p.shifts.height, 2 * row_group);
    rows_each = ceil_div(p.shifts.height,
                         std::clamp<std::int64_t>(ceil_div(wanted * least_rows, least * groups),
                                                  least_rows, std::max(least_rows, max_rows)));
    rows_each = std::min<int>(tile_rows, ceil_div(rows_each, row_group) * row_group);
    rows = ceil_div(p.shifts.height, rows_each);
  }
};

Status launch(const stage::Correlate::Problem& problem, const Device&,
              const stage::Correlate::Buffers& buffers, PlanState*) {
  const Problem& p = problem.correlate;
  const Cut cut(p, buffers.right_count);
  const SlotMemory memory(buffers.workspace, scratch_bytes);
  const std::int64_t count = std::int64_t{p.lefts} * cut.groups * cut.rows * cut.columns;
  parallel_slots(slot_count(), count, [&](int slot, std::int64_t index) {
    const auto next = [&index](int extent) {
      const int digit = static_cast<int>(index % extent);
      index /= extent;
      return digit;
    };
    const int x = next(cut.columns) * tile_columns, y = next(cut.rows) * cut.rows_each;
    const int right = next(cut.groups) * cut.rights_each;
    HWY_DYNAMIC_DISPATCH(run)
    ({&problem,
      &buffers,
      static_cast<int>(index),
      right,
      std::min(cut.rights_each, buffers.right_count - right),
      {x, y, std::min(tile_columns, p.shifts.width - x),
       std::min(cut.rows_each, p.shifts.height - y)},
      memory.of(slot)});
  });
  return {};
}

std::size_t workspace(const stage::Correlate::Problem&, const Device&) {
  return SlotMemory::total(scratch_bytes);
}

constexpr Variant<stage::Correlate> variants[] = {
    {{"direct",
      Backend::cpu,
      {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums, Feature::pitched_output,
       Feature::several_pictures, Feature::overhang}},
     supports_all,
     launch,
     workspace},
};

}  // namespace direct

Family direct_family() { return Family(direct::variants); }

}  // namespace xcorr::cpu
#endif
