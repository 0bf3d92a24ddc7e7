// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares of upright places on the GPU. Some blocks share the planes and rows of a
// candidate's template. A warp of a block takes the five shifts of one row of them, one in six the
// products of terms; the sums are added in integers, and the last block to finish solves for all
// shifts at once and takes the steps.
#include "cuda/common/last_block.cuh"
#include "cuda/common/warp.cuh"
#include "stages/match/subpixel_refine.hpp"

namespace xcorr::cuda {
namespace {

using u64 = unsigned long long;

constexpr int jobs = PlaceSums::across + 1;  // a row of shifts each, and the products of terms
constexpr int parts = 4;                     // warps for each, which take rows in turn
constexpr int threads = 32 * jobs * parts;
static_assert(threads >= PlaceSums::count && PlaceSums::shifts <= 32);

/// Pixels whose sums of products with a term 32 bits hold, over 32 lanes.
constexpr int columns = 896;

/// How many rows of a plane of a candidate's template a block takes: as few as its warps can share,
/// since rows one after the other take as long as loads from memory; more where the candidates
/// alone fill the device.
int rows_of_block(const Problem& p, const Device& device, std::int64_t candidates) {
  return ceil_div(p.right.height, parts) * candidates <= 2 * device.multiprocessors ? parts
                                                                                    : 4 * parts;
}

/// What a warp reads.
struct Pixels {
  const std::uint8_t *window, *pattern, *inset;
  std::int64_t window_pitch, pattern_pitch;
  Size size;
  Rect part;  ///< whose pixels take part

  /// Calls f(terms, the pixel of the window) for the pixels of a row in columns [begin, end).
  template <class F>
  __device__ void for_row(int y, int begin, int end, F f) const {
#pragma unroll 2
    for (int x = begin + static_cast<int>(threadIdx.x) % 32; x < end; x += 32) {
      if (inset && !inset[std::int64_t{y} * size.width + x]) continue;
      f(SplinePixel(pattern + y * pattern_pitch + x, pattern_pitch), window + y * window_pitch + x);
    }
  }
};

__device__ void add(u64* to, long long value) { atomicAdd(to, static_cast<u64>(value)); }

/// The products of terms in the rows from y to `end`, `parts` apart.
__device__ void add_pairs(const Pixels& pixels, int y, int end, u64* sums) {
  long long of[PlaceSums::pairs] = {};
  for (; y < end; y += parts)
    pixels.for_row(y, pixels.part.x, pixels.part.x + pixels.part.width,
                   [&](const SplinePixel& pixel, const std::uint8_t*) {
                     const int terms[] = {pixel.by_u, pixel.by_v, pixel.value, 1};
                     int k = 0;
#pragma unroll
                     for (int i = 0; i < PlaceSums::terms; ++i)
#pragma unroll
                       for (int j = 0; j <= i; ++j) of[k++] += terms[i] * terms[j];
                   });
  for_warp_sums(of, [&](int k, long long sum) { add(&sums[k], sum); });
}

/// The products of terms with the window at the five shifts `down`.
struct ShiftSums {
  static constexpr int count = PlaceSums::across * PlaceSums::terms;
  int of[count] = {};

