// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/neighbours.hpp"

#include <algorithm>
#include <numeric>

#include "device/runtime.hpp"

namespace xcorr {
namespace {

struct Neighbour {
  double distance2;
  std::int32_t number;

  auto operator<=>(const Neighbour&) const = default;
};

/// The windows that lie in one place: a part of an order of all of them.
struct Place {
  std::int32_t x, y;
  std::ptrdiff_t first, last;
};

/// A k-d tree of places, since those of a file may lie in any way: on a line, in heaps. The middle
/// of a range is its root, with what is less along the range's longer side before it.
class PlaceTree {
 public:
  /// `order` is sorted by places, and has the windows of each by their numbers.
  PlaceTree(std::span<const InterrogationWindow> windows, std::span<const std::int32_t> order)
      : order_(order) {
    for (std::size_t at = 0; at < order.size(); ++at) {
      const InterrogationWindow& window = windows[order[at]];
      const auto begin = static_cast<std::ptrdiff_t>(at);
      if (places_.empty() || places_.back().x != window.x || places_.back().y != window.y)
        places_.push_back({window.x, window.y, begin, begin});
      places_.back().last = begin + 1;
    }
    splits_.resize(places_.size());
  }

  Status build() { return build(0, places_.size()); }
  std::span<const Place> places() const { return places_; }
  std::span<const std::int32_t> windows_at(const Place& place) const {
    return order_.subspan(place.first, place.last - place.first);
  }

  /// The nearest windows, those in the place itself too, as many as a window and its neighbours.
  const std::vector<Neighbour>& nearest(const Place& place) {
    found_.clear();
    look(place, 0, places_.size());
    return found_;
  }

 private:
  using Axis = std::int32_t Place::*;

  Status build(std::size_t begin, std::size_t end) {
    if (end - begin < 2) return {};
    if (Status s = check_stop(); !s.ok()) return s;
    const auto range = std::span(places_).subspan(begin, end - begin);
    const auto extent = [&](Axis axis) {
      const auto [least, most] = std::ranges::minmax(range, {}, axis);
      return std::int64_t{most.*axis} - least.*axis;
    };
    const std::size_t middle = begin + (end - begin) / 2;
    const Axis axis = extent(&Place::x) < extent(&Place::y) ? &Place::y : &Place::x;
    std::ranges::nth_element(range, range.begin() + static_cast<std::ptrdiff_t>(middle - begin), {},
                             axis);
    splits_[middle] = axis;
    if (Status s = build(begin, middle); !s.ok()) return s;
    return build(middle + 1, end);
  }

  void look(const Place& from, std::size_t begin, std::size_t end) {
    if (begin == end) return;
    const std::size_t middle = begin + (end - begin) / 2;
    const Place& place = places_[middle];
    const double x = double(place.x) - from.x, y = double(place.y) - from.y;
    for (const std::int32_t number : windows_at(place))
      if (!take({x * x + y * y, number})) break;  // those that follow have larger numbers
    if (end - begin == 1) return;
    const double beyond = double(from.*splits_[middle]) - place.*splits_[middle];
    const auto before = [&] { look(from, begin, middle); };
    const auto after = [&] { look(from, middle + 1, end); };
    if (beyond < 0) {
      before();
      if (reaches(beyond)) after();
    } else {
      after();
      if (reaches(beyond)) before();
    }
  }

  static constexpr std::size_t most = FieldNeighbours::most + 1;

  bool reaches(double distance) const {
    return found_.size() < most || distance * distance <= found_.back().distance2;
  }
  bool take(const Neighbour& neighbour) {
    if (found_.size() == most) {
      if (found_.back() < neighbour) return false;
      found_.pop_back();
    }
    found_.insert(std::ranges::upper_bound(found_, neighbour), neighbour);
    return true;
  }

  std::span<const std::int32_t> order_;
  std::vector<Place> places_;
  std::vector<Axis> splits_;  ///< of the ranges, in their middles
  std::vector<Neighbour> found_;
};

FieldNeighbours neighbours_of(std::span<const InterrogationWindow> windows, std::int32_t number,
                              std::span<const Neighbour> found) {
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

Result<std::vector<FieldNeighbours>> neighbours_between(
    std::span<const InterrogationWindow> windows) {
  std::vector<std::int32_t> order(windows.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {},
                           [&](std::int32_t i) { return std::pair(windows[i].x, windows[i].y); });
  PlaceTree tree(windows, order);
  if (Status s = tree.build(); !s.ok()) return s;
  std::vector<FieldNeighbours> neighbours(windows.size());
  std::vector<Neighbour> others;
  for (const Place& place : tree.places()) {
    if (Status s = check_stop(); !s.ok()) return s;
    const std::vector<Neighbour>& found = tree.nearest(place);
    for (const std::int32_t number : tree.windows_at(place)) {
      others.clear();
      for (const Neighbour& neighbour : found)
        if (neighbour.number != number && others.size() < FieldNeighbours::most)
          others.push_back(neighbour);
      neighbours[number] = neighbours_of(windows, number, others);
    }
  }
  return neighbours;
}

}  // namespace xcorr
