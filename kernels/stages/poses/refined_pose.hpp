// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pose between those of the search grid, and its refinement by least squares.
#pragma once

#include <cmath>
#include <cstdint>

#include "stages/common/host_device.hpp"

namespace xcorr {

/// Of a template in a frame.
struct RefinedPose {
  double x, y;          ///< its centre, in pixels of the frame; centres of pixels are whole
  double cosine, sine;  ///< of its angle, counter-clockwise as seen
  double scale;

  /// Turns it by about that small an angle, in radians: a rotation by its tangent, without
  /// trigonometry, which takes more of a GPU's registers than all else.
  XCORR_HD void turn(double by) {
    const double half = by / 2, share = 1 / (1 + half * half),
                 turn_cosine = (1 - half * half) * share, turn_sine = 2 * half * share;
    const double before = cosine;
    cosine = before * turn_cosine - sine * turn_sine;
    sine = sine * turn_cosine + before * turn_sine;
  }
  /// The sine of the angle between the two.
  XCORR_HD double turned_from(const RefinedPose& other) const {
    return fabs(sine * other.cosine - cosine * other.sine);
  }
};

struct PoseRefinement {
  RefinedPose pose;
  std::int32_t is_refined;  ///< 0: the steps led away or to a much worse fit; the pose is as it was
};

}  // namespace xcorr
