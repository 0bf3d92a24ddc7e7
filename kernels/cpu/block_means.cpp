// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches that score only windows which an upper bound from block means does not exclude, see
// stages/block_means.hpp: the peaks are those of the separate stages, bit for bit. It pays where
// few windows come near the threshold, which depends on the pictures, so it runs when asked for.
//
// First the sums of all blocks of the frame; two of them, `side` apart, are a cell, for an
// instruction that multiplies and adds pairs of 16 bits. Their prefix sums along rows, `side`
// apart, give each window's part of the bound. Then each template: the sum of its weights times the
// blocks, the bound, and a surface with exact scores where that leaves any.
#include "cpu/common.hpp"
#include "cpu/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/block_means.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/byte_pairs-inl.hpp"

#ifndef XCORR_CPU_BLOCK_MEANS_JOB
#define XCORR_CPU_BLOCK_MEANS_JOB
#include <vector>

#include "cpu/peaks.hpp"
#include "stages/block_means.hpp"

namespace xcorr::cpu::block_means {

/// Vectors may read that much past a row.
constexpr int slack = 64;

/// Of the frame: at (x, y) the sum of the block whose upper left pixel that is, less
/// BlockGrid::middle(), the one `side` further right in the upper half, and the prefix sums of
/// blocks and their squares at x, x - side, x - 2 side ...
struct Blocks {
  std::uint32_t* cells;
  std::int32_t* sums;
  double* squares;  ///< whole numbers
  std::int64_t pitch;
};

/// A row of the frame's blocks.
struct BlockRow {
  const std::uint8_t* pixels;
  std::int64_t pixel_pitch;
  int width, side;
  std::uint32_t* cells;
  std::int32_t* sums;
  double* squares;
};

/// Adjacent blocks of the grid that count, for the windows of a row: prefix sums up to the last of
/// the first window, and up to the one before the first. The latter does not exist for the first
/// `none` windows.
struct BlockRun {
  const std::int32_t *last_sum, *before_sum;
  const double *last_square, *before_square;
  int none;
};

/// A row of windows.
struct NormRow {
  const std::vector<BlockRun>* runs;
  int count, side;
  double pixels, blocks;
  const std::uint32_t *window_sums, *window_squares;
  std::int32_t* sums;  ///< scratch
  double* squares;     ///< scratch
  float *all, *beside;
};

/// Two adjacent blocks of the grid, and their place.
struct Pair {
  std::int64_t at;  ///< in Blocks, from that of the window
  std::uint32_t weights;
};

/// A row of windows and one template.
struct WindowRow {
  const std::uint32_t* cells;  ///< at the first window
  const std::vector<Pair>* pairs;
  BlockBound bound;
  const float *all, *beside;  ///< WindowNorms
  int count;
  std::int32_t* products;  ///< scratch
  std::uint8_t* open;      ///< which are not excluded
};

/// A window and a template.
struct Window {
  const std::uint8_t *left, *right;
  std::int64_t left_pitch, right_pitch;
  Size size;
};

}  // namespace xcorr::cpu::block_means
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::block_means::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using byte_pairs::HWY_NAMESPACE::BytePairs;

HWY_FLATTEN void sum_blocks(const BlockRow& row) {
  const int side = row.side, width = row.width, blocks = width - side + 1;
  auto* HWY_RESTRICT down = row.cells;
  std::fill_n(down, width, 0u);
  for (int j = 0; j < side; ++j) {
    const std::uint8_t* HWY_RESTRICT pixels = row.pixels + j * row.pixel_pitch;
    for (int x = 0; x < width; ++x) down[x] += pixels[x];
  }
  auto* HWY_RESTRICT sums = row.sums;
  std::fill_n(sums, blocks, -BlockGrid({}, side).middle());
  for (int i = 0; i < side; ++i)
    for (int x = 0; x < blocks; ++x) sums[x] += static_cast<std::int32_t>(down[x + i]);
  const auto half = [](std::int32_t sum) { return static_cast<std::uint32_t>(sum) & 0xffff; };
  const int pairs = std::max(blocks - side, 0);
  for (int x = 0; x < pairs; ++x) down[x] = half(sums[x]) | half(sums[x + side]) << 16;
  for (int x = pairs; x < blocks; ++x) down[x] = half(sums[x]);
  auto* HWY_RESTRICT squares = row.squares;
  for (int x = 0; x < blocks; ++x) squares[x] = static_cast<double>(sums[x]) * sums[x];
  for (int x = side; x < blocks; ++x) sums[x] += sums[x - side];
  for (int x = side; x < blocks; ++x) squares[x] += squares[x - side];
}

