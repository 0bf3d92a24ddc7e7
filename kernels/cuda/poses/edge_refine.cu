// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses on edges on the GPU: a block takes all steps of a pose, whose threads share the template's
// points. Gradients are made of the pixels where they are needed, which the cache has.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/poses/edge_refine.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256;

__global__ void __launch_bounds__(threads, 1)
    edge_refine(stage::EdgeRefine::Problem p, stage::EdgeRefine::Buffers b) {
  wait_for_previous();
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    const RefinedPose start = b.starts[i];
    if (start.scale == 0) {
      if (threadIdx.x == 0) b.refinements[i] = {};
      continue;
    }
    const Rect part = EdgeRefineSteps::around(start, p.farthest);
    const EdgeGradients gradients(
        part, [&](int x, int y) { return p.gradient(b.frame, part.x + x, part.y + y); });
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
    if (threadIdx.x == 0) b.refinements[i] = steps.result();
  }
}

Status launch(const stage::EdgeRefine::Problem& p, const Device& device,
              const stage::EdgeRefine::Buffers& b, PlanState*) {
  return enqueue_early(device, "edge_refine", edge_refine, dim3(grid_extent(p.count)),
                       dim3(threads), 0, b.stream, p, b);
}

constexpr Variant<stage::EdgeRefine> table[] = {
    {{.name = "edge_refine", .backend = Backend::cuda, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family edge_refine_family() { return Family(table); }

}  // namespace xcorr::cuda
