// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of upright places in frames of 16 bits and of floats on the GPU. As in
// subpixel_refine.cu the warps of a block take rows of shifts or the products of terms, but of some
// rows of the template, a chunk, in double precision. While that is little memory each chunk has a
// block, and the last one of a candidate adds the chunks up; otherwise a block takes all of a
// candidate. Both add in the same order, so places do not depend on how many templates there are.
#include <algorithm>

#include "cuda/common/last_block.cuh"
#include "cuda/common/warp.cuh"
#include "stages/common/rows.hpp"
#include "stages/match/subpixel_refine.hpp"

namespace xcorr::cuda {
namespace {

using Sums = PlaceSumsOf<double>;

constexpr int jobs = Sums::across + 1;  // a row of shifts each, and the products of terms
constexpr int parts = 2;                // warps for each, which take rows in turn
constexpr int threads = 32 * jobs * parts;
constexpr int rows_of_chunk = 8;
static_assert(threads >= Sums::count && Sums::shifts <= 32);

int chunks_of(const Problem& p) {
  return ceil_div(std::max(p.right.height - 2 * Sums::reach, 1), rows_of_chunk);
}

/// Whether chunks have blocks of their own: enough to fill a GPU. The emulation tests both.
bool is_shared(const stage::SubpixelRefine::Problem& p) {
#ifdef XCORR_SIMT
  constexpr std::int64_t most = 16;
#else
  constexpr std::int64_t most = 1024;
#endif
  const int chunks = chunks_of(p.correlate);
  return chunks > 1 && p.slots() * chunks <= most;
}

/// What a warp reads of a candidate: rows from `first` to `end`, `parts` apart, of columns from
/// `left` to `right`.
template <class T>
struct Rows {
  const std::uint8_t *window, *pattern, *inset;
  std::int64_t window_pitch, pattern_pitch;
  int width, left, right, first, end;
  double mean;

