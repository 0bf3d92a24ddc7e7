// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/edge_points.hpp"

#include <algorithm>
#include <cmath>

namespace xcorr {
namespace {

/// So many points, and that share of all, must be found in the frame.
constexpr double least_found = 8, least_share = 0.15;

}  // namespace

EdgePoints edge_points_of(const std::vector<std::uint8_t>& pixels, int planes, Size size,
                          const std::vector<std::uint8_t>& counts, const EdgeRule& rule) {
  stage::EdgeRefine::Problem picture;
  picture.frame = size;
  picture.pitch = size.width;
  picture.planes = planes;
  picture.plane = size.area();
  std::vector<EdgeVector> all;
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) all.push_back(picture.gradient(pixels.data(), x, y));
  const auto at = [&](int x, int y) -> const EdgeVector& {
    return all[std::int64_t{y} * size.width + x];
  };
  const EdgeGradients gradients({0, 0, size.width, size.height}, at);
  EdgeRule own = rule;
  own.inverted = false;
  std::vector<EdgePoint> found;
  for (int y = edge_radius; y < size.height - edge_radius; ++y)
    for (int x = edge_radius; x < size.width - edge_radius; ++x) {
      if (!counts[std::int64_t{y} * size.width + x]) continue;
      const auto square_at = [&](int dx, int dy) {
        const EdgeVector& there = at(x + dx, y + dy);
        return static_cast<int>(there.dot(there));
      };
      const EdgeVector& here = at(x, y);
      if (!is_ridge(static_cast<int>(here.x), static_cast<int>(here.y), rule, square_at)) continue;
      const float length = std::sqrt(here.dot(here));
      const EdgeVector normal{here.x / length, here.y / length};
      float offset = 0;
      if (!gradients.edge_across(static_cast<float>(x), static_cast<float>(y), normal, 0, own,
                                 offset))
        continue;
      found.push_back({static_cast<float>(x - 0.5 * (size.width - 1)) + offset * normal.x,
                       static_cast<float>(y - 0.5 * (size.height - 1)) + offset * normal.y,
                       normal.x, normal.y});
    }
  EdgePoints made;
  for (const EdgePoint& point : found)
    made.farthest = std::max<double>(made.farthest, std::hypot(point.u, point.v));
  const std::size_t by = std::max<std::size_t>(1, found.size() / EdgePoints::most);
  for (std::size_t i = 0; i < found.size(); i += by) made.points.push_back(found[i]);
  made.least_found = std::max(
      least_found, least_share * static_cast<double>(std::min(found.size(), 2 * EdgePoints::most)));
  return made;
}

}  // namespace xcorr
