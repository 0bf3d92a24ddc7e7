// SPDX-License-Identifier: LGPL-2.1-or-later
//
// At which poses a template looks almost the same: what shows little but arcs round a point does
// when it is turned about that point. A level may choose any of them, so the level below tries all.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "match/poses/template.hpp"

namespace xcorr {
namespace {

/// A part that is turned farther is another thing, and so many steps of a level are enough.
constexpr double farthest_turn = 20 * std::numbers::pi / 180;
constexpr int most_turns = 8;
/// What a template loses on its ridge, of what it loses half a pixel away, where the right pose may
/// lie: then that may score less.
constexpr double most_lost = 1.5;
/// Pixels: where steps are minute a shift of one tells nothing of a point farther away.
constexpr double farthest_point = 1 << 13;
/// More pixels along a side say nothing more.
constexpr int most_across = 32;
/// Pixels of a level: the first turn moves a corner by less, and each next one is off what the one
/// before lets expect by less.
constexpr int first_reach = 4, next_reach = 2;

}  // namespace

PoseRidge PoseTemplate::ridge_through(int level, const PoseIndex& from, const PoseIndex& to,
                                      const Shift& shift) const {
  const double pixels = std::ldexp(grid_.scale(level, from), -level);
  const double angle = grid_.angle(level, from), turned = grid_.angle(level, to);
  const double cosine = pixels * (std::cos(angle) - std::cos(turned)),
               sine = pixels * (std::sin(angle) - std::sin(turned));
  const auto fixed = [&](double moved) {
    const double pixel = moved / (cosine * cosine + sine * sine);
    return static_cast<std::int32_t>(
        std::lround(std::ldexp(std::clamp(pixel, -farthest_point, farthest_point), 8)));
  };
  // The level below has twice as many angles.
  return {2 * (to.angle - from.angle), fixed(cosine * shift.x - sine * shift.y),
          fixed(sine * shift.x + cosine * shift.y)};
}

Result<PoseRidge> PoseTemplate::ridge_of(int level, Stream stream) const {
  PoseRidge ridge;
  if (!grid_.turns()) return ridge;
  const PoseIndex first{0, grid_.scales(level) / 2};
  const double most = std::min(farthest_turn / grid_.angle_step(level), double(most_turns));
  const int last = std::min(static_cast<int>(most), (grid_.angles(level) - 1) / 2);
  if (last < 2) return ridge;
  std::vector<WarpMap> maps{grid_.map(level, first)};
  for (int turn = 2; turn <= last; ++turn) maps.push_back(grid_.map(level, {turn, first.scale}));
  const int side = std::min(maps[0].width, maps[0].height);
  const int stride = (side + most_across - 1) / most_across;
  const auto images = framed(std::move(maps), level, stream);
  if (!images.ok()) return images.status();
  const double fewest = fewest_in_common(images.value(), stride);

  Shift found;
  for (int turn = 2; turn <= last; ++turn) {
    const int reach = turn == 2 ? first_reach : next_reach;
    const double farther = double(turn) / (turn - 1);
    const auto x = static_cast<int>(std::lround(farther * found.x)),
               y = static_cast<int>(std::lround(farther * found.y));
    double best = -1;
    for (int dy = -reach; dy <= reach; ++dy)
      for (int dx = -reach; dx <= reach; ++dx) {
        const Shift shift{x + dx, y + dy};
        const double like = likeness(images.value(), std::size_t(turn) - 1, shift, stride, fewest);
        if (like > best) {
          best = like;
          found = shift;
        }
      }
    if (1 - best > most_lost * (1 - likeness_[level])) break;
    ridge = ridge_through(level, first, {turn, first.scale}, found);
  }
  return ridge;
}

Status PoseTemplate::find_ridges(Stream stream) {
  for (int level = 0; level < grid_.top(); ++level) {
    const auto found = ridge_of(level + 1, stream);
    if (!found.ok()) return found.status();
    ridges_.push_back(found.value());
  }
  return {};
}

}  // namespace xcorr
