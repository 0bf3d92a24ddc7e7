// SPDX-License-Identifier: LGPL-2.1-or-later
//
// refine for 8-bit pixels in one launch: products at a candidate's nine places at once, for which a
// row of the left is loaded once and kept for three rows of the template; the other sums are those
// of the windows, which exist already. Some blocks share a candidate's rows, and the last of them
// to be done makes scores of the sums and places the peak. There are few blocks, each runs through
// its code once, and fetching code takes longer than running it: so loops stay rolled.
#include "../score.hpp"
#include "element.cuh"
#include "launch.cuh"
#include "neighbours.cuh"
#include "tickets.cuh"
#include "warp.cuh"

namespace xcorr::cuda {
namespace {

using u64 = unsigned long long;

constexpr int threads = 512, warps = threads / 32, places = 9;
constexpr int rows_of_warp = 4, rows_of_block = warps * rows_of_warp;

/// The share of a warp: 32 bits hold its sums.
constexpr int most_columns = widest_u8_row / rows_of_warp;

int blocks_of(const Problem& p) { return ceil_div(p.right.height, rows_of_block); }

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

/// A block's products, for the first threads each one of them; ends with a barrier.
__device__ u64 sum_of_block(const unsigned (&products)[places]) {
  __shared__ unsigned of_warps[warps][places];
#pragma unroll
  for (int k = 0; k < places; ++k) {
    const unsigned sum = warp_sum(products[k]);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32][k] = sum;
  }
  __syncthreads();
  u64 sum = 0;
  if (threadIdx.x < places)
    for (int i = 0; i < warps; ++i) sum += of_warps[i][threadIdx.x];
  __syncthreads();  // of_warps is written anew by the next call
  return sum;
}

/// The sum of `mine` over the blocks that share a candidate, for the last of them to be done; the
/// others return false. `partial`: of these blocks.
__device__ bool add_blocks(u64& mine, unsigned* ticket, u64 (*partial)[places]) {
  if (gridDim.x == 1) return true;
  const bool counts = threadIdx.x < places;
  if (counts) {
    partial[blockIdx.x][threadIdx.x] = mine;
    __threadfence();
  }
  __syncthreads();
  if (!is_last_block(ticket, gridDim.x)) return false;
  if (counts) {
    const volatile u64* sums = &partial[0][threadIdx.x];
    mine = 0;
    for (int i = 0; i < static_cast<int>(gridDim.x); ++i) mine += sums[i * places];
  }
  return true;
}

/// Grid: blocks that share a candidate, candidates of a right, rights. `partial`: for each of these
/// blocks.
template <class Squares>
__global__ void __launch_bounds__(threads, 1)
    refine_bytes(MatchProblem p, bool minimum, const std::byte* left, const std::byte* templates,
                 const RightSums* right_sums, int first_right, int right_count,
                 const std::uint32_t* window_sums, const Squares* window_squares,
                 const Candidate* candidates, const std::uint32_t* counts, unsigned* tickets,
                 u64 (*partial)[places], RefinedPeak* peaks, std::uint32_t* peak_counts) {
  __shared__ double scores[places];
  const Problem& c = p.correlate;
  const int t = threadIdx.x, dx = t % 3 - 1, dy = t / 3 - 1;
  const int begin = blockIdx.x * rows_of_block + t / 32 * rows_of_warp;
  wait_for_previous();
  for (int r = first_right + blockIdx.z; r < first_right + right_count; r += gridDim.z) {
    const std::int64_t index = std::int64_t{r} * p.max_peaks + blockIdx.y;
    const std::uint32_t count = counts[r];
    const Candidate at = candidates[index];  // spoiled where there is none
    if (blockIdx.x == 0 && blockIdx.y == 0 && t == 0) peak_counts[r] = count;
    if (blockIdx.y >= count) continue;
    const Neighbours there(p, at);
    // This thread's place, and what is known of its window, asked for early.
    const bool scores_place = t < places && (!dx || there.x) && (!dy || there.y);
    const std::int64_t window =
        scores_place ? std::int64_t{at.y + dy} * c.shifts.width + at.x + dx : 0;
    const std::uint32_t window_sum = window_sums[window];
    const Squares window_square = window_squares[window];
    const RightSums right = right_sums[r];

    unsigned products[places] = {};
    if (begin < c.right.height)
      add_rows(products, c, left + (c.shifts.y + at.y) * c.left_pitch + c.shifts.x + at.x,
               templates + r * c.right_stride, begin, min(begin + rows_of_warp, c.right.height),
               there);
    u64 product = sum_of_block(products);
    if (!add_blocks(product, &tickets[index], partial + index * gridDim.x)) continue;
    if (scores_place) {
      using T = std::int64_t;
      scores[t] =
          score(p.method, WindowTerms<T>{c.right.area(), static_cast<T>(product), window_sum,
                                         static_cast<T>(window_square), static_cast<T>(right.sum),
                                         static_cast<T>(right.squares)});
    }
    __syncthreads();
    if (t == 0) {
      const Offset offset = subpixel_offset(scores, there.x, there.y, minimum);
      peaks[index] = {scores[places / 2], offset.dx, offset.dy, at.x, at.y};
    }
    __syncthreads();  // scores are written anew
  }
}

std::size_t workspace(const MatchProblem& p, const Device&) {
  return sizeof(u64) * places * blocks_of(p.correlate) * p.correlate.rights * p.max_peaks;
}

Result<std::unique_ptr<PlanState>> plan(const MatchProblem& p, const Device&) {
  return Tickets::make(std::int64_t{p.correlate.rights} * p.max_peaks);
}

template <class Squares>
Status launch_as(const MatchProblem& p, const Device& device, const Buffers& b, PlanState* state) {
  const dim3 grid(blocks_of(p.correlate), p.max_peaks, grid_extent(b.right_count));
  return enqueue_early(device, "refine_bytes", refine_bytes<Squares>, grid, threads, 0, b.stream, p,
                       info(p.method).minimum, static_cast<const std::byte*>(b.lefts),
                       static_cast<const std::byte*>(b.templates), b.right_sums, b.first_right,
                       b.right_count, static_cast<const std::uint32_t*>(b.window_sums),
                       static_cast<const Squares*>(b.window_squares), b.candidates, b.counts,
                       static_cast<const Tickets*>(state)->counters(),
                       static_cast<u64(*)[places]>(b.workspace), b.peaks, b.peak_counts);
}

Status launch(const MatchProblem& p, const Device& device, const Buffers& b, PlanState* state) {
  return p.correlate.output_type() == ElementType::u64
             ? launch_as<u64>(p, device, b, state)
             : launch_as<std::uint32_t>(p, device, b, state);
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
