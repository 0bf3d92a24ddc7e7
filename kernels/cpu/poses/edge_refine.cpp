// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses on edges on the CPU, one task per pose, which has the gradients of the part of the frame
// that its steps may read.
#include "stages/poses/edge_refine.hpp"

#include <algorithm>
#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

/// The gradients of a part of the frame, row by row.
std::vector<EdgeVector> gradients_in(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame,
                                     const Rect& part) {
  constexpr int r = gradient_radius;
  const int columns = part.width + 2 * r;
  std::vector<LongestGradient> longest(part.size().area());
  std::vector<int> smooth(columns), slope(columns);
  for (int plane = 0; plane < p.planes; ++plane, frame += p.plane)
    for (int y = 0; y < part.height; ++y) {
      for (int x = 0; x < columns; ++x) {
        const int u = std::clamp(part.x + x - r, 0, p.frame.width - 1);
        const auto at = [&](int k) -> int {
          return frame[std::clamp(part.y + y + k - r, 0, p.frame.height - 1) * p.pitch + u];
        };
        smooth[x] = edge_smooth(at);
        slope[x] = edge_slope(at);
      }
      for (int x = 0; x < part.width; ++x)
        longest[std::int64_t{y} * part.width + x].take(
            edge_slope([&](int k) { return smooth[x + k]; }),
            edge_smooth([&](int k) { return slope[x + k]; }));
    }
  std::vector<EdgeVector> made;
  made.reserve(longest.size());
  for (const LongestGradient& one : longest) made.push_back(one.vector());
  return made;
}

PoseRefinement refined(const stage::EdgeRefine::Problem& p, const stage::EdgeRefine::Buffers& b,
                       const RefinedPose& start) {
  if (start.scale == 0) return {};
  const Rect part = EdgeRefineSteps::around(start, p.farthest);
  const std::vector<EdgeVector> all = gradients_in(p, b.frame, part);
  const EdgeGradients gradients(part, [&](int x, int y) -> const EdgeVector& {
    return all[std::int64_t{y} * part.width + x];
  });
  EdgeRefineSteps steps(start, p.radius);
  for (int i = 0; i < EdgeRefineSteps::count; ++i) {
    const EdgeRefineMap map = steps.map();
    EdgeEquations sums;
    sums.clear();
    for (int k = 0; k < p.points; ++k)
      map.add(b.points[k], gradients, EdgeRefineSteps::step(i), p.rule, sums);
    if (!steps.take(sums, p.least_found, p.freedom)) break;
  }
  return steps.result();
}

Status launch(const stage::EdgeRefine::Problem& p, const Device&,
              const stage::EdgeRefine::Buffers& b, PlanState*) {
  parallel_for(0, p.count, [&](int i) { b.refinements[i] = refined(p, b, b.starts[i]); });
  return {};
}

constexpr Variant<stage::EdgeRefine> table[] = {
    {{.name = "edge_refine", .backend = Backend::cpu, .features = {Feature::u8, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family edge_refine_family() { return Family(table); }

}  // namespace xcorr::cpu
