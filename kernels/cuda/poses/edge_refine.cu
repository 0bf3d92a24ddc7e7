// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses on edges on the GPU: a block takes all steps of a pose, whose threads share the template's
// points. Each point reads dozens of gradients in every step, so those of the part of the frame
// that the steps may reach are made first, in shared memory; where there is too little of it, they
// are made of the pixels each time.
#include <algorithm>

#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/shared_budget.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/poses/edge_refine.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256;
/// What block_sums() has for the sums of a block.
using OwnSums = double[EdgeEquations::count][threads / 32];
/// Rows that a thread walks down, with what its column needs of the rows before in registers.
constexpr int strip = 8;

/// A pixel's gradient, whose parts have 16 bits.
struct PackedGradient {
  std::int16_t x, y;
};

/// Makes the gradients of a part, row by row. Called by the whole block.
__device__ void make_gradients(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame,
                               const Rect& part, PackedGradient* to) {
  constexpr int taps = 2 * gradient_radius + 1;
  const auto inside = [](int i, int length) { return min(max(i, 0), length - 1); };
  const int items = part.width * ceil_div(part.height, strip);
  XCORR_ROLL
  for (int item = threadIdx.x; item < items; item += threads) {
    const int x = item % part.width, top = item / part.width * strip,
              rows = min(strip, part.height - top);
    int columns[taps];
#pragma unroll
    for (int u = 0; u < taps; ++u)
      columns[u] = inside(part.x + x + u - gradient_radius, p.frame.width);
    XCORR_ROLL
    for (int plane = 0; plane < p.planes; ++plane) {
      int smooths[taps] = {}, slopes[taps] = {};  // of the last rows
      XCORR_ROLL
      for (int j = 0; j < rows + taps - 1; ++j) {
        const std::uint8_t* const row =
            frame + plane * p.plane +
            inside(part.y + top + j - gradient_radius, p.frame.height) * p.pitch;
#pragma unroll
        for (int v = 1; v < taps; ++v) {
          smooths[v - 1] = smooths[v];
          slopes[v - 1] = slopes[v];
        }
        const auto pixel = [&](int u) -> int { return row[columns[u]]; };
        smooths[taps - 1] = edge_smooth(pixel);
        slopes[taps - 1] = edge_slope(pixel);
        if (j < taps - 1) continue;
        PackedGradient& made = to[(top + j - (taps - 1)) * part.width + x];
        LongestGradient longest;
        if (plane > 0) longest.take(made.x, made.y);
        longest.take(edge_smooth([&](int v) { return slopes[v]; }),
                     edge_slope([&](int v) { return smooths[v]; }));
        made = {static_cast<std::int16_t>(longest.x), static_cast<std::int16_t>(longest.y)};
      }
    }
  }
  __syncthreads();
}

/// Takes all steps from there with such gradients.
template <class Gradients>
__device__ PoseRefinement refined(const stage::EdgeRefine::Problem& p,
                                  const stage::EdgeRefine::Buffers& b, const RefinedPose& start,
                                  const Gradients& gradients) {
  EdgeRefineSteps steps(start, p.radius);  // all threads take the same ones
  XCORR_ROLL
  for (int step = 0; step < EdgeRefineSteps::count; ++step) {
    EdgeEquations sums;
    XCORR_ROLL
    for (int k = threadIdx.x; k < p.points; k += threads)
      steps.add(b.points[k], gradients, EdgeRefineSteps::step(step), p.rule, sums);
    block_sums<threads / 32>(sums.of);
    if (!steps.take(sums, p.least_found, p.freedom)) break;
  }
  return steps.result();
}

/// `room`: for so many gradients.
__global__ void __launch_bounds__(threads, 1)
    edge_refine(stage::EdgeRefine::Problem p, stage::EdgeRefine::Buffers b, int room) {
  auto* const made = dynamic_shared<PackedGradient>();
  wait_for_previous();
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    const RefinedPose start = b.starts[i];
    PoseRefinement result = {};
    if (start.scale != 0) {
      const Rect part = EdgeRefineSteps::around(start, p.farthest);
      if (part.size().area() <= room) {
        make_gradients(p, b.frame, part, made);
        const auto gradient_at = [&](int x, int y) {
          const PackedGradient& at = made[y * part.width + x];
          return EdgeVector{float(at.x), float(at.y)};
        };
        result = refined(p, b, start, EdgeGradients(part, gradient_at));
      } else {
        const auto gradient_at = [&](int x, int y) {
          return p.gradient(b.frame, part.x + x, part.y + y);
        };
        result = refined(p, b, start, EdgeGradients(part, gradient_at));
      }
    }
    if (threadIdx.x == 0) b.refinements[i] = result;
    __syncthreads();  // the next pose overwrites what is shared
  }
}

Status launch(const stage::EdgeRefine::Problem& p, const Device& device,
              const stage::EdgeRefine::Buffers& b, PlanState*) {
  // For parts as large as the template and, if there is room, for larger ones.
  constexpr double largest = 1.5;
  const Rect part = EdgeRefineSteps::around({.scale = largest}, p.farthest);
  const auto wanted = static_cast<std::size_t>(part.size().area()) * sizeof(PackedGradient);
  const std::size_t bytes =
      std::min(wanted, max_shared_bytes(device) - own_shared_bytes<OwnSums>());
  return enqueue_early(device, "edge_refine", edge_refine, dim3(grid_extent(p.count)),
                       dim3(threads), bytes, b.stream, p, b,
                       static_cast<int>(bytes / sizeof(PackedGradient)));
}

constexpr Variant<stage::EdgeRefine> table[] = {
    {{.name = "edge_refine", .backend = Backend::cuda, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family edge_refine_family() { return Family(table); }

}  // namespace xcorr::cuda