template <class Sum>
HWY_INLINE void add_run(const Sum* HWY_RESTRICT last, const Sum* HWY_RESTRICT before, int none,
                        int count, Sum* HWY_RESTRICT sums) {
  for (int x = 0; x < none; ++x) sums[x] += last[x];
  for (int x = none; x < count; ++x) sums[x] += last[x] - before[x];
}

HWY_FLATTEN void find_norms(const NormRow& row) {
  std::fill_n(row.sums, row.count, 0);
  std::fill_n(row.squares, row.count, 0.0);
  for (const BlockRun& run : *row.runs) {
    const int none = std::min(run.none, row.count);
    add_run(run.last_sum, run.before_sum, none, row.count, row.sums);
    add_run(run.last_square, run.before_square, none, row.count, row.squares);
  }
  const std::uint32_t* HWY_RESTRICT window_sums = row.window_sums;
  const std::uint32_t* HWY_RESTRICT window_squares = row.window_squares;
  const std::int32_t* HWY_RESTRICT sums = row.sums;
  const double* HWY_RESTRICT squares = row.squares;
  float* HWY_RESTRICT all = row.all;
  float* HWY_RESTRICT beside = row.beside;
  for (int x = 0; x < row.count; ++x) {
    const WindowNorms norms = window_norms(row.pixels, window_sums[x], window_squares[x], row.side,
                                           row.blocks, sums[x], squares[x]);
    all[x] = norms.all;
    beside[x] = norms.beside;
  }
}

/// Returns whether any is open.
HWY_FLATTEN bool exclude(const WindowRow& row) {
  constexpr int vectors = 4;
  constexpr int lanes = hn::MaxLanes(BytePairs::D());
  static_assert(vectors * lanes <= slack);
  for (int x = 0; x < row.count; x += vectors * lanes) {
    BytePairs::Accumulator sums[vectors];
    for (auto& sum : sums) sum = BytePairs::zero();
    for (const Pair& pair : *row.pairs) {
      const std::uint32_t* cells = row.cells + pair.at + x;
      const auto weights = BytePairs::broadcast(pair.weights);
      for (int v = 0; v < vectors; ++v)
        BytePairs::add(sums[v], BytePairs::load(cells + v * lanes), weights);
    }
    std::fill_n(row.products + x, vectors * lanes, 0);
    for (int v = 0; v < vectors; ++v) BytePairs::store_added(sums[v], row.products + x + v * lanes);
  }
  bool any = false;
  for (int x = 0; x < row.count; ++x) {
    const bool open = row.bound.may_reach(row.products[x], {row.all[x], row.beside[x]});
    row.open[x] = open;
    any |= open;
  }
  return any;
}

HWY_FLATTEN std::uint32_t product_of(const Window& window) {
  std::uint32_t product = 0;
  for (int y = 0; y < window.size.height; ++y) {
    const std::uint8_t* HWY_RESTRICT f = window.left + y * window.left_pitch;
    const std::uint8_t* HWY_RESTRICT t = window.right + y * window.right_pitch;
    std::uint32_t in_row = 0;
    for (int x = 0; x < window.size.width; ++x) in_row += std::uint32_t{f[x]} * t[x];
    product += in_row;
  }
  return product;
}

}  // namespace xcorr::cpu::block_means::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace block_means {

HWY_EXPORT(sum_blocks);
HWY_EXPORT(find_norms);
HWY_EXPORT(exclude);
HWY_EXPORT(product_of);

/// Less than any limit.
constexpr float excluded = -2;

/// Few pixels a block exclude more, many cost less; those of a large template are alike.
int side_of(const Problem& p) { return std::min(p.right.width, p.right.height) < 96 ? 4 : 8; }

/// What a launch needs, in its workspace.
class Memory {
 public:
  explicit Memory(const stage::Search::Problem& p)
      : left_(p.correlate.left),
        area_(p.correlate.shifts.size().area()),
        width_(p.correlate.shifts.width + slack),
        peaks_(peaks_workspace(p)) {}

  std::size_t bytes() const {
    return blocks() * (2 * sizeof(std::uint32_t) + sizeof(double)) + 3 * sizeof(float) * area_ +
           peaks_ + SlotMemory::total(slot_bytes());
  }
  void place(void* workspace) {
    auto* squares = static_cast<double*>(workspace);
    auto* cells = reinterpret_cast<std::uint32_t*>(squares + blocks());
    auto* sums = reinterpret_cast<std::int32_t*>(cells + blocks());
    of_frame = {cells, sums, squares, left_.width};
    peaks = sums + blocks();
    all = reinterpret_cast<float*>(static_cast<std::byte*>(peaks) + peaks_);
    beside = all + area_;
    scores = beside + area_;
    slots_ = scores + area_;
  }
  /// Of a slot: a double, an integer and a byte a window.
  double* squares(int slot) const {
    return reinterpret_cast<double*>(SlotMemory(slots_, slot_bytes()).of(slot));
  }
  std::int32_t* products(int slot) const {
    return reinterpret_cast<std::int32_t*>(squares(slot) + width_);
  }
  std::uint8_t* open(int slot) const {
    return reinterpret_cast<std::uint8_t*>(products(slot) + width_);
  }

