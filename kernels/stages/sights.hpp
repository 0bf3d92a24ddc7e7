// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage sights: what filters answered at three sizes -> where each target is and how large, and
// where it is worth to look once more.
#pragma once

#include <xcorr/tracker.hpp>

#include "stages/answer.hpp"

namespace xcorr {
namespace tracker {

constexpr int sizes = 3;  ///< of a target that are looked at: its last one, a smaller, a larger one

/// From one size to the next, and what a size that differs has to be better by.
constexpr double size_step = 1.02, price_of_size = 0.99;

/// A sharpness below which other sizes need not be tried, and one below which a sight may be of a
/// target that is faded out by the window's edge: the window is moved there, and looked at again.
constexpr double dull = 7, sharp = 19;

/// How a target was shown first, pixels.
struct Shown {
  double width, height;
  double side;  ///< of the window then

  XCORR_HD double scale_of(const Box& box) const {
    return std::sqrt(box.width * box.height / (width * height));
  }
  /// At one of the sizes, round a box's middle.
  XCORR_HD Look look_at(const Box& box, int size, std::int32_t filter) const {
    const double step = size == 0 ? 1 : size == 1 ? 1 / size_step : size_step;
    const double scale = scale_of(box) * step;
    return {box.x + box.width / 2, box.y + box.height / 2, side * scale, scale, filter};
  }
  XCORR_HD Sight sight_of(const Look& look, const Answer& answer) const {
    const double now_wide = width * look.scale, now_high = height * look.scale;
    const double pixels = look.side / grid;
    return {{look.x + answer.x * pixels - now_wide / 2, look.y + answer.y * pixels - now_high / 2,
             now_wide, now_high},
            answer.response,
            answer.sharpness};
  }
};

/// Whether a target may be there.
XCORR_HD inline bool is_sound(const Box& box, Size frame) {
  const bool finite = std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
                      std::isfinite(box.height);
  return finite && box.width >= 1 && box.height >= 1 &&
         (box.width <= frame.width || box.height <= frame.height) && box.x < frame.width &&
         box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0;
}

}  // namespace tracker

namespace stage {

struct Sights {
  static constexpr const char* name = "sights";

  struct Problem {
    int targets = 1, filters = 1;
    Size frame;
    bool again = false;  ///< whether these are second looks

    constexpr Features features() const { return Feature::f32; }
  };

  struct Buffers : Launch {
    const tracker::Shown* shown = nullptr;     ///< the targets of the filters
    const tracker::Look* looks = nullptr;      ///< [size][target]
    const tracker::Answer* answers = nullptr;  ///< to them
    /// Of the first looks; only if these are second ones. Those that are sharper are kept.
    const Sight* before = nullptr;
    Sight* sights = nullptr;        ///< of the targets
    tracker::Look* next = nullptr;  ///< second looks, as `looks`; only if these are first ones
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("shown", &Buffers::shown, records<tracker::Shown>(p.filters));
    visit("looks_at_sizes", &Buffers::looks, records<tracker::Look>(tracker::sizes * p.targets));
    visit("answers_at_sizes", &Buffers::answers,
          records<tracker::Answer>(tracker::sizes * p.targets));
    visit("before", &Buffers::before, records<Sight>(p.again ? p.targets : 0));
    visit("sights", &Buffers::sights, records<Sight>(p.targets));
    visit("next", &Buffers::next, records<tracker::Look>(p.again ? 0 : tracker::sizes * p.targets));
  }

  using Extra = NoExtra;
};

}  // namespace stage

namespace tracker {

/// The stage, of one target.
XCORR_HD inline void make_sight(const stage::Sights::Problem& p, const stage::Sights::Buffers& b,
                                int target) {
  if (p.again && b.looks[target].side == 0) {
    b.sights[target] = b.before[target];
    return;
  }
  const Shown& shown = b.shown[b.looks[target].filter];
  Sight best = shown.sight_of(b.looks[target], b.answers[target]);
  for (int size = 1; size < sizes && b.answers[target].sharpness >= dull; ++size) {
    const int i = size * p.targets + target;
    const Sight other = shown.sight_of(b.looks[i], b.answers[i]);
    if (other.response * price_of_size > best.response && is_sound(other.box, p.frame))
      best = other;
  }
  if (p.again) {
    b.sights[target] = best.sharpness > b.before[target].sharpness ? best : b.before[target];
    return;
  }
  b.sights[target] = best;
  const bool again = best.sharpness < sharp && is_sound(best.box, p.frame);
  for (int size = 0; size < sizes; ++size) {
    Look look = shown.look_at(best.box, size, b.looks[target].filter);
    if (!again) look.side = 0;
    b.next[size * p.targets + target] = look;
  }
}

}  // namespace tracker
}  // namespace xcorr
