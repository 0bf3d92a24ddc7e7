// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The best places of cells on the GPU. A lane has a column of a cell and walks down its rows, a
// warp eight cells of a row: what depends on the window alone is computed once for some images.
#include "cuda/common/launch.cuh"
#include "stages/poses/coarse_search.hpp"

namespace xcorr::cuda {
namespace {

using u32 = std::uint32_t;

constexpr int side = CoarseCells::side, warps = 4;
/// A warp takes some images, of which a few at a time.
constexpr int images_of_warp = 16, at_a_time = 4;

/// The windows of a lane, one below the other.
template <int planes>
struct Windows {
  CoarseSums<planes> sums[side];
  float norms[side];
  std::int64_t products[side];  ///< where their products are
  bool exist[side];
};

template <int planes>
__device__ Windows<planes> windows_at(const stage::CoarseSearch::Problem& p,
                                      const stage::CoarseSearch::Buffers& b, int x, int row) {
  Windows<planes> made;
  const Rect shifts = p.correlate.shifts;
  const auto* sums = static_cast<const u32*>(b.window_sums);
  const auto* squares = static_cast<const u32*>(b.window_squares);
#pragma unroll
  for (int j = 0; j < side; ++j) {
    const int y = CoarseCells::shift(row, j, p.correlate.right.height);
    made.exist[j] = x >= 0 && x < shifts.width && y >= 0 && y < shifts.height;
    const std::int64_t at = made.exist[j] ? std::int64_t{y} * shifts.width + x : 0;
    made.products[j] = made.exist[j] ? y * p.products_pitch() + x : 0;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane) {
      const std::int64_t of_plane = plane * windows_of(p.correlate) + at;
      made.sums[j].sums[plane] = sums[of_plane];
      made.sums[j].squares += squares[of_plane];
    }
    made.norms[j] = CoarseScore<planes>::norm(p.method, double(p.pixels()), made.sums[j]);
  }
  return made;
}

/// The best place of a cell, of the lanes that share it.
/// \param products  of each plane
template <int planes>
__device__ CoarseKey best_of_cell(const CoarseScore<planes>& score, const Windows<planes>& windows,
                                  const u32 (&products)[planes][side], u32 first_place) {
  CoarseKey best = 0;
#pragma unroll
  for (int j = 0; j < side; ++j) {
    double product = 0;
#pragma unroll
    for (int plane = 0; plane < planes; ++plane) product += products[plane][j];
    const float similarity = [&] {
      if constexpr (CoarseScore<planes>::on_edges)
        return score.similarity(score.signed_product(product, windows.sums[j]), windows.norms[j]);
      else
        return score.similarity(product, windows.sums[j], windows.norms[j]);
    }();
    const CoarseKey key = coarse_key(similarity, first_place + side * j);
    if (windows.exist[j] && key > best) best = key;
  }
#pragma unroll
  for (int step = 1; step < side; step *= 2) {
    const CoarseKey other = __shfl_xor_sync(~0u, best, step);
    if (other > best) best = other;
  }
  return best;
}

/// Grid: eight cells, rows of cells, groups of images.
template <int planes>
__global__ void __launch_bounds__(32 * warps)
    coarse_search(stage::CoarseSearch::Problem p, stage::CoarseSearch::Buffers b,
                  CoarseCells cells) {
  const int lane = threadIdx.x % 32, column = blockIdx.x * (32 / side) + lane / side,
            row = blockIdx.y;
  const int x = CoarseCells::shift(column, lane % side, p.correlate.right.width);
  const auto windows = windows_at<planes>(p, b, x, row);
  const std::int64_t cell = std::int64_t{row} * cells.columns + column;
  const int first = (blockIdx.z * warps + threadIdx.x / 32) * images_of_warp,
            last = min(first + images_of_warp, b.right_count);
  // Of the images, each by one lane.
  float norms = 0;
  const auto sums_of = [&](int r) {
    return CoarseSums<planes>::of_right(p.correlate, b.template_sums, b.first_right + r);
  };
  if (const int r = first + lane; r < last)
    norms = CoarseScore<planes>::norm(p.method, double(p.pixels()), sums_of(r));
  for (int batch = first; batch < last; batch += at_a_time) {
    // All are asked for before any is needed.
    u32 products[at_a_time][planes][side];
#pragma unroll
    for (int i = 0; i < at_a_time; ++i)
#pragma unroll
      for (int plane = 0; plane < planes; ++plane) {
        const auto* from = static_cast<const u32*>(b.products) + plane * p.product_plane() +
                           min(batch + i, last - 1) * p.products_stride();
#pragma unroll
        for (int j = 0; j < side; ++j) products[i][plane][j] = from[windows.products[j]];
      }
#pragma unroll
    for (int i = 0; i < at_a_time; ++i) {
      if (batch + i >= last) break;
      const int right = b.first_right + batch + i;
      const CoarseScore<planes> score(p.method, p.polarity, p.pixels(), sums_of(batch + i),
                                      __shfl_sync(~0u, norms, batch + i - first));
      const std::int64_t place = (p.first_image + right) * cells.count() + cell;
      const CoarseKey best = best_of_cell(
          score, windows, products[i], static_cast<u32>(place * CoarseCells::places + lane % side));
      if (lane % side == 0 && column < cells.columns) b.best[right * cells.count() + cell] = best;
    }
  }
}

Status launch(const stage::CoarseSearch::Problem& p, const Device&,
              const stage::CoarseSearch::Buffers& b, PlanState*) {
  const CoarseCells cells = p.cells();
  const dim3 grid(ceil_div(cells.columns, 32 / side), cells.rows,
                  ceil_div(b.right_count, warps * images_of_warp));
  return with_coarse_planes(p.correlate.planes, [&](auto planes) {
    return enqueue("coarse_search", coarse_search<planes()>, grid, dim3(32 * warps), 0, b.stream, p,
                   b, cells);
  });
}

bool supports(const stage::CoarseSearch::Problem& p, const Device&) {
  return p.is_countable() && p.cells().rows <= 65535;
}

constexpr Variant<stage::CoarseSearch> table[] = {
    {{.name = "coarse_search",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes,
                   Feature::pitched_output}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family coarse_search_family() { return Family(table); }

}  // namespace xcorr::cuda
