// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Products and the best places of cells in one, for images of few pixels: a tile of shifts after
// the other, whose pixels are unpacked once for all images. The products of a row of cells are
// scored while they are in the innermost cache.
#include "cpu/common/common.hpp"
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/poses/fused_coarse_search.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "cpu/correlate/direct_block-inl.hpp"
#include "cpu/poses/coarse_search-inl.hpp"

#ifndef XCORR_CPU_SEARCH_CELLS_JOB
#define XCORR_CPU_SEARCH_CELLS_JOB
#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr::cpu::fused_coarse_search {

static_assert(direct::row_group == CoarseCells::side);
constexpr int tile_cells_x = direct::tile_columns / CoarseCells::side,
              tile_cells_y = direct::tile_rows / CoarseCells::side;

struct Scratch {
  direct::TileCells<std::uint32_t> of_planes[color_planes];
  alignas(64) float norms[direct::tile_rows * direct::tile_columns];  ///< of the tile's windows
  alignas(64) std::uint32_t products[CoarseCells::side * direct::tile_columns];
  alignas(64) float similarity[direct::tile_columns];
  alignas(64) std::int32_t depth[direct::tile_columns];
};

/// A tile with some of the images.
struct Job {
  const stage::FusedCoarseSearch::Problem* problem;
  const stage::FusedCoarseSearch::Buffers* buffers;
  int first_right, right_count;
  Rect cells;
  Scratch* scratch;
};

}  // namespace xcorr::cpu::fused_coarse_search
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::fused_coarse_search::HWY_NAMESPACE {
using coarse_search::CellRow;
using coarse_search::WindowRow;
using direct::HWY_NAMESPACE::BytePairs;

/// Bytes of edges, as the numbers that they stand for.
struct EdgePairs : BytePairs {
  static Cell cell(const Pixel* p) {
    const auto half = [](Pixel pixel) { return (pixel - no_edge) & 0xffff; };
    return static_cast<Cell>(half(p[0])) | static_cast<Cell>(half(p[1])) << 16;
  }
  static constexpr Pixel outside = no_edge;
};

template <Method method, int planes>
class TileRun {
  static constexpr bool on_edges = CoarseScore<planes>::on_edges;
  using Op = std::conditional_t<on_edges, EdgePairs, BytePairs>;

 public:
  explicit TileRun(const Job& job)
      : job_(job),
        p_(*job.problem),
        b_(*job.buffers),
        s_(*job.scratch),
        left_(CoarseCells::shift(job.cells.x, 0, p_.correlate.right.width)),
        top_(CoarseCells::shift(job.cells.y, 0, p_.correlate.right.height)),
        first_(std::max(0, -left_)),
        last_(std::min(CoarseCells::side * job.cells.width, p_.correlate.shifts.width - left_)) {}

  void run() {
    const Size right = p_.correlate.right;
    const Size shifts{CoarseCells::side * job_.cells.width, CoarseCells::side * job_.cells.height};
    for (int plane = 0; plane < planes; ++plane)
      direct::HWY_NAMESPACE::unpack_region<Op>(
          left_of<std::uint8_t>(p_.correlate, b_.lefts, 0, plane), left_, top_, shifts, right,
          s_.of_planes[plane]);
    for (int j = 0; j < job_.cells.height; ++j) measure(j);
    for (int r = job_.first_right; r < job_.first_right + job_.right_count; ++r) {
      for (int plane = 0; plane < planes; ++plane)
        direct::HWY_NAMESPACE::unpack_taps<Op>(
            right_of<std::uint8_t>(p_.correlate, b_.rights, r, plane),
            {0, 0, right.width, right.height}, s_.of_planes[plane]);
      for (int j = 0; j < job_.cells.height; ++j) search(r, j);
    }
  }

 private:
  /// The windows of row y of the j-th row of cells, from the tile's first shift that exists on.
  WindowRow<planes> windows(const CellRow& row, int j, int y) const {
    return WindowRow<planes>::of(
        p_.correlate, b_, std::int64_t{row.top + y} * p_.correlate.shifts.width + left_ + first_,
        norms(j, y));
  }
  float* norms(int j, int y) const {
    return s_.norms + (CoarseCells::side * j + y) * direct::tile_columns + first_;
  }

  void measure(int j) {
    const CellRow row(p_.correlate, job_.cells.y + j);
    for (int y = row.first; y < row.last; ++y)
      coarse_search::HWY_NAMESPACE::measure_windows<method, std::int32_t>(
          static_cast<double>(p_.pixels()), windows(row, j, y), last_ - first_, norms(j, y));
  }

  void search(int r, int j) {
    const CellRow row(p_.correlate, job_.cells.y + j);
    const CoarseCells cells = p_.cells();
    CoarseKey* const to = b_.best + (std::int64_t{r} * cells.rows + row.row) * cells.columns;
    std::fill_n(to + job_.cells.x, job_.cells.width, CoarseKey{0});
    if (row.first >= row.last || first_ >= last_) return;
    std::fill_n(s_.products, CoarseCells::side * direct::tile_columns, 0u);
    for (int plane = 0; plane < planes; ++plane)
      direct::HWY_NAMESPACE::add_rows<Op>(s_.of_planes[plane], CoarseCells::side * j, last_,
                                          p_.correlate.right.height, s_.products);
    const auto score =
        coarse_search::HWY_NAMESPACE::score_of<method, planes>(p_, b_.template_sums, r);
    const coarse_search::BestOfColumns best{s_.similarity, s_.depth};
    std::fill_n(best.similarity, last_ - first_, -INFINITY);
    for (int y = row.first; y < row.last; ++y) take_best(score, windows(row, j, y), y, best);
    coarse_search::HWY_NAMESPACE::set_keys(p_, r, row.row, left_ + first_, last_ - first_, best,
                                           to);
  }

  void take_best(const CoarseScore<planes>& score, const WindowRow<planes>& windows, int y,
                 const coarse_search::BestOfColumns& best) {
    const auto* products =
        reinterpret_cast<const std::int32_t*>(s_.products) + y * direct::tile_columns + first_;
    coarse_search::HWY_NAMESPACE::take_best(last_ - first_, y, best, [&](int x) {
      if constexpr (on_edges)
        return score.similarity(static_cast<float>(products[x]), windows.norms[x]);
      else
        return score.similarity(products[x], windows.template at<std::int32_t>(x),
                                windows.norms[x]);
    });
  }

  const Job& job_;
  const stage::FusedCoarseSearch::Problem& p_;
  const stage::FusedCoarseSearch::Buffers& b_;
  Scratch& s_;
  int left_, top_;    ///< the tile's first shift, which need not exist
  int first_, last_;  ///< of its columns, those that exist
};

void run(const Job& job) {
  coarse_search::HWY_NAMESPACE::with_method(*job.problem, [&](auto method, auto planes) {
    TileRun<decltype(method)::value, decltype(planes)::value>(job).run();
  });
}

}  // namespace xcorr::cpu::fused_coarse_search::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace fused_coarse_search {