  /// Calls f(terms, x, y) for its pixels.
  template <class F>
  __device__ void for_pixels(F f) const {
    const std::int64_t pitch = pattern_pitch / static_cast<std::int64_t>(sizeof(T));
    const int lane = threadIdx.x % 32;
    for (int y = first; y < end; y += parts)
      for (int x = left + lane; x < right; x += 32) {
        if (inset && !inset[std::int64_t{y} * width + x]) continue;
        const U16F32Terms pixel(row_of<T>(pattern, pattern_pitch, y) + x, pitch, mean);
        const double terms[Sums::terms] = {pixel.by_u, pixel.by_v, pixel.value, 1};
        f(terms, x, y);
      }
  }
};

__device__ void put(double sum, double& to) {
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) to = sum;
}

template <class T>
__device__ void sum_pairs(const Rows<T>& rows, double* sums) {
  double of[Sums::pairs] = {};
  rows.for_pixels([&](const double(&terms)[Sums::terms], int, int) {
    int k = 0;
#pragma unroll
    for (int i = 0; i < Sums::terms; ++i)
#pragma unroll
      for (int j = 0; j <= i; ++j) of[k++] += terms[i] * terms[j];
  });
#pragma unroll
  for (int k = 0; k < Sums::pairs; ++k) put(of[k], sums[k]);
}

/// The products of terms with the window at the five shifts `down`.
template <class T>
__device__ void sum_shifts(const Rows<T>& rows, int down, double* sums) {
  double of[Sums::across][Sums::terms] = {};
  rows.for_pixels([&](const double(&terms)[Sums::terms], int x, int y) {
    const T* const row = row_of<T>(rows.window, rows.window_pitch, y + down) + x;
#pragma unroll
    for (int i = 0; i < Sums::across; ++i) {
      const double frame = row[i - Sums::reach];
#pragma unroll
      for (int k = 0; k < Sums::terms; ++k) of[i][k] += terms[k] * frame;
    }
  });
#pragma unroll
  for (int i = 0; i < Sums::across; ++i)
#pragma unroll
    for (int k = 0; k < Sums::terms; ++k)
      put(of[i][k], sums[Sums::product((down + Sums::reach) * Sums::across + i, k)]);
}

/// Grid: blocks that share a candidate, candidates of a template, templates.
template <class T>
__global__ void __launch_bounds__(threads, 1)
    subpixel_refine_u16_f32(stage::SubpixelRefine::Problem p, stage::SubpixelRefine::Buffers b,
                            int chunks, unsigned* block_counters) {
  __shared__ double of_parts[parts][Sums::count];
  __shared__ Sums sums;
  __shared__ PlaceSolution solutions[Sums::shifts];
  const Problem& c = p.correlate;
  const int job = threadIdx.x / 32 % jobs, part = threadIdx.x / 32 / jobs, k = threadIdx.x;
  for (int r = b.first_right + blockIdx.z; r < b.first_right + b.right_count; r += gridDim.z) {
    if (blockIdx.y >= b.counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const Candidate at = b.candidates[index];
    if (!can_be_fitted(at, c.shifts)) {
      if (blockIdx.x == 0 && threadIdx.x == 0) b.fits[index] = {0, 0, 0};
      continue;
    }
    const Rect fitted = p.fitted_part(at);
    Rows<T> rows{b.lefts + (c.shifts.y + at.y) * c.left_pitch +
                     (c.shifts.x + at.x) * static_cast<std::int64_t>(sizeof(T)),
                 b.templates + r * c.right_stride,
                 b.inset,
                 c.left_pitch,
                 c.right_pitch,
                 c.right.width,
                 fitted.x,
                 fitted.x + fitted.width,
                 0,
                 0,
                 p.mean(b.template_sums[r])};
    double* const of_chunks = static_cast<double*>(b.workspace) + index * chunks * Sums::count;
    double total = 0;
    for (int chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
      const int begin = Sums::reach + chunk * rows_of_chunk;
      rows.first = max(begin, fitted.y) + part;
      rows.end = min(begin + rows_of_chunk, fitted.y + fitted.height);
      if (job < Sums::across)
        sum_shifts(rows, job - Sums::reach, of_parts[part]);
      else
        sum_pairs(rows, of_parts[part]);
      __syncthreads();
      if (k < Sums::count) {
        double sum = 0;
        for (int i = 0; i < parts; ++i) sum += of_parts[i][k];
        if (gridDim.x == 1)
          total += sum;
        else
          of_chunks[chunk * Sums::count + k] = sum;
      }
      __syncthreads();  // the next sums overwrite `of_parts`
    }
    if (gridDim.x > 1) {
      __threadfence();
      __syncthreads();
      if (!is_last_block(&block_counters[index], gridDim.x)) continue;
      if (k < Sums::count) XCORR_ROLL
      for (int chunk = 0; chunk < chunks; ++chunk)
        total += static_cast<const volatile double*>(of_chunks)[chunk * Sums::count + k];
    }
    if (k < Sums::count) sums.of[k] = total;
    __syncthreads();
    if (k < Sums::shifts) solutions[k] = place_solution(sums, k);
    __syncthreads();
    if (k == 0) b.fits[index] = fitted_place(solutions, p.polarity);
  }
}

Result<std::unique_ptr<PlanState>> plan(const stage::SubpixelRefine::Problem& p, const Device&) {
  return BlockCounters::make(p.slots());
}

std::size_t workspace(const stage::SubpixelRefine::Problem& p, const Device&) {
  return is_shared(p) ? p.slots() * chunks_of(p.correlate) * Sums::count * sizeof(double) : 0;
}

Status launch(const stage::SubpixelRefine::Problem& p, const Device&,
              const stage::SubpixelRefine::Buffers& b, PlanState* state) {
  const int chunks = chunks_of(p.correlate);
  return enqueue("subpixel_refine_u16_f32",
                 p.correlate.type == ElementType::u16 ? subpixel_refine_u16_f32<std::uint16_t>
                                                      : subpixel_refine_u16_f32<float>,
                 dim3(is_shared(p) ? chunks : 1, p.max_peaks, grid_extent(b.right_count)),
                 dim3(threads), 0, b.stream, p, b, chunks,
                 static_cast<const BlockCounters*>(state)->counters());
}

constexpr Variant<stage::SubpixelRefine> table[] = {
    {{.name = "subpixel_refine_u16_f32",
      .backend = Backend::cuda,
      .features = {Feature::u16, Feature::f32, Feature::wide_sums, Feature::several_peaks,
                   Feature::mask, Feature::contrast, Feature::overhang}},
     {.launch = launch, .workspace = workspace, .plan = plan}},
};

}  // namespace

Family subpixel_refine_u16_f32_family() { return Family(table); }

}  // namespace xcorr::cuda
