// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/edge_refine.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "match/edges.hpp"
#include "stages/common/least_squares.hpp"

namespace xcorr {
namespace {

/// Each step seeks the frame's edge so far across the template's, in pixels; an edge has no weight
/// from `none` on: what is farther away is more likely another edge.
struct Step {
  int reach;
  double none;
};
constexpr Step steps[] = {{2, 3}, {2, 2.5}, {1, 2}, {1, 1}, {1, 0.7}, {1, 0.7}};
constexpr int farthest_reach = 2;
/// The cosine of the angle between two gradients of one edge.
constexpr float least_cosine = 0.8F;
/// More points make a pose no better.
constexpr std::size_t most_points = 2000;
/// So many points, and that share of all, must be found in the frame.
constexpr int least_found = 8;
constexpr double least_share = 0.15;
/// How far a place may be from where it began, and what is at the radius be moved: as those of
/// PoseRefineSteps.
constexpr double farthest_place = 2, farthest = 3;
/// In directions in which edges say nothing a pose stays, by that share of what they may say.
constexpr double damping = 1e-3;

struct Vector {
  float x = 0, y = 0;

  float dot(const Vector& other) const { return x * other.x + y * other.y; }
};

/// The gradients of a part of an image, in edge_unit.
class Gradients {
 public:
  Gradients(const EdgeFrame& image, const Rect& part)
      : part_(part), of_(part.width > 0 && part.height > 0 ? part.size().area() : 0) {
    for (int plane = 0; plane < image.planes; ++plane)
      add(image, image.rows + plane * image.plane, plane == 0);
  }

  const Vector& at(int x, int y) const { return of_[std::int64_t{y} * part_.width + x]; }
  /// Between pixels; nothing outside.
  std::optional<Vector> at(float x, float y) const {
    x -= static_cast<float>(part_.x);
    y -= static_cast<float>(part_.y);
    // Not so where one of them is not a number.
    if (!(x >= 0 && y >= 0 && x < static_cast<float>(part_.width - 1) &&
          y < static_cast<float>(part_.height - 1)))
      return std::nullopt;
    const int left = static_cast<int>(x), top = static_cast<int>(y);
    const float u = x - static_cast<float>(left), v = y - static_cast<float>(top);
    const auto mixed = [](const Vector& a, const Vector& b, float share) {
      return Vector{a.x + share * (b.x - a.x), a.y + share * (b.y - a.y)};
    };
    return mixed(mixed(at(left, top), at(left + 1, top), u),
                 mixed(at(left, top + 1), at(left + 1, top + 1), u), v);
  }

  /// How far across an edge it is, to either side up to `reach` pixels: where the gradient along
  /// `normal` is longest, if that is an edge of the same direction.
  std::optional<float> edge_across(float x, float y, const Vector& normal, int reach,
                                   const EdgeRule& rule) const {
    std::array<float, 2 * farthest_reach + 3> along{};
    const int count = 2 * reach + 3;
    for (int i = 0; i < count; ++i) {
      const auto s = static_cast<float>(i - reach - 1);
      const auto here = at(x + s * normal.x, y + s * normal.y);
      if (!here) return std::nullopt;
      const float length = here->dot(normal);
      along[i] = rule.doubled ? std::abs(length) : rule.inverted ? -length : length;
    }
    const int best = static_cast<int>(
        std::max_element(along.begin() + 1, along.begin() + count - 1) - along.begin());
    const float before = along[best - 1], top = along[best], after = along[best + 1];
    if (!(top >= before && top >= after && top > 0)) return std::nullopt;
    const float bend = before - 2 * top + after;
    const float part = bend < 0 ? std::clamp(0.5F * (before - after) / bend, -0.5F, 0.5F) : 0;
    const float s = static_cast<float>(best - reach - 1) + part;
    const auto there = at(x + s * normal.x, y + s * normal.y);
    if (!there) return std::nullopt;
    const float square = there->dot(*there), length = there->dot(normal);
    if (square < static_cast<float>(rule.least) ||
        length * length < least_cosine * least_cosine * square)
      return std::nullopt;
    return s;
  }