HWY_EXPORT(run);

Status launch(const stage::FusedCoarseSearch::Problem& p, const Device&,
              const stage::FusedCoarseSearch::Buffers& b, PlanState*) {
  const CoarseCells cells = p.cells();
  const int columns = static_cast<int>(ceil_div(cells.columns, tile_cells_x)),
            rows = static_cast<int>(ceil_div(cells.rows, tile_cells_y));
  // So that every core has several pieces.
  const std::int64_t wanted = ceil_div(4 * slot_count(), std::int64_t{columns} * rows);
  const int each =
      static_cast<int>(ceil_div(b.right_count, std::clamp<std::int64_t>(wanted, 1, b.right_count)));
  const SlotMemory memory(b.workspace, sizeof(Scratch));
  parallel_slots(
      slot_count(), std::int64_t{columns} * rows * ceil_div(b.right_count, each),
      [&](int slot, std::int64_t index) {
        const int x = static_cast<int>(index % columns) * tile_cells_x,
                  y = static_cast<int>(index / columns % rows) * tile_cells_y,
                  first = static_cast<int>(index / columns / rows) * each;
        HWY_DYNAMIC_DISPATCH(run)
        ({&p,
          &b,
          b.first_right + first,
          std::min(each, b.right_count - first),
          {x, y, std::min(tile_cells_x, cells.columns - x), std::min(tile_cells_y, cells.rows - y)},
          reinterpret_cast<Scratch*>(memory.of(slot))});
      });
  return {};
}

std::size_t workspace(const stage::FusedCoarseSearch::Problem&, const Device&) {
  return SlotMemory::total(sizeof(Scratch));
}

/// With more pixels FFTs are quicker (docs/performance/poses.md); sums of fewer are less than 2^31.
constexpr std::int64_t most_pixels = 500;

/// On edges pixels that do not count would have to be told from those whose bytes are 0.
bool supports(const stage::FusedCoarseSearch::Problem& p, const Device&) {
  const Size right = p.correlate.right;
  return p.is_countable() && p.pixels() <= most_pixels &&
         (p.correlate.planes != edge_planes || !p.masking) && right.width <= direct::block_side &&
         right.height <= direct::block_side;
}

constexpr Variant<stage::FusedCoarseSearch> variants[] = {
    {{.name = "direct_cells",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes}},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace fused_coarse_search

Family fused_coarse_search_family() { return Family(fused_coarse_search::variants); }

}  // namespace xcorr::cpu
#endif