  Blocks of_frame;
  void* peaks;
  float *all, *beside, *scores;

 private:
  std::size_t blocks() const { return left_.area() + slack; }
  std::size_t slot_bytes() const { return width_ * (sizeof(double) + sizeof(std::int32_t) + 1); }

  Size left_;
  std::size_t area_, width_, peaks_;
  void* slots_ = nullptr;
};

class Run {
 public:
  Run(const stage::Search::Problem& problem, const stage::Search::Buffers& buffers)
      : problem_(problem),
        p_(problem.correlate),
        b_(buffers),
        grid_(p_.right, side_of(p_)),
        memory_(problem),
        left_(left_of<std::uint8_t>(p_, b_.lefts, 0)) {
    memory_.place(b_.workspace);
    for (int row = 0; row < grid_.rows; ++row)
      for (int column = 0; column < grid_.columns; ++column) {
        counts_.push_back(grid_.counts(b_.mask, p_.right.width, column, row));
        counted_ += counts_.back();
      }
  }

  void run() {
    sum_blocks();
    for_rows([&](int slot, int y) { find_norms(slot, y); });
    for (int i = 0; i < b_.right_count; ++i) search(b_.first_right + i);
  }

 private:
  template <class F>
  void for_rows(F f) const {
    constexpr int rows = 8;
    parallel_slots(slot_count(), ceil_div(p_.shifts.height, rows), [&](int slot, std::int64_t i) {
      const int first = static_cast<int>(i) * rows;
      for (int y = first; y < std::min(first + rows, p_.shifts.height); ++y) f(slot, y);
    });
  }
  std::int64_t place_of(int x, int y) const { return y * memory_.of_frame.pitch + x; }
  /// Of a block of the window at the first shift of a row.
  std::int64_t place_of(int column, int row, int y) const {
    return place_of(p_.shifts.x + grid_.x + column * grid_.side,
                    p_.shifts.y + y + grid_.y + row * grid_.side);
  }

  void sum_blocks() const {
    tbb::parallel_for(0, p_.left.height - grid_.side + 1, [&](int y) {
      const Blocks& to = memory_.of_frame;
      const std::int64_t at = place_of(0, y);
      HWY_DYNAMIC_DISPATCH(sum_blocks)
      ({left_.row(y), left_.pitch, p_.left.width, grid_.side, to.cells + at, to.sums + at,
        to.squares + at});
    });
  }

  void find_norms(int slot, int y) const {
    std::vector<BlockRun> runs;
    for (int row = 0; row < grid_.rows; ++row)
      for (int column = 0; column < grid_.columns; ++column) {
        const int first = column;
        while (column < grid_.columns && counts_[row * grid_.columns + column]) ++column;
        if (column > first) runs.push_back(run_of(first, column - 1, row, y));
      }
    const std::int64_t at = std::int64_t{y} * p_.shifts.width;
    HWY_DYNAMIC_DISPATCH(find_norms)
    ({&runs, p_.shifts.width, grid_.side, static_cast<double>(problem_.pixels()),
      static_cast<double>(counted_), static_cast<const std::uint32_t*>(b_.window_sums) + at,
      static_cast<const std::uint32_t*>(b_.window_squares) + at, memory_.products(slot),
      memory_.squares(slot), memory_.all + at, memory_.beside + at});
  }
  BlockRun run_of(int first, int last, int row, int y) const {
    const Blocks& of = memory_.of_frame;
    const std::int64_t end = place_of(last, row, y), begin = place_of(first, row, y) - grid_.side;
    const int x = p_.shifts.x + grid_.x + first * grid_.side;
    return {of.sums + end, of.sums + begin, of.squares + end, of.squares + begin,
            std::max(grid_.side - x, 0)};
  }
  std::int64_t window_sum(std::int64_t at) const {
    return static_cast<const std::uint32_t*>(b_.window_sums)[at];
  }
  std::int64_t window_squares(std::int64_t at) const {
    return static_cast<const std::uint32_t*>(b_.window_squares)[at];
  }