  __device__ void add_row(const Pixels& pixels, int y, int down, int begin, int end) {
    pixels.for_row(y, begin, end, [&](const SplinePixel& pixel, const std::uint8_t* window) {
      const std::uint8_t* row = window + down * pixels.window_pitch;
#pragma unroll
      for (int i = 0; i < PlaceSums::across; ++i) {
        const int frame = row[i - PlaceSums::reach];
        of[PlaceSums::terms * i] += pixel.by_u * frame;
        of[PlaceSums::terms * i + 1] += pixel.by_v * frame;
        of[PlaceSums::terms * i + 2] += pixel.value * frame;
        of[PlaceSums::terms * i + 3] += frame;
      }
    });
  }
  /// A lane adds one of the sums of the warp. They are lost.
  __device__ void flush(int down, u64* sums) {
    const int first = PlaceSums::product((down + PlaceSums::reach) * PlaceSums::across, 0);
    for_warp_sums(of, [&](int k, int sum) { add(&sums[first + k], sum); });
  }
};

/// Of the rows from y to `end`, `parts` apart; as many pixels at a time as 32 bits hold.
__device__ void add_shifts(const Pixels& pixels, int y, int end, int down, u64* sums) {
  const int first = pixels.part.x, last = first + pixels.part.width;
  for (int begin = first; y < end;) {
    ShiftSums of;
    for (int room = columns; y < end;) {
      const int next = min(begin + columns, last), width = ceil_div(next - begin, 32) * 32;
      if (width > room) break;
      of.add_row(pixels, y, down, begin, next);
      room -= width;
      begin = next;
      if (begin == last) {
        begin = first;
        y += parts;
      }
    }
    of.flush(down, sums);
  }
}

/// Adds the sums of the blocks that share a candidate, each of one plane, in the last one to
/// finish; the others return false. `all`: 0 before and after.
__device__ bool add_blocks(u64* sums, int plane, int planes, unsigned* block_counter, u64* all) {
  if (gridDim.x == 1) return true;
  for (int k = threadIdx.x; k < PlaceSums::count; k += threads) {
    atomicAdd(&all[plane * PlaceSums::count + k], sums[plane * PlaceSums::count + k]);
    __threadfence();
  }
  __syncthreads();
  if (!is_last_block(block_counter, gridDim.x)) return false;
  for (int k = threadIdx.x; k < planes * PlaceSums::count; k += threads) {
    sums[k] = static_cast<volatile u64*>(all)[k];
    all[k] = 0;
  }
  return true;
}

/// Grid: blocks that share a candidate, candidates of a template, templates.
__global__ void __launch_bounds__(threads, 1)
    subpixel_refine(stage::SubpixelRefine::Problem p, const std::uint8_t* left,
                    const std::uint8_t* templates, const std::uint8_t* inset, int first_right,
                    int right_count, int rows_of_block, const Candidate* candidates,
                    const std::uint32_t* counts, unsigned* block_counters, u64* sums_of_slots,
                    FittedPlace* fits) {
  __shared__ PlaceSums sums[color_planes];
  __shared__ PlaceSumsOf<double> all;
  __shared__ PlaceSolution solutions[PlaceSums::shifts];
  auto* const shared = reinterpret_cast<u64*>(sums);
  const Problem& c = p.correlate;
  const int count = c.planes * PlaceSums::count, shares = gridDim.x / c.planes,
            plane = blockIdx.x / shares, first_row = blockIdx.x % shares * rows_of_block;
  u64* const of_plane = shared + plane * PlaceSums::count;
  const int job = threadIdx.x / 32 % jobs, part = threadIdx.x / 32 / jobs;
  wait_for_previous();
  for (int r = first_right + blockIdx.z; r < first_right + right_count; r += gridDim.z) {
    if (blockIdx.y >= counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const Candidate at = candidates[index];
    if (!can_be_fitted(at, c.shifts)) {
      if (blockIdx.x == 0 && threadIdx.x == 0) fits[index] = {0, 0, 0};
      continue;
    }
    for (int k = threadIdx.x; k < PlaceSums::count; k += threads) of_plane[k] = 0;
    __syncthreads();
    const Rect fitted = p.fitted_part(at);
    const int begin = max(first_row, fitted.y);
    const int end = min(first_row + rows_of_block, fitted.y + fitted.height);
    const Pixels pixels{left + plane * c.left_plane + c.left_offset(r) +
                            (c.shifts.y + at.y) * c.left_pitch + c.shifts.x + at.x,
                        templates + (std::int64_t{plane} * c.rights + r) * c.right_stride,
                        inset,
                        c.left_pitch,
                        c.right_pitch,
                        c.right,
                        fitted};
    if (job < PlaceSums::across)
      add_shifts(pixels, begin + part, end, job - PlaceSums::reach, of_plane);
    else
      add_pairs(pixels, begin + part, end, of_plane);
    __syncthreads();
    if (add_blocks(shared, plane, c.planes, &block_counters[index],
                   sums_of_slots + index * count)) {
      __syncthreads();
      const int k = threadIdx.x;
      if (k < PlaceSums::count) all.of[k] = sum_of_planes(sums, c.planes, k);
      __syncthreads();
      if (k < PlaceSums::shifts) solutions[k] = place_solution(all, k);
      __syncthreads();
      if (threadIdx.x == 0) fits[index] = fitted_place(solutions, p.polarity);
    }
    __syncthreads();  // shared memory is overwritten
  }
}

/// For each candidate its sums, each as large as two counters, and a ticket.
Result<std::unique_ptr<PlanState>> plan(const stage::SubpixelRefine::Problem& p, const Device&) {
  return BlockCounters::make(p.slots() * (2 * p.correlate.planes * PlaceSums::count + 1));
}

bool supports(const stage::SubpixelRefine::Problem& p, const Device&) {
  return p.correlate.planes <= color_planes;
}

Status launch(const stage::SubpixelRefine::Problem& p, const Device& device,
              const stage::SubpixelRefine::Buffers& b, PlanState* state) {
  unsigned* const counters = static_cast<const BlockCounters*>(state)->counters();
  const int rows = rows_of_block(p.correlate, device, std::int64_t{b.right_count} * p.max_peaks);
  const dim3 grid(p.correlate.planes * ceil_div(p.correlate.right.height, rows), p.max_peaks,
                  grid_extent(b.right_count));
  return enqueue_early(device, "subpixel_refine", subpixel_refine, grid, threads, 0, b.stream, p,
                       b.lefts, b.templates, b.inset, b.first_right, b.right_count, rows,
                       b.candidates, b.counts,
                       counters + 2 * p.correlate.planes * PlaceSums::count * p.slots(),
                       reinterpret_cast<u64*>(counters), b.fits);
}

constexpr Variant<stage::SubpixelRefine> table[] = {
    {{.name = "subpixel_refine",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::wide_sums, Feature::several_peaks, Feature::mask,
                   Feature::contrast, Feature::own_lefts, Feature::planes, Feature::overhang}},
     {.supports = supports, .launch = launch, .plan = plan}},
};

}  // namespace

Family subpixel_refine_family() { return Family(table); }

}  // namespace xcorr::cuda
