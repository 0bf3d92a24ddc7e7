// SPDX-License-Identifier: LGPL-2.1-or-later
//
// refine for 8-bit pixels in one launch: products at a candidate's nine places at once, for which a
// row of the left is loaded once and kept for three rows of the template; the other sums are those
// of the windows, which exist already. Some blocks share a candidate's rows, and the last of them
// to be done makes scores of the sums and places the peak. There are few blocks, each runs through
// its code once, and fetching code takes longer than running it: so loops stay rolled.
#include "../score.hpp"
#include "launch.cuh"
#include "tickets.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

using u64 = unsigned long long;

constexpr int threads = 256, warps = threads / 32, places = 9;
constexpr int rows_of_warp = 4, rows_of_block = warps * rows_of_warp;

/// The share of a warp: 32 bits hold its sums.
constexpr int most_columns = 66051 / rows_of_warp;

int blocks_of(const Problem& p) { return ceil_div(p.right.height, rows_of_block); }

/// Which of a candidate's neighbours across and down are wanted and exist.
struct Neighbours {
  bool x, y;
  __device__ Neighbours(const MatchProblem& p, const Candidate& c)
      : x(p.subpixel && c.x > 0 && c.x < p.correlate.shifts.width - 1),
        y(p.subpixel && c.y > 0 && c.y < p.correlate.shifts.height - 1) {}
};

/// Three pixels side by side, those left and right of the middle if there are such.
struct Three {
  unsigned of[3];
  __device__ Three(const std::byte* row, bool exists, bool across) {
    const auto* pixel = reinterpret_cast<const std::uint8_t*>(row);
    of[0] = exists && across ? pixel[-1] : 0;
    of[1] = exists ? pixel[0] : 0;
    of[2] = exists && across ? pixel[1] : 0;
  }
};

/// Adds a warp's rows of the template, [begin, end), to the products of this lane's columns.
__device__ void add_rows(unsigned (&products)[places], const Problem& p, const std::byte* window,
                         const std::byte* pixels, int begin, int end, Neighbours there) {
#pragma unroll 1
  for (int x = threadIdx.x % 32; x < p.right.width; x += 32) {
    const std::byte* const column = window + x;
    const auto row = [&](int y, bool exists) {
      return Three(column + y * p.left_pitch, exists, there.x);
    };
    Three above = row(begin - 1, begin > 0 || there.y), here = row(begin, true);
#pragma unroll
    for (int i = 0; i < rows_of_warp; ++i) {
      const int y = begin + i;
      const Three below = row(y + 1, y < end && (y + 1 < p.right.height || there.y));
      const unsigned t =
          y < end ? reinterpret_cast<const std::uint8_t*>(pixels + y * p.right_pitch)[x] : 0;
#pragma unroll
      for (int k = 0; k < 3; ++k) {
        products[k] += t * above.of[k];
        products[3 + k] += t * here.of[k];
        products[6 + k] += t * below.of[k];
      }
      above = here;
      here = below;
    }
  }
}

/// Grid: blocks that share a candidate, candidates of a right, rights. `partial`: products for
/// each of these blocks.
__global__ void __launch_bounds__(threads)
    refine_bytes(MatchProblem p, bool minimum, const std::byte* left, const std::byte* templates,
                 const RightSums* right_sums, int first_right, int right_count,
                 const std::uint32_t* window_sums, const u64* window_squares,
                 const Candidate* candidates, const std::uint32_t* counts, unsigned* tickets,
                 u64 (*partial)[places], RefinedPeak* peaks, std::uint32_t* peak_counts) {
  __shared__ unsigned of_warps[warps][places];
  __shared__ double scores[places];
  wait_for_previous();
  const Problem& c = p.correlate;
  const int warp = threadIdx.x / 32, t = threadIdx.x;
  for (int r = first_right + blockIdx.z; r < first_right + right_count; r += gridDim.z) {
    if (blockIdx.x == 0 && blockIdx.y == 0 && t == 0) peak_counts[r] = counts[r];
    if (blockIdx.y >= counts[r]) continue;
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const Candidate at = candidates[index];
    const Neighbours there(p, at);
    const int begin = blockIdx.x * rows_of_block + warp * rows_of_warp;
    unsigned products[places] = {};
    if (begin < c.right.height)
      add_rows(products, c, left + (c.shifts.y + at.y) * c.left_pitch + c.shifts.x + at.x,
               templates + r * c.right_stride, begin, min(begin + rows_of_warp, c.right.height),
               there);
#pragma unroll
    for (int k = 0; k < places; ++k) {
      const unsigned sum = warp_sum(products[k]);
      if (t % 32 == 0) of_warps[warp][k] = sum;
    }
    __syncthreads();
    if (t < places) {
      u64 sum = 0;
      for (int i = 0; i < warps; ++i) sum += of_warps[i][t];
      partial[index * gridDim.x + blockIdx.x][t] = sum;
      __threadfence();
    }
    __syncthreads();
    if (!is_last_block(&tickets[index], gridDim.x)) continue;

    const int dx = t % 3 - 1, dy = t / 3 - 1;
    if (t < places && (!dx || there.x) && (!dy || there.y)) {
      const volatile u64* sums = &partial[index * gridDim.x][t];
      u64 product = 0;
      for (int i = 0; i < static_cast<int>(gridDim.x); ++i) product += sums[i * places];
      const std::int64_t window = std::int64_t{at.y + dy} * c.shifts.width + at.x + dx;
      using T = std::int64_t;
      const RightSums& right = right_sums[r];
      scores[t] = score(p.method,
                        WindowTerms<T>{c.right.area(), static_cast<T>(product), window_sums[window],
                                       static_cast<T>(window_squares[window]),
                                       static_cast<T>(right.sum), static_cast<T>(right.squares)});
    }
    __syncthreads();
    if (t == 0) {
      const Offset offset = subpixel_offset(scores, there.x, there.y, minimum);
      peaks[index] = {scores[places / 2], offset.dx, offset.dy, at.x, at.y};
    }
    __syncthreads();  // shared memory is written anew
  }
}

std::size_t workspace(const MatchProblem& p, const Device&) {
  return sizeof(u64) * places * blocks_of(p.correlate) * p.correlate.rights * p.max_peaks;
}

Result<std::unique_ptr<PlanState>> plan(const MatchProblem& p, const Device&) {
  return Tickets::make(std::int64_t{p.correlate.rights} * p.max_peaks);
}

Status launch(const MatchProblem& p, const Device& device, const Buffers& b, PlanState* state) {
  const dim3 grid(blocks_of(p.correlate), p.max_peaks, grid_extent(b.right_count));
  return enqueue_early(device, "refine_bytes", refine_bytes, grid, threads, 0, b.stream, p,
                       info(p.method).minimum, static_cast<const std::byte*>(b.lefts),
                       static_cast<const std::byte*>(b.templates), b.right_sums, b.first_right,
                       b.right_count, static_cast<const std::uint32_t*>(b.window_sums),
                       static_cast<const u64*>(b.window_squares), b.candidates, b.counts,
                       static_cast<const Tickets*>(state)->counters(),
                       static_cast<u64(*)[places]>(b.workspace), b.peaks, b.peak_counts);
}

bool supports(const MatchProblem& p, const Device& device) {
  return supports_matching(p, device) && p.correlate.type == ElementType::u8 &&
         p.correlate.right.width <= most_columns;
}

constexpr Variant table[] = {
    {"refine_bytes", Stage::refine, Backend::cuda, true, supports, workspace, launch, plan},
};

}  // namespace

Family refine_bytes_family() { return table; }

}  // namespace xcorr::cuda
