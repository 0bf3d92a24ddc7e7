// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The plain sum of products, for small templates or few shifts. The outputs are divided into tiles,
// the right into blocks. For each tile and block the pixels needed are unpacked into scratch memory
// in the form the arithmetic needs (8 bits: 16-bit pairs for a multiply-add of two taps; 32-bit
// integers: 64 bits; all others: doubles), with zeros outside the left, so that any rectangle
// of shifts uses the same loop. The inner loop keeps `rows` x `vectors` outputs in registers: a
// left vector is used for several rows of outputs, a tap for several vectors. At a handful of
// shifts most of that would be computed for none, and bytes are multiplied where they lie.
#include <type_traits>

#include "cpu/common/common.hpp"
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/correlate/direct.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/correlate/direct_block-inl.hpp"

#ifndef XCORR_CPU_DIRECT_JOB
#define XCORR_CPU_DIRECT_JOB
namespace xcorr::cpu::direct {

/// Scratch memory of one slot. Sum: the accumulator type.
template <class Cell, class Sum>
struct Scratch : TileCells<Cell> {
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

/// Of a tile. The loop for many computes a vector of shifts in each of row_group rows at least.
constexpr std::int64_t few_shifts = row_group;

constexpr std::size_t scratch_bytes =
    std::max(sizeof(Scratch<std::uint32_t, std::uint64_t>), sizeof(Scratch<double, double>));

}  // namespace xcorr::cpu::direct
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::direct::HWY_NAMESPACE {

/// Floating-point pixels, and those of 16 bits, multiplied and summed as doubles, which hold all
/// sums of 16 bits exactly.
template <class T>
struct Doubles {
  using Pixel = T;
  using Cell = double;
  using D = hn::ScalableTag<double>;
  using V = hn::Vec<D>;
  static constexpr int taps = 1;
  static constexpr Pixel outside = 0;

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

/// 32-bit integers, multiplied and summed in 64 bits.
struct Words {
  using Pixel = std::int32_t;
  using Cell = std::int64_t;
  using D = hn::ScalableTag<std::int64_t>;
  using V = hn::Vec<D>;
  static constexpr int taps = 1;
  static constexpr Pixel outside = 0;

  static Cell cell(const Pixel* p) { return *p; }

  struct Accumulator {
    V sum;
  };
  static HWY_INLINE Accumulator zero() { return {hn::Zero(D())}; }
  static HWY_INLINE V load(const Cell* p) { return hn::LoadU(D(), p); }
  static HWY_INLINE V broadcast(Cell c) { return hn::Set(D(), c); }
  static HWY_INLINE void add(Accumulator& sum, V left, V tap) {
#if HWY_TARGET == HWY_SCALAR
    sum.sum = hn::Add(sum.sum, hn::Mul(left, tap));
#else
    const hn::Repartition<std::int32_t, D> d32;
    sum.sum = hn::Add(sum.sum, hn::MulEven(hn::BitCast(d32, left), hn::BitCast(d32, tap)));
#endif
  }
  static HWY_INLINE void store_added(const Accumulator& sum, Cell* out) {
    hn::StoreU(hn::Add(sum.sum, hn::LoadU(D(), out)), D(), out);
  }
};

/// The sum of products of a block of bytes, as they lie.
HWY_INLINE std::uint32_t block_product(const Matrix<std::uint8_t>& left, int x, int y,
                                       const Matrix<std::uint8_t>& right, const Rect& block) {
  auto sum = BytePairs::zero();
  for (int v = block.y; v < block.y + block.height; ++v) {
    const std::uint8_t* f = left.row(y + v) + x + block.x;
    const std::uint8_t* t = right.row(v) + block.x;
    int u = 0;
    for (; u + BytePairs::pixels <= block.width; u += BytePairs::pixels)
      BytePairs::add(sum, BytePairs::load_pixels(f + u), BytePairs::load_pixels(t + u));
    if (const int rest = block.width - u; rest > 0)
      BytePairs::add(sum, BytePairs::load_first_pixels(f + u, rest),
                     BytePairs::load_first_pixels(t + u, rest));
  }
  return BytePairs::total(sum);
}

/// The part of the right that lies in the left at shift (x, y).
inline Rect shared_part(Size left, Size right, int x, int y) {
  const int begin_x = std::clamp(-x, 0, right.width), begin_y = std::clamp(-y, 0, right.height);
  return {begin_x, begin_y, std::clamp(left.width - x, begin_x, right.width) - begin_x,
          std::clamp(left.height - y, begin_y, right.height) - begin_y};
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
    if constexpr (std::is_same_v<Op, BytePairs>)
      if (job_.tile.size().area() <= few_shifts) return run_shift_by_shift();
    const bool one_block =
        problem_.right.width <= block_side && problem_.right.height <= block_side;
    for (int r = 0; r < job_.right_count; ++r) {
      const int right = job_.first_right + r;
      std::fill_n(scratch_.sums, tile_rows * tile_columns, Sum{});
      for (int y = 0; y < problem_.right.height; y += block_side)
        for (int x = 0; x < problem_.right.width; x += block_side) {
          const Rect block{x, y, std::min(block_side, problem_.right.width - x),
                           std::min(block_side, problem_.right.height - y)};
          if (r == 0 || !one_block) unpack_pixels(block);
          unpack_taps<Op>(matrix_of(right), block, scratch_);
          for (int row = 0; row < job_.tile.height; row += row_group)
            add_rows<Op>(scratch_, row, job_.tile.width, block.height,
                         scratch_.sums + row * tile_columns);
        }
      store(right);
    }
  }

 private:
  void run_shift_by_shift() {
    for (int r = 0; r < job_.right_count; ++r) {
      const int right = job_.first_right + r;
      for (int y = 0; y < job_.tile.height; ++y)
        for (int x = 0; x < job_.tile.width; ++x)
          scratch_.sums[y * tile_columns + x] =
              product_at(matrix_of(right), problem_.shifts.x + job_.tile.x + x,
                         problem_.shifts.y + job_.tile.y + y);
      store(right);
    }
  }

  Sum product_at(const Matrix<Pixel>& right, int x, int y) const {
    const Rect part = shared_part(left_.size, right.size, x, y);
    const int end_x = part.x + part.width, end_y = part.y + part.height;
    Sum sum{};
    for (int v = part.y; v < end_y; v += block_side)
      for (int u = part.x; u < end_x; u += block_side)
        sum +=
            block_product(left_, x, y, right,
                          {u, v, std::min(block_side, end_x - u), std::min(block_side, end_y - v)});
    return sum;
  }

  void unpack_pixels(const Rect& block) {
    unpack_region<Op>(left_, problem_.shifts.x + job_.tile.x + block.x,
                      problem_.shifts.y + job_.tile.y + block.y, job_.tile.size(), block.size(),
                      scratch_);
  }

  Matrix<Pixel> matrix_of(int right) const {
    const std::int64_t output =
        std::int64_t{job_.left} * problem_.rights + job_.buffers->first_right + right;
    return right_of<Pixel>(problem_, job_.buffers->rights, problem_.right_of(output));
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
    case ElementType::i64:
      return TileRun<Words, std::int64_t, std::int64_t>(job).run();
    case ElementType::f64:
      return TileRun<Doubles<double>, double, double>(job).run();
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
    {{.name = "direct",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::i32, Feature::f32, Feature::f64,
                   Feature::wide_sums, Feature::pitched_output, Feature::several_images,
                   Feature::partial_overlap}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace direct

Family direct_family() { return Family(direct::variants); }

}  // namespace xcorr::cpu
#endif
