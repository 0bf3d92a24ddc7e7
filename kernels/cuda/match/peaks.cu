// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Non-maximum suppression in two launches. In the first, threads test every shift: one that reaches
// the limit and is not beaten by its eight neighbours is checked against its whole neighbourhood by
// all threads of the block, and those that remain join a list. Two members of a list are at least
// the distance apart in x or y, which bounds its length. The second sorts each list (bitonic, in
// shared memory) and keeps the best.
#include "cuda/match/peak_list.cuh"
#include "stages/peaks.hpp"
#include "stages/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8, block_size = block_width * block_height;
constexpr int rows = 4;  // per thread, block_height apart
constexpr int tile_height = block_height * rows;
/// A neighbourhood of no more elements is checked by a warp, a larger one by the block.
constexpr int few = 8 * block_width;
static_assert(block_width == 32, "a row of the block is a warp");
constexpr int sort_threads = 512, sort_size = 2 * max_sorted_peaks;

struct Surface {
  const float* scores;
  int width, height;
  bool minimum;
  __device__ unsigned index(int x, int y) const { return static_cast<unsigned>(y) * width + x; }
  __device__ float at(int x, int y) const { return scores[index(x, y)]; }
  __device__ Key key(int x, int y) const { return key_of(at(x, y), minimum, index(x, y)); }
};

/// Whether any of the eight neighbours within reach beats the element: of equal ones the earlier
/// does. No early exit, so that a row's loads are in flight at once; elements outside are replaced
/// by the middle one, which does not beat itself.
__device__ bool beaten_nearby(const Surface& s, int x, int y, bool across, bool down) {
  const float sign = s.minimum ? -1.0f : 1.0f, here = sign * s.at(x, y);
  bool found = false;
#pragma unroll 1
  for (int j = -1; j <= 1; ++j)
#pragma unroll
    for (int i = -1; i <= 1; ++i) {
      const bool there = (across || i == 0) && (down || j == 0) && x + i >= 0 && x + i < s.width &&
                         y + j >= 0 && y + j < s.height;
      const float other = sign * s.at(there ? x + i : x, there ? y + j : y);
      const bool earlier = there && (j < 0 || (j == 0 && i < 0));
      found |= other > here || (earlier && other == here);
    }
  return found;
}

/// Whether any element within |dx| <= reach_x, |dy| <= reach_y beats `key`, by one warp.
__device__ bool beaten_by_few(const Surface& s, int x, int y, int reach_x, int reach_y, Key key) {
  const int x0 = max(0, x - reach_x), y0 = max(0, y - reach_y);
  const unsigned width = min(s.width - 1, x + reach_x) - x0 + 1;
  const unsigned count = width * (min(s.height - 1, y + reach_y) - y0 + 1);
  bool found = false;
  for (unsigned i = threadIdx.x; i < count; i += block_width)
    found |= s.key(x0 + i % width, y0 + i / width) > key;
  return __any_sync(~0u, found);
}

/// The same by the whole block, several loads of each thread in flight.
__device__ bool beaten(const Surface& s, int x, int y, int reach_x, int reach_y, Key key) {
  constexpr int unroll = 8;
  const int x0 = max(0, x - reach_x), y0 = max(0, y - reach_y);
  const unsigned width = min(s.width - 1, x + reach_x) - x0 + 1;
  const unsigned count = width * (min(s.height - 1, y + reach_y) - y0 + 1);
  const unsigned thread = threadIdx.y * block_width + threadIdx.x;
  for (unsigned base = 0; base < count; base += block_size * unroll) {
    bool found = false;
#pragma unroll
    for (int u = 0; u < unroll; ++u) {
      const unsigned i = base + u * block_size + thread;
      if (i < count) found |= s.key(x0 + i % width, y0 + i / width) > key;
    }
    if (__syncthreads_or(found)) return true;
  }
  return false;
}

