// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peaks of surfaces of scores in two launches. In the first, threads test every shift: one that
// reaches the limit and is not beaten by its eight neighbours joins a list. Two members of a list
// are never adjacent, which bounds its length. The second takes the peaks from each list.
#include "cuda/match/greedy.cuh"
#include "stages/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8, block_size = block_width * block_height;
constexpr int rows = 4;  // per thread, block_height apart
constexpr int tile_height = block_height * rows;

struct Surface {
  const float* scores;
  int width, height;
  bool minimum;
  __device__ unsigned index(int x, int y) const { return static_cast<unsigned>(y) * width + x; }
  __device__ float at(int x, int y) const { return scores[index(x, y)]; }
  __device__ Key key(int x, int y) const { return key_of(at(x, y), minimum, index(x, y)); }
};

/// Whether any of the eight neighbours beats the element: of equal ones the earlier does. No early
/// exit, so that a row's loads are in flight at once; elements outside are replaced by the middle
/// one, which does not beat itself.
__device__ bool beaten_nearby(const Surface& s, int x, int y) {
  const float sign = s.minimum ? -1.0f : 1.0f, here = sign * s.at(x, y);
  bool found = false;
#pragma unroll 1
  for (int j = -1; j <= 1; ++j)
#pragma unroll
    for (int i = -1; i <= 1; ++i) {
      const bool there = x + i >= 0 && x + i < s.width && y + j >= 0 && y + j < s.height;
      const float other = sign * s.at(there ? x + i : x, there ? y + j : y);
      const bool earlier = there && (j < 0 || (j == 0 && i < 0));
      found |= other > here || (earlier && other == here);
    }
  return found;
}

__global__ void __launch_bounds__(block_size)
    find_peaks(stage::Peaks::Problem p, bool minimum, const float* scores, int first_right,
               int right_count, const TemplateSums* template_sums, PeakLists lists) {
  const Rect area = p.correlate.shifts;
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y0 = blockIdx.y * tile_height + threadIdx.y;
  if (x >= area.width) return;
  for (int r = blockIdx.z; r < right_count; r += gridDim.z) {
    const Surface surface{scores + r * area.size().area(), area.width, area.height, minimum};
    const auto limit = static_cast<float>(
        score_limit(p.method, p.threshold, double(p.pixels()), template_sums[first_right + r]));
    unsigned reached = 0;
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      const int y = y0 + i * block_height;
      if (y >= area.height) continue;
      const float score = surface.scores[std::int64_t{y} * area.width + x];
      if (minimum ? score <= limit : score >= limit) reached |= 1u << i;
    }
    for (int i = 0; i < rows; ++i) {
      if (!(reached >> i & 1)) continue;
      const int y = y0 + i * block_height;
      if (!beaten_nearby(surface, x, y)) lists.append(r, surface.key(x, y));
    }
  }
}

std::int64_t list_length(const stage::Peaks::Problem& p) {
  return ceil_div(p.correlate.shifts.width, 2LL) * ceil_div(p.correlate.shifts.height, 2LL);
}

std::size_t workspace(const stage::Peaks::Problem& p, const Device&) {
  return PeakLists::bytes(list_length(p), p.max_rights());
}

Status launch(const stage::Peaks::Problem& p, const Device& device, const stage::Peaks::Buffers& b,
              PlanState*) {
  const Rect area = p.correlate.shifts;
  const PeakLists lists(list_length(p), b.workspace, b.right_count);
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
  return enqueue_take_peaks(p, device, b, lists, SingleShifts(), b.candidates, b.counts);
}

/// An element's index must fit 32 bits.
bool supports(const stage::Peaks::Problem& p, const Device&) {
  return p.correlate.shifts.size().area() < 0xffffffffLL &&
         p.correlate.shifts.height <= 65535LL * tile_height && p.max_peaks <= max_greedy_peaks;
}

constexpr Variant<stage::Peaks> table[] = {
    {{"peaks", Backend::cuda, match_features}, supports, launch, workspace},
};

}  // namespace

Family peaks_family() { return Family(table); }

}  // namespace xcorr::cuda