 private:
  /// Those of a plane where they are longer.
  void add(const EdgeFrame& image, const std::uint8_t* rows, bool is_first) {
    constexpr int r = gradient_radius;
    const int columns = part_.width + 2 * r;
    std::vector<int> smooth(columns), slope(columns);
    for (int y = 0; y < part_.height && !of_.empty(); ++y) {
      for (int x = 0; x < columns; ++x) {
        const int u = std::clamp(part_.x + x - r, 0, image.size.width - 1);
        const auto at = [&](int k) -> int {
          return rows[std::clamp(part_.y + y + k - r, 0, image.size.height - 1) * image.pitch + u];
        };
        smooth[x] = edge_smooth(at);
        slope[x] = edge_slope(at);
      }
      for (int x = 0; x < part_.width; ++x) {
        const int across = edge_slope([&](int k) { return smooth[x + k]; }),
                  down = edge_smooth([&](int k) { return slope[x + k]; });
        Vector& longest = of_[std::int64_t{y} * part_.width + x];
        if (is_first ||
            takes_over(across * across + down * down, static_cast<int>(longest.dot(longest))))
          longest = {static_cast<float>(across), static_cast<float>(down)};
      }
    }
  }

  Rect part_;
  std::vector<Vector> of_;
};

constexpr int unknowns = 4;  ///< place, angle, size

/// Sums of the equations  row . unknowns = distance.
struct Equations {
  double matrix[unknowns][unknowns] = {}, right[unknowns] = {};
  int found = 0;