__global__ void __launch_bounds__(block_size)
    find_peaks(stage::Peaks::Problem p, bool minimum, const float* scores, int first_right,
               int right_count, const TemplateSums* template_sums, PeakLists lists) {
  __shared__ struct {
    int x, y;
    Key key;
  } survivors[block_size * rows];
  __shared__ int survivor_count;

  const Rect area = p.correlate.shifts;
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y0 = blockIdx.y * tile_height + threadIdx.y;
  const int reach_x = p.distance_x - 1, reach_y = p.distance_y - 1;
  const bool first = threadIdx.x == 0 && threadIdx.y == 0;

  for (int r = blockIdx.z; r < right_count; r += gridDim.z) {
    const Surface surface{scores + r * area.size().area(), area.width, area.height, minimum};
    const auto limit = static_cast<float>(
        score_limit(p.method, p.threshold, double(p.pixels()), template_sums[first_right + r]));
    unsigned reached = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int y = y0 + i * block_height;
      if (x >= area.width || y >= area.height) continue;
      const float score = surface.scores[std::int64_t{y} * area.width + x];
      if (minimum ? score <= limit : score >= limit) reached |= 1u << i;
    }
    if (first) survivor_count = 0;
    if (!__syncthreads_or(reached)) continue;

    for (int i = 0; i < rows; ++i) {
      if (!(reached >> i & 1)) continue;
      const int y = y0 + i * block_height;
      if (!beaten_nearby(surface, x, y, reach_x > 0, reach_y > 0))
        survivors[atomicAdd(&survivor_count, 1)] = {x, y, surface.key(x, y)};
    }
    __syncthreads();
    if ((2 * reach_x + 1) * (2 * reach_y + 1) <= few) {
      for (int i = threadIdx.y; i < survivor_count; i += block_height) {
        const auto [sx, sy, key] = survivors[i];
        if (beaten_by_few(surface, sx, sy, reach_x, reach_y, key)) continue;
        if (threadIdx.x == 0) lists.append(r, key);
      }
      __syncthreads();  // survivors are overwritten
      continue;
    }
    for (int i = 0; i < survivor_count; ++i) {
      const auto [sx, sy, key] = survivors[i];
      if (beaten(surface, sx, sy, reach_x, reach_y, key)) continue;
      if (first) lists.append(r, key);
    }
    __syncthreads();  // survivors are overwritten
  }
}

/// Descending, `size` a power of two.
__device__ void bitonic_sort(Key* keys, int size) {
  for (int run = 2; run <= size; run *= 2)
    for (int step = run / 2; step > 0; step /= 2) {
      for (int i = threadIdx.x; i < size / 2; i += sort_threads) {
        const int low = 2 * i - (i & (step - 1)), high = low + step;
        const bool descending = (low & run) == 0;
        if ((keys[low] < keys[high]) == descending) {
          const Key t = keys[low];
          keys[low] = keys[high];
          keys[high] = t;
        }
      }
      __syncthreads();
    }
}

__global__ void __launch_bounds__(sort_threads)
    sort_lists(stage::Peaks::Problem p, bool minimum, int first_right, PeakLists lists,
               Candidate* candidates, std::uint32_t* counts) {
  __shared__ Key keys[sort_size];
  wait_for_previous();
  const int r = blockIdx.x;
  const Key* list = lists.keys + r * lists.length;
  const unsigned total = lists.found[r];
  const unsigned most = p.max_peaks;
  unsigned kept = 0;
  for (unsigned next = 0; next < total;) {
    const unsigned take = min(total - next, sort_size - kept);
    unsigned size = 2;
    while (size < kept + take) size *= 2;
    for (unsigned i = kept + threadIdx.x; i < size; i += sort_threads)
      keys[i] = i < kept + take ? list[next + i - kept] : 0;
    __syncthreads();
    bitonic_sort(keys, size);
    next += take;
    kept = min(most, kept + take);
  }
  const std::int64_t place = std::int64_t{first_right + r} * p.max_peaks;
  for (unsigned i = threadIdx.x; i < kept; i += sort_threads)
    candidates[place + i] = candidate_of(keys[i], minimum, p.correlate.shifts.width);
  if (threadIdx.x == 0) counts[first_right + r] = kept;
}

std::size_t workspace(const stage::Peaks::Problem& p, const Device&) { return peak_lists_bytes(p); }

Status launch(const stage::Peaks::Problem& p, const Device& device, const stage::Peaks::Buffers& b,
              PlanState*) {
  const Rect area = p.correlate.shifts;
  const PeakLists lists(p, b.workspace, b.right_count);
  if (Status s =
          check(cudaMemsetAsync(lists.found, 0, b.right_count * sizeof(unsigned), native(b.stream)),
                "peaks");
      !s.ok())
    return s;
  const dim3 grid(ceil_div(area.width, block_width), ceil_div(area.height, tile_height),
                  grid_extent(b.right_count));
  if (Status s = enqueue("find_peaks", find_peaks, grid, dim3(block_width, block_height), 0,
                         b.stream, p, info(p.method).minimum, b.scores, b.first_right,
                         b.right_count, b.template_sums, lists);
      !s.ok())
    return s;
  return keep_best(p, device, b, lists, b.candidates, b.counts);
}

/// An element's index must fit 32 bits.
bool supports(const stage::Peaks::Problem& p, const Device&) {
  return p.correlate.shifts.size().area() < 0xffffffffLL &&
         p.correlate.shifts.height <= 65535LL * tile_height && p.max_peaks <= max_sorted_peaks;
}

constexpr Variant<stage::Peaks> table[] = {
    {{"peaks", Backend::cuda, match_features}, supports, launch, workspace},
};

}  // namespace

Status keep_best(const stage::Peaks::Problem& p, const Device& device, const LaunchOfRights& launch,
                 const PeakLists& lists, Candidate* candidates, std::uint32_t* counts) {
  return enqueue_early(device, "sort_lists", sort_lists, launch.right_count, sort_threads, 0,
                       launch.stream, p, info(p.method).minimum, launch.first_right, lists,
                       candidates, counts);
}

Family peaks_family() { return Family(table); }

}  // namespace xcorr::cuda
