// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses: rotations and scales of templates in a frame.
//
// Angles are in degrees, counter-clockwise as seen. A pixel's centre has whole coordinates: the
// centre of an upright template at x is x + (width - 1) / 2, and its left edge x - 1/2. A pose
// rotates and scales about the centre.
#pragma once

#include <array>
#include <optional>

#include <xcorr/export.hpp>

namespace xcorr {

/// Position, rotation and scale of a template in a frame.
struct Pose {
  double center_x = 0, center_y = 0;  ///< of the template, in pixels of the frame
  double angle = 0;                   ///< degrees, -180 to 180
  double scale = 1;
  double width = 0, height = 0;  ///< the template's, times the scale
};

struct Corner {
  double x, y;
};

/// The template's upper left, upper right, lower right and lower left corner in the frame.
XCORR_API std::array<Corner, 4> corners_of(const Pose& pose);

/// Poses near one.
struct PoseVicinity {
  double angle = 0, turn = 0;  ///< degrees; up to `turn` either way
  /// From scale / (1 + growth) to scale * (1 + growth).
  double scale = 1, growth = 0;

  bool operator==(const PoseVicinity&) const = default;
};

/// The poses to search. The default is the upright template at its own size only.
struct PoseRange {
  double angle_start = 0;   ///< the first angle, -360 to 360
  double angle_extent = 0;  ///< from the first to the last, 0 to 360; 0: only the first one
  /// The step between angles in the last pass of a search, before refinement. 0: such that the
  /// template's rim moves by one pixel. Earlier passes take longer steps, at which nothing between
  /// is missed; where this step is longer than theirs they take this one.
  double angle_step = 0;
  double scale_min = 1, scale_max = 1;  ///< 0.1 to 10; in either order
  /// The step between scales in the last pass, as a share of the scale. 0: such that the template's
  /// rim moves by one pixel. Earlier passes: as for angles.
  double scale_step = 0;

  /// How often frame and template are halved for the coarse search, 0 to 8; at least 4 pixels must
  /// be left along a side of the template. Each later pass only searches near what the one before
  /// has found. There are fewer levels where the frame or the smallest scale is too small. -1: as
  /// many as the template's details permit, so that no other pose resembles it for lack of details,
  /// 144 pixels are left of it at the middle one of its scales, and 6 along a side at the smallest.
  int pyramid_levels = -1;

  /// All poses are searched at full size in one pass, and the levels are ignored: nothing is missed
  /// that a coarse search could miss.
  bool exhaustive = false;

  /// The largest overlap of two peaks of a template, as a share of the smaller one's area, 0 to 1.
  /// With MatchSettings::best_template it also holds between templates, with and without poses.
  double max_overlap = 0.5;

  /// A search starts only with the poses near this one, at least with the nearest. Each frame may
  /// have its own vicinity, since another one needs no preparation.
  std::optional<PoseVicinity> vicinity;

  bool operator==(const PoseRange&) const = default;
  /// Whether there is a pose other than the upright one.
  bool any() const {
    return angle_start != 0 || angle_extent != 0 || scale_min != 1 || scale_max != 1;
  }
};

}  // namespace xcorr
