// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tracker/shown.hpp"

#include <cmath>

namespace xcorr::tracker {
namespace {

/// From one size to the next, and what a size that differs has to be better by.
constexpr double size_step = 1.02, price_of_size = 0.99;

/// A sharpness from which one look is enough.
constexpr double sharp = 19;

}  // namespace

Look Shown::look_at(const Box& box, int size, std::int32_t filter) const {
  const double step = size == 0 ? 1 : size == 1 ? 1 / size_step : size_step;
  const double scale = std::sqrt(box.width * box.height / (width * height)) * step;
  return {box.x + box.width / 2, box.y + box.height / 2, side * scale, scale, filter};
}

Sight Shown::sight_of(const Look& look, const Answer& answer) const {
  const double now_wide = width * look.scale, now_high = height * look.scale;
  const double pixels = look.side / grid;
  return {{look.x + answer.x * pixels - now_wide / 2, look.y + answer.y * pixels - now_high / 2,
           now_wide, now_high},
          answer.response,
          answer.sharpness};
}

Sight Shown::best_of(const Look* looks, const Answer* answers, std::ptrdiff_t apart,
                     Size frame) const {
  Sight best = sight_of(*looks, *answers);
  if (answers->sharpness < dull) return best;
  for (int size = 1; size < sizes; ++size) {
    const Sight other = sight_of(looks[size * apart], answers[size * apart]);
    if (other.response * price_of_size > best.response && is_sound(other.box, frame)) best = other;
  }
  return best;
}

bool is_sound(const Box& box, Size frame) {
  const bool finite = std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
                      std::isfinite(box.height);
  return finite && box.width >= 1 && box.height >= 1 &&
         (box.width <= frame.width || box.height <= frame.height) && box.x < frame.width &&
         box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0;
}

bool is_worth_another_look(const Sight& sight, Size frame) {
  return sight.sharpness < sharp && is_sound(sight.box, frame);
}

}  // namespace xcorr::tracker
