// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage edge_refine, in plain loops and double precision: gradients by a
// convolution with 5 x 5 weights, steps by the normal equations of all unknowns.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "stages/poses/edge_refine.hpp"

namespace xcorr::cpu {
namespace {

struct Vector {
  double x = 0, y = 0;
};
double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y; }

Vector gradient(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame, int x, int y) {
  constexpr int along[] = {1, 4, 6, 4, 1}, across[] = {-1, -2, 0, 2, 1};
  Vector longest;
  for (int plane = 0; plane < p.planes; ++plane) {
    Vector here;
    for (int j = 0; j < 5; ++j)
      for (int i = 0; i < 5; ++i) {
        const int pixel =
            frame[plane * p.plane + std::clamp(y + j - 2, 0, p.frame.height - 1) * p.pitch +
                  std::clamp(x + i - 2, 0, p.frame.width - 1)];
        here.x += across[i] * along[j] * pixel;
        here.y += along[i] * across[j] * pixel;
      }
    if (plane == 0 || dot(here, here) > dot(longest, longest)) longest = here;
  }
  return longest;
}

Vector between(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame, double x, double y) {
  const int left = static_cast<int>(std::floor(x)), top = static_cast<int>(std::floor(y));
  Vector sum;
  for (int i = 0; i < 4; ++i) {
    const int u = left + i % 2, v = top + i / 2;
    const Vector here = gradient(p, frame, u, v);
    const double weight = (1 - std::abs(x - u)) * (1 - std::abs(y - v));
    sum.x += weight * here.x;
    sum.y += weight * here.y;
  }
  return sum;
}

std::optional<double> edge_across(const stage::EdgeRefine::Problem& p, const std::uint8_t* frame,
                                  double x, double y, const Vector& normal, int reach) {
  const auto there = [&](double s) {
    return between(p, frame, x + s * normal.x, y + s * normal.y);
  };
  const auto length_at = [&](int s) {
    const double length = dot(there(s), normal);
    return p.rule.doubled ? std::abs(length) : p.rule.inverted ? -length : length;
  };
  int best = -reach;
  for (int s = -reach; s <= reach; ++s)
    if (length_at(s) > length_at(best)) best = s;
  const double before = length_at(best - 1), top = length_at(best), after = length_at(best + 1);
  if (top < before || top < after || top <= 0) return {};
  const double bend = before - 2 * top + after;
  const double s = best + (bend < 0 ? std::clamp((before - after) / (2 * bend), -0.5, 0.5) : 0);
  const Vector edge = there(s);
  const double square = dot(edge, edge), length = dot(edge, normal);
  if (square < p.rule.least || std::abs(length) < 0.8 * std::sqrt(square)) return {};
  return s;
}

PoseRefinement refined(const stage::EdgeRefine::Problem& p, const stage::EdgeRefine::Buffers& b,
                       const RefinedPose& start) {
  RefinedPose pose = start;
  double angle = std::atan2(start.sine, start.cosine);
  const double first = angle, unit = p.radius * start.scale;
  for (const auto& [reach, none] :
       {std::pair(2, 3.0), {2, 2.5}, {1, 2.0}, {1, 1.0}, {1, 0.7}, {1, 0.7}}) {
    double matrix[4][5] = {};
    int found = 0;
    for (int k = 0; k < p.points; ++k) {
      const auto& [u, v, across, down] = b.points[k];
      const double c = std::cos(angle), s = std::sin(angle);
      const double x = pose.scale * (c * u + s * v), y = pose.scale * (c * v - s * u);
      const Vector normal{c * across + s * down, c * down - s * across};
      const auto distance = edge_across(p, b.frame, pose.x + x, pose.y + y, normal, reach);
      if (!distance) continue;
      ++found;
      const double share = *distance / none, weight = std::pow(std::max(0.0, 1 - share * share), 2);
      const double row[] = {normal.x, normal.y, (normal.x * y - normal.y * x) / unit,
                            (normal.x * x + normal.y * y) / unit, *distance};
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 5; ++j) matrix[i][j] += weight * row[i] * row[j];
    }
    if (found < p.least_found) return {start, 0};
    double most = 0;
    for (int i = 0; i < 4; ++i) most = std::max(most, matrix[i][i]);
    for (int i = 0; i < 4; ++i) {
      matrix[i][i] += 1e-3 * most;
      if (i < 2 || (i == 2 ? p.freedom.turns : p.freedom.scales)) continue;
      for (int j = 0; j < 4; ++j) matrix[i][j] = matrix[j][i] = i == j;
      matrix[i][4] = 0;
    }
    for (int i = 0; i < 4; ++i)  // Gauss and Jordan's
      for (int k = 0; k < 4; ++k) {
        const double factor = k == i ? 0 : matrix[k][i] / matrix[i][i];
        for (int j = i; j < 5; ++j) matrix[k][j] -= factor * matrix[i][j];
      }
    const auto moved = [&](int i) { return matrix[i][4] / matrix[i][i]; };
    pose.x += moved(0);
    pose.y += moved(1);
    angle += moved(2) / unit;
    pose.cosine = std::cos(angle);
    pose.sine = std::sin(angle);
    pose.scale *= 1 + std::clamp(moved(3) / unit, -0.1, 0.1);
    if (std::abs(pose.x - start.x) > 2 || std::abs(pose.y - start.y) > 2 ||
        std::abs(angle - first) * unit > 3 || std::abs(pose.scale - start.scale) * p.radius > 3)
      return {start, 0};
  }
  return {pose, 1};
}

Status edge_refine(const stage::EdgeRefine::Problem& p, const Device&,
                   const stage::EdgeRefine::Buffers& b, PlanState*) {
  for (int i = 0; i < p.count; ++i)
    b.refinements[i] = b.starts[i].scale == 0 ? PoseRefinement{} : refined(p, b, b.starts[i]);
  return {};
}

constexpr Variant<stage::EdgeRefine> table[] = {
    {{.name = "reference", .backend = Backend::cpu, .features = {Feature::u8, Feature::planes}},
     {.launch = edge_refine}},
};

}  // namespace

Family reference_edge_refine_family() { return Family(table); }

}  // namespace xcorr::cpu
