// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A pose between those of the search grid, and its refinement by least squares.
#pragma once

#include <cstdint>

namespace xcorr {

/// Of a template in a frame.
struct RefinedPose {
  double x, y;          ///< its centre, in pixels of the frame; centres of pixels are whole
  double cosine, sine;  ///< of its angle, counter-clockwise as seen
  double scale;
};

struct PoseRefinement {
  RefinedPose pose;
  std::int32_t is_refined;  ///< 0: the steps led away or to a much worse fit; the pose is as it was
};

}  // namespace xcorr