  void add(const std::array<double, unknowns>& row, double distance, double weight) {
    for (int i = 0; i < unknowns; ++i) {
      for (int j = 0; j < unknowns; ++j) matrix[i][j] += weight * row[i] * row[j];
      right[i] += weight * row[i] * distance;
    }
    ++found;
  }
  /// Damped, the matrix is positive definite.
  std::array<double, unknowns> solved(const PoseRefineFreedom& freedom) const {
    double lower[unknowns][unknowns] = {}, solution[unknowns] = {};
    double most = 0;
    for (int i = 0; i < unknowns; ++i) most = std::max(most, matrix[i][i]);
    for (int i = 0; i < unknowns; ++i) {
      for (int j = 0; j <= i; ++j)
        if (freedom.is_free(i) && freedom.is_free(j)) lower[i][j] = matrix[i][j];
      lower[i][i] += freedom.is_free(i) ? damping * most : 1;
      if (freedom.is_free(i)) solution[i] = right[i];
    }
    solve_least_squares(lower, solution);
    return std::to_array(solution);
  }
};

/// The edges of the template that are found in the frame at a pose.
Equations equations_at(const EdgePoints& edges, const Gradients& gradients, const RefinedPose& pose,
                       const Step& step) {
  const double across = pose.scale * pose.cosine, down = pose.scale * pose.sine;
  const double radius = edges.radius() * pose.scale;
  const std::size_t by = std::max<std::size_t>(1, edges.points().size() / most_points);
  EdgeRule rule = edges.rule();
  rule.least = static_cast<std::int32_t>(rule.least * edge_contrast_in_frames *
                                         edge_contrast_in_frames);  // it is a square
  Equations sums;
  for (std::size_t i = 0; i < edges.points().size(); i += by) {
    const auto& [u, v, normal_u, normal_v] = edges.points()[i];
    const double x = across * u + down * v, y = across * v - down * u;
    const double normal_x = pose.cosine * normal_u + pose.sine * normal_v,
                 normal_y = pose.cosine * normal_v - pose.sine * normal_u;
    const auto distance = gradients.edge_across(
        static_cast<float>(pose.x + x), static_cast<float>(pose.y + y),
        {static_cast<float>(normal_x), static_cast<float>(normal_y)}, step.reach, rule);
    if (!distance) continue;
    const double share = *distance / step.none, rest = std::max(0.0, 1 - share * share);  // Tukey's
    sums.add({normal_x, normal_y, (normal_x * y - normal_y * x) / radius,
              (normal_x * x + normal_y * y) / radius},
             *distance, rest * rest);
  }
  return sums;
}

Rect around(const RefinedPose& pose, double radius) {
  const double reach = radius * pose.scale + farthest_place + farthest + farthest_reach + 2;
  const auto whole = [](double value) {
    return static_cast<int>(std::floor(std::clamp(value, -1e6, 1e6)));
  };
  const int side = 2 * whole(reach) + 2;
  return {whole(pose.x - reach), whole(pose.y - reach), side, side};
}

}  // namespace

EdgePoints::EdgePoints(const EdgeFrame& picture, const std::uint8_t* counts, const EdgeRule& rule)
    : rule_(rule),
      planes_(picture.planes),
      radius_(0.25 * (picture.size.width + picture.size.height)) {
  const Size size = picture.size;
  const Gradients gradients(picture, {0, 0, size.width, size.height});
  EdgeRule own = rule;
  own.inverted = false;
  for (int y = edge_radius; y < size.height - edge_radius; ++y)
    for (int x = edge_radius; x < size.width - edge_radius; ++x) {
      if (!counts[std::int64_t{y} * size.width + x]) continue;
      const auto square_at = [&](int dx, int dy) {
        const Vector& there = gradients.at(x + dx, y + dy);
        return static_cast<int>(there.dot(there));
      };
      const Vector& here = gradients.at(x, y);
      if (!is_ridge(static_cast<int>(here.x), static_cast<int>(here.y), rule, square_at)) continue;
      const float length = std::sqrt(here.dot(here));
      const Vector normal{here.x / length, here.y / length};
      const auto offset =
          gradients.edge_across(static_cast<float>(x), static_cast<float>(y), normal, 0, own);
      if (!offset) continue;
      points_.push_back({static_cast<float>(x - 0.5 * (size.width - 1)) + *offset * normal.x,
                         static_cast<float>(y - 0.5 * (size.height - 1)) + *offset * normal.y,
                         normal.x, normal.y});
    }
}

PoseRefinement refined_on_edges(const EdgePoints& edges, const EdgeFrame& frame,
                                const RefinedPose& start, const PoseRefineFreedom& freedom) {
  if (start.scale == 0) return {};
  double radius = 0;
  for (const EdgePoints::Point& point : edges.points())
    radius = std::max<double>(radius, std::hypot(point.u, point.v));
  const Gradients gradients(frame, around(start, radius));
  const double own = edges.radius() * start.scale;
  RefinedPose pose = start;
  double angle = std::atan2(start.sine, start.cosine);
  const double first = angle;
  const double looked_for = static_cast<double>(std::min(edges.points().size(), 2 * most_points));
  for (const Step& step : steps) {
    const Equations sums = equations_at(edges, gradients, pose, step);
    if (sums.found < std::max<double>(least_found, least_share * looked_for)) return {start, 0};
    const auto moved = sums.solved(freedom);
    pose.x += moved[0];
    pose.y += moved[1];
    angle += moved[2] / own;
    pose.cosine = std::cos(angle);
    pose.sine = std::sin(angle);
    pose.scale *= 1 + std::clamp(moved[3] / own, -0.1, 0.1);
    const bool is_near = std::abs(pose.x - start.x) <= farthest_place &&
                         std::abs(pose.y - start.y) <= farthest_place &&
                         std::abs(angle - first) * own <= farthest &&
                         std::abs(pose.scale - start.scale) * edges.radius() <= farthest;
    if (!is_near) return {start, 0};
  }
  return {pose, 1};
}

}  // namespace xcorr
