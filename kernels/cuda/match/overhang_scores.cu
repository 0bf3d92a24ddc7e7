// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores of the windows that stick out of the picture. A block sums up one plane of a template over
// the rectangles from its corner on: warps along the rows, then threads down the columns. Then each
// shift has a thread, of which those whose windows lie in the picture have nothing to do. Where
// these sums would take much memory some of the templates are done at a time.
#include <algorithm>

#include "cuda/common/launch.cuh"
#include "cuda/common/warp.cuh"
#include "stages/common/rows.hpp"
#include "stages/match/overhang_scores.hpp"

namespace xcorr::cuda {
namespace {

using Stage = stage::OverhangScores;

constexpr int threads = 256, warps = threads / 32;

/// Of RectangleSums.
#ifdef XCORR_SIMT
constexpr std::int64_t most_bytes = std::int64_t{8} << 10;  // of some: the emulation tests it, too
#else
constexpr std::int64_t most_bytes = std::int64_t{64} << 20;
#endif

std::int64_t sums_of_right(const Problem& p) { return p.planes * RectangleSums::count(p.right); }

/// Templates that are done at a time.
int rights_at_a_time(const Stage::Problem& p) {
  const std::int64_t bytes = sums_of_right(p.correlate) * std::int64_t(sizeof(InsideSums));
  return static_cast<int>(std::clamp<std::int64_t>(most_bytes / bytes, 1, p.max_rights()));
}

/// Of a template's row up to each pixel, by a warp.
template <class T>
__device__ void sum_row(const T* pixels, const std::uint8_t* mask, int width, InsideSums* sums) {
  const int lane = threadIdx.x % 32;
  InsideSums before;
  if (lane == 0) sums[0] = before;
  for (int begin = 0; begin < width; begin += 32) {
    const int x = begin + lane;
    const bool exists = x < width;
    const InsideSums own = InsideSums::of(exists ? pixels[x] : T(0), exists && (!mask || mask[x]));
    InsideSums scan{warp_scan(own.counted), warp_scan(own.sum), warp_scan(own.squares)};
    scan += before;
    if (exists) sums[x + 1] = scan;
    before = {__shfl_sync(~0u, scan.counted, 31), __shfl_sync(~0u, scan.sum, 31),
              __shfl_sync(~0u, scan.squares, 31)};
  }
}

/// Of such rows, by a thread. Loads do not wait for each other.
__device__ void sum_column(InsideSums* column, std::int64_t pitch, int height) {
  constexpr int share = 8;
  InsideSums sum;
  for (int begin = 0; begin < height; begin += share) {
    InsideSums loaded[share];
#pragma unroll
    for (int k = 0; k < share; ++k)
      if (begin + k < height) loaded[k] = column[(begin + k) * pitch];
#pragma unroll
    for (int k = 0; k < share; ++k)
      if (begin + k < height) column[(begin + k) * pitch] = sum += loaded[k];
  }
}

/// Grid: planes of templates.
template <class T>
__global__ void __launch_bounds__(threads)
    sum_rectangles(Stage::Problem problem, const void* templates, const std::uint8_t* mask,
                   int first_right, int right_count, InsideSums* sums) {
  const Problem& p = problem.correlate;
  const Size size = p.right;
  const std::int64_t pitch = RectangleSums::pitch(size);
  for (int k = blockIdx.x; k < right_count * p.planes; k += gridDim.x) {
    const std::int64_t right = std::int64_t{k % p.planes} * p.rights + first_right + k / p.planes;
    const auto* const pixels = row_of<T>(templates, p.right_stride, right);
    InsideSums* const to = sums + k * RectangleSums::count(size);
    for (int y = threadIdx.x / 32; y < size.height; y += warps)
      sum_row(row_of<T>(pixels, p.right_pitch, y),
              mask ? mask + std::int64_t{y} * size.width : nullptr, size.width,
              to + (y + 1) * pitch);
    for (int x = threadIdx.x; x < pitch; x += threads) to[x] = {};
    __syncthreads();
    for (int x = threadIdx.x; x < pitch; x += threads) sum_column(to + x, pitch, size.height + 1);
  }
}

/// Grid: blocks of a row of shifts, rows, templates of those that `sums` are of: from `first` to
/// `end` of the launch.
template <class Product, class Sum, class Squares>
__global__ void __launch_bounds__(threads, 2)
    overhang_scores(Stage::Problem p, Stage::Buffers b, bool minimum, int first, int end,
                    const InsideSums* sums) {
  const Problem& c = p.correlate;
  const int x = blockIdx.x * threads + threadIdx.x, y = blockIdx.y;
  if (x >= c.shifts.width) return;
  const Rect seen = p.overhang.seen(c.shifts.x + x, c.shifts.y + y, c.right);
  const bool lies_inside = seen.size() == c.right;
  if (lies_inside && b.overhang_scores == b.contrast_filtered) return;
  for (int r = first + blockIdx.z; r < end; r += gridDim.z) {
    const std::int64_t at = (std::int64_t{r} * c.shifts.height + y) * c.shifts.width + x;
    b.overhang_scores[at] =
        lies_inside
            ? b.contrast_filtered[at]
            : overhang_score<Product, Sum, Squares>(
                  p, b, minimum, sums + (r - first) * c.planes * RectangleSums::count(c.right),
                  {r, x, y, seen});
  }
}

template <class Pixel, class Product, class Sum, class Squares>
Status launch_as(const Stage::Problem& p, const Stage::Buffers& b) {
  const Rect& shifts = p.correlate.shifts;
  const int step = rights_at_a_time(p);
  auto* const sums = static_cast<InsideSums*>(b.workspace);
  for (int first = 0; first < b.right_count; first += step) {
    const int count = std::min(step, b.right_count - first);
    if (Status s = enqueue("sum_rectangles", sum_rectangles<Pixel>,
                           grid_extent(std::int64_t{count} * p.correlate.planes), threads, 0,
                           b.stream, p, b.templates, b.mask, b.first_right + first, count, sums);
        !s.ok())
      return s;
    if (Status s =
            enqueue("overhang_scores", overhang_scores<Product, Sum, Squares>,
                    dim3(ceil_div(shifts.width, threads), shifts.height, grid_extent(count)),
                    threads, 0, b.stream, p, b, info(p.method).minimum, first, first + count, sums);
        !s.ok())
      return s;
  }
  return {};
}

Status launch(const Stage::Problem& p, const Device&, const Stage::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = unsigned long long;
  if (p.correlate.type == ElementType::f32) return launch_as<float, float, double, double>(p, b);
  if (p.correlate.type == ElementType::u16) return launch_as<std::uint16_t, u64, u64, u64>(p, b);
  return p.correlate.output_type() == ElementType::u64 ? launch_as<u8, u64, u32, u64>(p, b)
                                                       : launch_as<u8, u32, u32, u32>(p, b);
}

std::size_t workspace(const Stage::Problem& p, const Device&) {
  return rights_at_a_time(p) * sums_of_right(p.correlate) * sizeof(InsideSums);
}

bool supports(const Stage::Problem& p, const Device&) { return p.correlate.shifts.height <= 65535; }

constexpr Variant<stage::OverhangScores> table[] = {
    {{.name = "overhang_scores",
      .backend = Backend::cuda,
      .features = match_features | Features(Feature::pitched_output, Feature::overhang)},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace

Family overhang_scores_family() { return Family(table); }

}  // namespace xcorr::cuda
