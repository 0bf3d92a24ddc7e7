// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Least squares on the CPU, one task per pose.
#include "stages/poses/pose_refine.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "cpu/common/common.hpp"

namespace xcorr::cpu {
namespace {

/// Which pixels take part: of those that count those that are 1 here; empty: all of them.
using Part = std::vector<std::uint8_t>;

/// Calls visit(x, smoothed pixel) for the pixels of a row that take part.
template <class Visit>
void for_row(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
             const Part& part, int plane, int y, Visit visit) {
  const std::int64_t first = std::int64_t{y} * p.size.width;
  const SmoothedPixel* const row = b.smoothed + plane * p.size.area() + first;
  for (int x = 0; x < p.size.width; ++x)
    if (row[x].counts && (part.empty() || part[first + x])) visit(x, row[x]);
}

/// Those that the frame has where a pose begins; nothing where it has all.
Part part_in_frame(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                   const RefinedPose& pose) {
  Part part(p.size.area());
  bool is_all = true;
  const double across = pose.scale * pose.cosine, down = pose.scale * pose.sine;
  for (int y = 0; y < p.size.height; ++y)
    for_row(p, b, {}, 0, y, [&](int column, const SmoothedPixel&) {
      const double u = p.u(column), v = p.v(y);
      const double from_x = pose.x + across * u + down * v, from_y = pose.y + across * v - down * u;
      const auto is_in = [&](double place, int length) {
        return place >= p.margin && place <= length - 1 - p.margin;
      };
      const bool has = is_in(from_x, p.frame.width) && is_in(from_y, p.frame.height);
      part[std::int64_t{y} * p.size.width + column] = has;
      is_all = is_all && has;
    });
  // Several times the unknowns, or none.
  if (std::ranges::count(part, 1) < 4 * pose_refine_unknowns) std::ranges::fill(part, 0);
  return is_all ? Part() : part;
}

/// Of a plane, with its offset.
template <class T>
PoseRefineMatrix matrix_of(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                           const Part& part, int plane) {
  PoseRefineMatrix matrix;
  matrix.clear();
  for (int y = 0; y < p.size.height; ++y)
    for_row(p, b, part, plane, y, [&](int x, const SmoothedPixel& pixel) {
      matrix.add_pixel(p.equation<T>(x, y, pixel));
    });
  return matrix;
}

/// The equations of the template's pixels, or of some.
struct Equations {
  Part part;
  std::vector<PoseRefineMatrix> planes;
  PoseRefineSystem system;
};

template <class T>
Equations equations_of(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                       Part part) {
  Equations made{std::move(part), {}, {}};
  for (int plane = 0; plane < p.planes; ++plane)
    made.planes.push_back(matrix_of<T>(p, b, made.part, plane));
  PoseRefineSystem& system = made.system;
  system.matrix = made.planes[0];
  if (p.planes > 1) {
    system.matrix.clear();
    for (const PoseRefineMatrix& matrix : made.planes) system.matrix.add(without_offset(matrix));
  }
  for (int column = 0; column < pose_refine_unknowns; ++column)
    system.has_inverse = system.invert(p.freedom, column);
  return made;
}

template <class T>
PoseRefineRight right_of(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                         const Part& part, int plane, const PoseRefineMap& map) {
  // Single precision has room for the sums of a row of bytes.
  using OfRow = PoseRefineRightOf<std::conditional_t<sizeof(T) == 1, float, double>>;
  const PoseRefineFrame<T> frame = p.pixels<T>(b.frame + plane * p.plane);
  PoseRefineRight sums;
  sums.clear();
  for (int y = 0; y < p.size.height; ++y) {
    OfRow of_row;
    of_row.clear();
    for_row(p, b, part, plane, y, [&](int x, const SmoothedPixel& pixel) {
      p.add(map, frame, x, y, pixel, ReadEach(), of_row);
    });
    sums.add(of_row);
  }
  return sums;
}

template <class T>
PoseRefinement refined(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b,
                       const RefinedPose& start, const Equations& equations) {
  const Part& part = equations.part;
  const std::vector<PoseRefineMatrix>& planes = equations.planes;
  const auto right_at = [&](const RefinedPose& pose) {
    const PoseRefineMap map(pose);
    if (p.planes == 1) return right_of<T>(p, b, part, 0, map);
    PoseRefineRight sums;
    sums.clear();
    for (int plane = 0; plane < p.planes; ++plane)
      sums.add(without_offset(right_of<T>(p, b, part, plane, map), planes[plane]));
    return sums;
  };
  PoseRefineSteps steps(start, p.freedom, p.radius());
  for (int step = 0; step < PoseRefineSteps::most; ++step)
    if (!steps.step(equations.system, right_at(steps.pose()))) break;
  return steps.result();
}

template <class T>
void pose_refine(const stage::PoseRefine::Problem& p, const stage::PoseRefine::Buffers& b) {
  const Equations all = equations_of<T>(p, b, {});
  parallel_for(0, p.count, [&](int i) {
    const RefinedPose& start = b.starts[i];
    b.refinements[i] = {};
    if (start.scale == 0) return;
    Part part;
    if (p.overhang) part = part_in_frame(p, b, start);
    // The matrix of none has no inverse.
    b.refinements[i] =
        refined<T>(p, b, start, part.empty() ? all : equations_of<T>(p, b, std::move(part)));
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
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::contrast, Feature::planes,
                   Feature::overhang}},
     {.launch = launch}},
};

}  // namespace

Family pose_refine_family() { return Family(table); }

}  // namespace xcorr::cpu
