// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Upright boxes in a frame.
#pragma once

#include <xcorr/match.hpp>
#include <xcorr/tracker.hpp>

namespace xcorr::follow {

/// Two targets are not at one place: the overlap from which they are.
inline constexpr double same_place = 0.5;

Box box_of(const Peak& peak);

/// The intersection over union, 0 to 1.
double overlap(const Box& a, const Box& b);

/// How much of the box lies in the area, 0 to 1.
double share_in(const Box& box, const Rect& area);
/// Whether its middle is in the area.
bool has_middle_in(const Box& box, const Rect& area);

}  // namespace xcorr::follow
