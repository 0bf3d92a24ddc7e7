// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where a filter is asked for its target, and what its answers say of it: where it is and how
// large, and whether it is worth to look once more.
#pragma once

#include <xcorr/tracker.hpp>

#include "stages/answer.hpp"

namespace xcorr::tracker {

constexpr int sizes = 3;  ///< of a target that are looked at: its last one, a smaller, a larger one

/// A sharpness below which other sizes need not be tried.
constexpr double dull = 7;

/// How a target was shown first, pixels.
struct Shown {
  double width, height;
  double side;  ///< of the window then

  /// At one of the sizes, round a box's middle.
  Look look_at(const Box& box, int size, std::int32_t filter) const;

  /// The best of what the filter answered at all sizes. \param looks, answers  of the sizes, each
  /// so far from the one before
  Sight best_of(const Look* looks, const Answer* answers, std::ptrdiff_t apart, Size frame) const;

 private:
  Sight sight_of(const Look& look, const Answer& answer) const;
};

/// Whether a target may be there.
bool is_sound(const Box& box, Size frame);

/// Whether the target may have been faded out by the window's edge, so that it is worth to look
/// again with the window moved to the sight.
bool is_worth_another_look(const Sight& sight, Size frame);

}  // namespace xcorr::tracker
