// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Poses: how templates may be turned and scaled in a frame.
//
// Angles are in degrees, counter-clockwise as seen. A pixel's centre has whole coordinates: the
// centre of an upright template at x is x + (width - 1) / 2, and its left edge x - 1/2. A pose
// turns and scales round the centre.
#pragma once

#include <array>
#include <optional>

#include <xcorr/export.hpp>

namespace xcorr {

/// How a template lies in a frame.
struct Pose {
  double center_x = 0, center_y = 0;  ///< of the template, in pixels of the frame
  double angle = 0;                   ///< degrees, -180 to 180
  double scale = 1;
  double width = 0, height = 0;  ///< the template's, times the scale
};

struct Corner {
  double x, y;
};

/// The template's upper left, upper right, lower right and lower left one, as it lies in the frame.
XCORR_API std::array<Corner, 4> corners_of(const Pose& pose);

/// Poses near one.
struct PoseVicinity {
  double angle = 0, turn = 0;  ///< degrees; up to `turn` either way
  /// From scale / (1 + growth) to scale * (1 + growth).
  double scale = 1, growth = 0;

  bool operator==(const PoseVicinity&) const = default;
};

/// The poses that are searched. The default is none but the upright one at the template's own size.
struct PoseRange {
  double angle_start = 0;   ///< the first angle, -360 to 360
  double angle_extent = 0;  ///< from the first to the last, 0 to 360; 0: only the first one
  /// From one angle to the next in the last pass of a search; refinement comes after. 0: so that
  /// the template's rim moves by a pixel. Passes before take longer steps, so long that nothing
  /// between is missed; a step that is longer than these is taken as it is in all of them.
  double angle_step = 0;
  double scale_min = 1, scale_max = 1;  ///< 0.1 to 10; in either order
  /// From one scale to the next in the last pass, as a share of the scale. 0: so that the
  /// template's rim moves by a pixel. The same holds for long ones.
  double scale_step = 0;

  /// How often frame and template are halved for the first pass of a search, 0 to 8, and not so
  /// often that less than 4 pixels are left of a template; the passes after it only look near what
  /// the one before has found. Less where the frame or the smallest scale is too small for that.
  /// -1: as often as the template's details permit, so that no other pose looks like it for want of
  /// them, 144 pixels are left of it at the middle one of its scales, and 6 along a side at the
  /// smallest.
  int pyramid_levels = -1;

  /// All poses are searched at full size, in one pass, whatever the levels: nothing is missed that
  /// a coarse look would.
  bool exhaustive = false;

  /// The share of the smaller one's area that two peaks of a template may have in common, 0 to 1;
  /// with MatchSettings::best_template two peaks of different ones too, whatever the poses.
  double max_overlap = 0.5;

  /// Of all these poses a search begins with those that are near this one, and with the nearest
  /// in any case. For another vicinity nothing is prepared anew, so each frame may have its own.
  std::optional<PoseVicinity> vicinity;

  bool operator==(const PoseRange&) const = default;
  /// Whether there are any but the upright one.
  bool any() const {
    return angle_start != 0 || angle_extent != 0 || scale_min != 1 || scale_max != 1;
  }
};

}  // namespace xcorr
