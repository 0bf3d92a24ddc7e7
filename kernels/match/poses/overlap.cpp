// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/overlap.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <numeric>
#include <vector>

#include <xcorr/match.hpp>

namespace xcorr {
namespace {

using Polygon = std::vector<Corner>;

/// Twice the area of the triangle; its sign says on which side of the line from a to b c lies.
double side_of(Corner a, Corner b, Corner c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// What of the polygon lies on the inner side of the line: a step of Sutherland and Hodgman's
/// clipping.
Polygon clipped(const Polygon& polygon, Corner a, Corner b) {
  Polygon kept;
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Corner from = polygon[i], to = polygon[(i + 1) % polygon.size()];
    const double before = side_of(a, b, from), after = side_of(a, b, to);
    if (before >= 0) kept.push_back(from);
    if ((before >= 0) != (after >= 0)) {
      const double share = before / (before - after);
      kept.push_back({from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)});
    }
  }
  return kept;
}

double area_of(const Polygon& polygon) {
  double twice = 0;
  for (std::size_t i = 2; i < polygon.size(); ++i)
    twice += side_of(polygon[0], polygon[i - 1], polygon[i]);
  return 0.5 * twice;
}

/// Keeps those peaks that `is_kept` accepts. It is asked about the most similar one first; the
/// order stays.
template <class IsKept>
void keep_in_order(std::vector<Peak>& peaks, IsKept is_kept) {
  std::vector<std::size_t> by_similarity(peaks.size());
  std::iota(by_similarity.begin(), by_similarity.end(), 0);
  std::ranges::stable_sort(by_similarity, std::ranges::greater{},
                           [&](std::size_t i) { return peaks[i].similarity; });
  std::vector<bool> stays(peaks.size());
  for (const std::size_t i : by_similarity) stays[i] = is_kept(peaks[i]);
  std::size_t i = 0;
  std::erase_if(peaks, [&](const Peak&) { return !stays[i++]; });
}

/// Whether one of those of other templates lies there.
bool is_suppressed(const Peak& peak, const std::vector<Peak>& by, double max_overlap) {
  return std::ranges::any_of(by, [&](const Peak& other) {
    return other.template_index != peak.template_index &&
           overlap_of(other.pose, peak.pose) > max_overlap;
  });
}

}  // namespace

std::array<Corner, 4> corners_of(const Pose& pose) {
  const double angle = pose.angle * std::numbers::pi / 180;
  const double cosine = std::cos(angle), sine = std::sin(angle);
  const auto corner = [&](double u, double v) {
    return Corner{pose.center_x + cosine * u * pose.width + sine * v * pose.height,
                  pose.center_y - sine * u * pose.width + cosine * v * pose.height};
  };
  return {corner(-0.5, -0.5), corner(0.5, -0.5), corner(0.5, 0.5), corner(-0.5, 0.5)};
}

void keep_best_templates(std::vector<Peak>& peaks, double max_overlap) {
  std::vector<Peak> kept;
  keep_in_order(peaks, [&](const Peak& peak) {
    const bool is_best = !is_suppressed(peak, kept, max_overlap);
    if (is_best) kept.push_back(peak);
    return is_best;
  });
}

void keep_best_samples(std::vector<Peak>& peaks, std::span<const std::uint32_t> things,
                       double max_overlap, int max_peaks) {
  std::vector<std::vector<Peak>> kept(things.size());
  keep_in_order(peaks, [&](const Peak& peak) {
    std::vector<Peak>& of_thing = kept[things[peak.template_index]];
    const bool is_best =
        std::ssize(of_thing) < max_peaks && !is_suppressed(peak, of_thing, max_overlap);
    if (is_best) of_thing.push_back(peak);
    return is_best;
  });
}

double overlap_of(const Pose& a, const Pose& b) {
  const double smaller = std::min(a.width * a.height, b.width * b.height);
  const double reach = 0.5 * (std::hypot(a.width, a.height) + std::hypot(b.width, b.height));
  if (!(smaller > 0) || std::hypot(a.center_x - b.center_x, a.center_y - b.center_y) >= reach)
    return 0;
  const auto first = corners_of(a), edges = corners_of(b);
  Polygon common(first.begin(), first.end());
  for (std::size_t i = 0; i < edges.size(); ++i)
    common = clipped(common, edges[i], edges[(i + 1) % edges.size()]);
  return area_of(common) / smaller;
}

}  // namespace xcorr
