// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What two turned rectangles have in common.
#pragma once

namespace xcorr {

struct TurnedRectangle {
  double center_x, center_y;
  double width, height;
  double angle;  ///< radians, counter-clockwise as seen
};

/// Their common area as a share of the smaller one's.
double overlap_of(const TurnedRectangle& a, const TurnedRectangle& b);

}  // namespace xcorr