  void search(int right) const {
    const auto pixels = right_of<std::uint8_t>(p_, b_.templates, right);
    const TemplateSums& sums = b_.template_sums[right];
    const auto [bound, pairs] = bound_of(pixels, sums);
    for_rows([&, &bound = bound, &pairs = pairs](int slot, int y) {
      const std::int64_t at = std::int64_t{y} * p_.shifts.width;
      const WindowRow row{memory_.of_frame.cells + place_of(p_.shifts.x, p_.shifts.y + y),
                          &pairs,
                          bound,
                          memory_.all + at,
                          memory_.beside + at,
                          p_.shifts.width,
                          memory_.products(slot),
                          memory_.open(slot)};
      float* const scores = memory_.scores + at;
      std::fill_n(scores, row.count, excluded);
      if (!HWY_DYNAMIC_DISPATCH(exclude)(row)) return;
      for (int x = 0; x < row.count; ++x)
        if (row.open[x]) scores[x] = static_cast<float>(score_at(x, y, pixels, sums));
    });
    stage::Peaks::Buffers found{{{memory_.peaks, {}}, right, 1},
                                memory_.scores,
                                b_.template_sums,
                                b_.candidates,
                                b_.counts};
    find_peaks(problem_, found);
  }

  double score_at(int x, int y, const Matrix<std::uint8_t>& right, const TemplateSums& sums) const {
    const std::uint32_t product =
        HWY_DYNAMIC_DISPATCH(product_of)({left_.row(p_.shifts.y + y) + p_.shifts.x + x,
                                          right.row(0), left_.pitch, right.pitch, p_.right});
    const std::int64_t at = std::int64_t{y} * p_.shifts.width + x;
    return score(problem_.method,
                 WindowTerms<std::int64_t>{problem_.pixels(), product, window_sum(at),
                                           window_squares(at), static_cast<std::int64_t>(sums.sum),
                                           static_cast<std::int64_t>(sums.squares)});
  }

  struct Bounded {
    BlockBound bound;
    std::vector<Pair> pairs;
  };
  Bounded bound_of(const Matrix<std::uint8_t>& right, const TemplateSums& sums) const {
    const double norm2 = sums.n2_variance / static_cast<double>(problem_.pixels());
    const double limit = score_limit(problem_.method, problem_.threshold,
                                     static_cast<double>(problem_.pixels()), sums);
    std::vector<std::int32_t> weights(grid_.count());
    const BlockBound bound = block_bound(
        grid_.count(), grid_.side, limit, norm2,
        [&](int k) { return counts_[k] ? block_sum(right, k) : -1; },
        [&](int k, int weight) { weights[k] = weight; });
    std::vector<Pair> pairs;
    for (int row = 0; row < grid_.rows; ++row)
      for (int column = 0; column < grid_.columns; column += 2) {
        const std::int32_t* of = weights.data() + row * grid_.columns + column;
        const std::uint32_t low = static_cast<std::uint16_t>(of[0]);
        const std::uint32_t high =
            column + 1 < grid_.columns ? static_cast<std::uint16_t>(of[1]) : 0;
        if (low | high)
          pairs.push_back({place_of(grid_.x + column * grid_.side, grid_.y + row * grid_.side),
                           low | high << 16});
      }
    return {bound, std::move(pairs)};
  }
  std::int32_t block_sum(const Matrix<std::uint8_t>& right, int k) const {
    const int x = grid_.x + k % grid_.columns * grid_.side;
    const int y = grid_.y + k / grid_.columns * grid_.side;
    std::int32_t sum = 0;
    for (int j = 0; j < grid_.side; ++j)
      for (int i = 0; i < grid_.side; ++i) sum += right.row(y + j)[x + i];
    return sum;
  }

  const stage::Search::Problem& problem_;
  const Problem& p_;
  const stage::Search::Buffers& b_;
  const BlockGrid grid_;
  Memory memory_;
  const Matrix<std::uint8_t> left_;
  std::vector<std::uint8_t> counts_;  ///< of the grid's blocks
  int counted_ = 0;
};

Status launch(const stage::Search::Problem& problem, const Device&,
              const stage::Search::Buffers& buffers, PlanState*) {
  Run(problem, buffers).run();
  return {};
}

bool supports(const stage::Search::Problem& problem, const Device&) {
  return is_bounded_by_blocks(problem, side_of(problem.correlate));
}

std::size_t workspace(const stage::Search::Problem& problem, const Device&) {
  return Memory(problem).bytes();
}

constexpr Variant<stage::Search> table[] = {
    {{"block_means",
      Backend::cpu,
      {Feature::u8, Feature::several_peaks, Feature::mask},
      requested_rank},
     supports,
     launch,
     workspace},
};

}  // namespace block_means

Family block_means_family() { return Family(block_means::table); }

}  // namespace xcorr::cpu
#endif
