// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/neighbours.hpp"

#include <algorithm>
#include <numeric>

namespace xcorr {
namespace {

struct Neighbour {
  double distance2;
  std::int32_t number;

  auto operator<=>(const Neighbour&) const = default;
};

/// The nearest ones of a window; `order` has the windows as they follow each other along an axis,
/// that one at `at`.
std::vector<Neighbour> nearest(std::span<const InterrogationWindow> windows,
                               const std::vector<std::int32_t>& order,
                               std::int32_t InterrogationWindow::*axis, std::ptrdiff_t at) {
  const InterrogationWindow& own = windows[order[at]];
  std::vector<Neighbour> found;
  // False: this one and all beyond it are farther away than what was found.
  const auto look = [&](std::ptrdiff_t i) {
    const InterrogationWindow& other = windows[order[i]];
    const double x = double(other.x) - own.x, y = double(other.y) - own.y;
    const double along = double(other.*axis) - own.*axis;
    const bool is_full = found.size() == FieldNeighbours::most;
    if (is_full && along * along >= found.back().distance2) return false;
    const Neighbour neighbour{x * x + y * y, order[i]};
    found.insert(std::ranges::upper_bound(found, neighbour), neighbour);
    if (is_full) found.pop_back();
    return true;
  };
  for (std::ptrdiff_t i = at - 1; i >= 0 && look(i);) --i;
  for (auto i = at + 1; i < static_cast<std::ptrdiff_t>(order.size()) && look(i);) ++i;
  return found;
}

FieldNeighbours neighbours_of(std::span<const InterrogationWindow> windows, std::int32_t number,
                              const std::vector<Neighbour>& found) {
  FieldNeighbours neighbours{};
  std::ranges::fill(neighbours.node, -1);
  const auto from = [&](const Neighbour& n) {
    return std::pair(double(windows[n.number].x) - windows[number].x,
                     double(windows[n.number].y) - windows[number].y);
  };
  double xx = 0, xy = 0, yy = 0;
  for (const Neighbour& n : found) {
    const auto [x, y] = from(n);
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  // Neighbours on a line with the window say nothing of what is beside it.
  const double det = xx * yy - xy * xy;
  const bool is_plane = det > 1e-3 * (xx + yy) * (xx + yy);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [x, y] = from(found[i]);
    neighbours.node[i] = found[i].number;
    neighbours.by_x[i] = is_plane ? static_cast<float>((yy * x - xy * y) / det) : 0;
    neighbours.by_y[i] = is_plane ? static_cast<float>((xx * y - xy * x) / det) : 0;
  }
  return neighbours;
}

}  // namespace

std::vector<FieldNeighbours> neighbours_between(std::span<const InterrogationWindow> windows) {
  const auto extent = [&](std::int32_t InterrogationWindow::*axis) {
    const auto [least, most] = std::ranges::minmax(windows, {}, axis);
    return most.*axis - least.*axis;
  };
  // The longer one, along which fewest windows share a place.
  const auto axis = extent(&InterrogationWindow::x) < extent(&InterrogationWindow::y)
                        ? &InterrogationWindow::y
                        : &InterrogationWindow::x;
  std::vector<std::int32_t> order(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return windows[i].*axis; });
  std::vector<FieldNeighbours> neighbours(windows.size());
  for (std::size_t at = 0; at < order.size(); ++at)
    neighbours[order[at]] = neighbours_of(
        windows, order[at], nearest(windows, order, axis, static_cast<std::ptrdiff_t>(at)));
  return neighbours;
}

}  // namespace xcorr
