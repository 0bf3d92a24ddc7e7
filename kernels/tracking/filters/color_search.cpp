// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where in a frame a target's colours are: windows side by side, as those in which its filter
// searches, and how likely its box is at each shift of them. What deforms or turns keeps its
// colours, so a lost target is among these places more often than among a template's peaks.
#include <algorithm>

#include "tracking/filters/tracker_impl.hpp"

namespace xcorr {
namespace {

using tracker::grid;

constexpr std::size_t windows_of_turn = 16, most_places = 4;
/// How far from a window's middle it is looked, in cells: beyond, its box leaves the window.
constexpr int reach = grid / 4;

/// A place of a target's box.
struct Likely {
  double x, y;  ///< its middle
  float likelihood;
};

/// The middles of windows that cover a frame, as far as they reach, those of a turn.
std::vector<Likely> middles_of(Size frame, double side, std::uint64_t turn) {
  const double step = side * 2 * reach / grid;
  const auto count = [&](int length) {
    return static_cast<std::int64_t>(std::ceil(std::max(length / step, 1.0)));
  };
  const std::int64_t across = count(frame.width), all = across * count(frame.height);
  const auto wanted = std::min<std::int64_t>(all, windows_of_turn);
  std::vector<Likely> middles;
  for (std::int64_t i = 0; i < wanted; ++i) {
    const auto window = static_cast<std::int64_t>(
        (turn * windows_of_turn + static_cast<std::uint64_t>(i)) % static_cast<std::uint64_t>(all));
    const auto column = static_cast<double>(window % across),
               row = static_cast<double>(window / across);
    middles.push_back({(column + 0.5) * step, (row + 0.5) * step, 0});
  }
  return middles;
}

/// The likeliest shift of a window within reach.
Likely best_of(const Likely& middle, double cell, const float* priors) {
  Likely best = middle;
  for (int y = -reach; y <= reach; ++y)
    for (int x = -reach; x <= reach; ++x) {
      const float prior = priors[(y + grid) % grid * grid + (x + grid) % grid];
      if (prior > best.likelihood) best = {middle.x + x * cell, middle.y + y * cell, prior};
    }
  return best;
}

}  // namespace

Result<std::vector<Box>> Tracker::Impl::seek_colors(const tracker::Search& of, std::uint64_t turn) {
  const Size frame = reader.frame().size;
  const auto& [target, box, angle, ways] = of;
  const tracker::View view = target->initial_box.view_of(box, 0, target->filter);
  const std::vector<Likely> middles = middles_of(frame, view.look.side, turn);
  if (Status s = looked.records.provide(device.backend, middles.size()); !s.ok()) return s;
  if (Status s = priors.provide(device.backend, middles.size() * tracker::cells * sizeof(float),
                                Memory::host);
      !s.ok())
    return s;
  views.assign(middles.size(), view);
  for (std::size_t i = 0; i < middles.size(); ++i) {
    views[i].look.x = middles[i].x;
    views[i].look.y = middles[i].y;
  }
  if (Status s = join_learning(); !s.ok()) return s;
  if (Status s = read(looked, middles.size()); !s.ok()) return s;
  if (Status s = looked.records.upload(device.backend, {}); !s.ok()) return s;
  if (Status s = filters.show_colors(reader.seen(), looked.records.device.looks,
                                     looked.records.device.croppings,
                                     static_cast<int>(middles.size()), priors.as<float>(), {});
      !s.ok())
    return s;
  if (Status s = wait_for_all(); !s.ok()) return s;

  std::vector<Likely> found;
  for (std::size_t i = 0; i < middles.size(); ++i)
    found.push_back(
        best_of(middles[i], view.look.side / grid, priors.as<float>() + i * tracker::cells));
  std::ranges::stable_sort(found, std::ranges::greater(), &Likely::likelihood);
  std::vector<Box> places;
  for (const Likely& one : found) {
    if (places.size() == most_places || !(one.likelihood > 0)) break;
    const Box place{one.x - box.width / 2, one.y - box.height / 2, box.width, box.height};
    const bool apart = std::ranges::none_of(places, [&](const Box& other) {
      return std::abs(other.x - place.x) < box.width && std::abs(other.y - place.y) < box.height;
    });
    if (apart && tracker::is_sound(place, frame)) places.push_back(place);
  }
  return places;
}

}  // namespace xcorr
