// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peaks of surfaces of scores in two launches. In the first, threads test every shift: one that
// reaches the limit and is not beaten by its eight neighbours joins a list. Two members of a list
// are never adjacent, which bounds its length. The second takes the peaks from each list.
#include "cuda/match/nms.cuh"
#include "stages/match/peaks.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int block_width = 32, block_height = 8, block_size = block_width * block_height;
constexpr int rows = 4;  // per thread, one below the other
constexpr int tile_height = block_height * rows;

/// Scores of which the greatest is the best.
struct Surface {
  const float* scores;
  int width, height;
  float sign;

  /// Outside, less than any score.
  __device__ float at(int x, int y) const {
    if (x < 0 || y < 0 || x >= width || y >= height) return -INFINITY;
    return inside_at(x, y);
  }
  __device__ float inside_at(int x, int y) const {
    return sign * scores[std::int64_t{y} * width + x];
  }
};

/// A thread's shifts, one below the other, with all their neighbours.
struct Neighbourhood {
  float of[3][rows + 2];  ///< columns of scores

  template <class Load>
  __device__ void load_others(Load load) {
#pragma unroll
    for (int j = 0; j < rows + 2; ++j) {
      of[0][j] = load(-1, j - 1);
      of[2][j] = load(1, j - 1);
    }
    of[1][0] = load(0, -1);
    of[1][rows + 1] = load(0, rows);
  }
  /// Whether any of the eight neighbours beats the j-th shift: of equal ones the earlier does.
  __device__ bool beats(int j) const {
    const float *left = of[0] + j, *here = of[1] + j, *right = of[2] + j;
    const float earlier = fmaxf(fmaxf(left[0], here[0]), fmaxf(right[0], left[1]));
    const float later = fmaxf(fmaxf(left[2], here[2]), fmaxf(right[2], right[1]));
    return earlier >= here[1] || later > here[1];
  }
};

/// The shifts of a thread, from (x, y) down, that reach the limit and are not beaten. A bit for
/// each.
__device__ unsigned peaks_of_thread(const Surface& surface, int x, int y, float limit) {
  Neighbourhood near;
  unsigned reached = 0;
#pragma unroll
  for (int j = 0; j < rows; ++j) {
    near.of[1][j + 1] = surface.at(x, y + j);
    if (near.of[1][j + 1] >= limit) reached |= 1u << j;
  }
  if (!reached) return 0;
  if (x > 0 && y > 0 && x + 1 < surface.width && y + rows < surface.height)
    near.load_others([&](int i, int j) { return surface.inside_at(x + i, y + j); });
  else
    near.load_others([&](int i, int j) { return surface.at(x + i, y + j); });
#pragma unroll
  for (int j = 0; j < rows; ++j)
    if (near.beats(j)) reached &= ~(1u << j);
  return reached;
}

__global__ void __launch_bounds__(block_size)
    list_peaks(stage::Peaks::Problem p, bool minimum, const float* scores, int first_right,
               int right_count, const TemplateSums* template_sums, PeakLists lists) {
  const Rect area = p.correlate.shifts;
  const int x = blockIdx.x * block_width + threadIdx.x;
  const int y = blockIdx.y * tile_height + threadIdx.y * rows;
  __shared__ float limit;
  for (int r = blockIdx.z; r < right_count; r += gridDim.z) {
    if (threadIdx.x == 0 && threadIdx.y == 0)
      limit = static_cast<float>(
          score_limit(p.method, p.threshold, double(p.pixels()),
                      sums_of_right(p.correlate, template_sums, first_right + r)));
    __syncthreads();
    const Surface surface{scores + r * area.size().area(), area.width, area.height,
                          minimum ? -1.0F : 1.0F};
    unsigned peaks = peaks_of_thread(surface, x, y, surface.sign * limit);
    lists.append_by_warp(r, __popc(peaks), [&] {
      const int j = __ffs(static_cast<int>(peaks)) - 1;
      peaks &= peaks - 1;
      const unsigned index = static_cast<unsigned>(y + j) * area.width + x;
      return key_of(surface.scores[index], minimum, index);
    });
    __syncthreads();  // the next limit overwrites it
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
  if (Status s = enqueue("list_peaks", list_peaks, grid, dim3(block_width, block_height), 0,
                         b.stream, p, info(p.method).minimum, b.scores, b.first_right,
                         b.right_count, b.template_sums, lists);
      !s.ok())
    return s;
  return enqueue_take_peaks(p, device, b, lists, SingleShifts(), b.candidates, b.counts);
}

/// An element's index must fit 32 bits.
bool supports(const stage::Peaks::Problem& p, const Device&) {
  return p.correlate.shifts.size().area() < 0xffffffffLL &&
         p.correlate.shifts.height <= 65535LL * tile_height && p.max_peaks <= max_nms_peaks;
}

constexpr Variant<stage::Peaks> table[] = {
    {{.name = "peaks",
      .backend = Backend::cuda,
      .features = match_features | Features(Feature::own_lefts)},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace

Family peaks_family() { return Family(table); }

}  // namespace xcorr::cuda
