// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, one task per pose.
#include "stages/poses/pose_refine.hpp"

#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

/// Calls visit(x, smoothed pixel) for the pixels of a row that take part.
template <class Visit>
void for_row(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b, int plane,
             int y, Visit visit) {
  const SmoothedPixel* const row =
      b.smoothed + (std::int64_t{plane} * p.size.height + y) * p.size.width;
  for (int x = 0; x < p.size.width; ++x)
    if (row[x].counts) visit(x, row[x]);
}

/// Of a plane, with its offset.
template <class T>
PoseRefineMatrix matrix_of(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                           int plane) {
  PoseRefineMatrix matrix;
  matrix.clear();
  for (int y = 0; y < p.size.height; ++y)
    for_row(p, b, plane, y, [&](int x, const SmoothedPixel& pixel) {
      matrix.add_pixel(p.equation<T>(x, y, pixel));
    });
  return matrix;
}

PoseRefineSystem system_of(const stage::PoseRefine::Problem& p,
                           const std::vector<PoseRefineMatrix>& planes) {
  PoseRefineSystem system;
  system.matrix = planes[0];
  if (p.planes > 1) {
    system.matrix.clear();
    for (const PoseRefineMatrix& matrix : planes) system.matrix.add(without_offset(matrix));
  }
  for (int column = 0; column < pose_refine_unknowns; ++column)
    system.has_inverse = system.invert(p.freedom, column);
  return system;
}

template <class T>
PoseRefineRight right_of(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                         int plane, const PoseRefineMap& map) {
  // Single precision has room for the sums of a row of bytes.
  using OfRow = PoseRefineRightOf<std::conditional_t<sizeof(T) == 1, float, double>>;
  const PoseRefineFrame<T> frame = p.pixels<T>(b.frame + plane * p.plane);
  PoseRefineRight sums;
  sums.clear();
  for (int y = 0; y < p.size.height; ++y) {
    OfRow of_row;
    of_row.clear();
    for_row(p, b, plane, y, [&](int x, const SmoothedPixel& pixel) {
      p.add(map, frame, x, y, pixel, ReadEach(), of_row);
    });
    sums.add(of_row);
  }
  return sums;
}

template <class T>
void pose_refine(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b) {
  std::vector<PoseRefineMatrix> planes;
  for (int plane = 0; plane < p.planes; ++plane) planes.push_back(matrix_of<T>(p, b, plane));
  const PoseRefineSystem system = system_of(p, planes);
  const auto right_at = [&](const RefinedPose& pose) {
    const PoseRefineMap map(pose);
    if (p.planes == 1) return right_of<T>(p, b, 0, map);
    PoseRefineRight sums;
    sums.clear();
    for (int plane = 0; plane < p.planes; ++plane)
      sums.add(without_offset(right_of<T>(p, b, plane, map), planes[plane]));
    return sums;
  };
  parallel_for(0, p.count, [&](int i) {
    b.refinements[i] = {};
    if (b.starts[i].scale == 0) return;
    PoseRefineSteps steps(b.starts[i], p.freedom, p.radius());
    for (int step = 0; step < PoseRefineSteps::most; ++step)
      if (!steps.step(system, right_at(steps.pose()))) break;
    b.refinements[i] = steps.result();
  });
}

Status launch(const stage::PoseRefine::Problem& p, const Device&,
              const stage::PoseRefine::Buffers& b, PlanState*) {
  const auto run = p.type == ElementType::u8    ? pose_refine<std::uint8_t>
                   : p.type == ElementType::u16 ? pose_refine<std::uint16_t>
                                                : pose_refine<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::PoseRefine> table[] = {
    {{.name = "pose_refine",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::contrast, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family pose_refine_family() { return Family(table); }

}  // namespace xcorr::cpu
