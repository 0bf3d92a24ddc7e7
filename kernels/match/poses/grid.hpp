// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The angles and scales that are searched at each level of a pyramid. A level has twice as many as
// the one above, and all of that one's among them. Below level 0 pixels become no smaller, but
// angles and scales still do: so the score of a match hardly depends on where it lies between them.
#pragma once

#include <cmath>
#include <vector>

#include <xcorr/poses.hpp>

#include "stages/turn.hpp"

namespace xcorr {

/// An angle and a scale of a level, by their positions in its grid.
struct PoseIndex {
  int angle = 0, scale = 0;
  bool operator==(const PoseIndex&) const = default;
};

class PoseGrid {
 public:
  PoseGrid() = default;
  /// \param extent  the template's, in its pixels, of what counts
  /// \param round   what counts is a disc: its pictures have the same size at all angles
  /// \param top     the highest level, with the fewest poses
  PoseGrid(const PoseRange& range, Size extent, bool round, int top);

  static constexpr int lowest = -2;

  int top() const { return top_; }
  int angles(int level) const { return count(angle_steps_, level) + (circle_ ? 0 : 1); }
  int scales(int level) const { return count(scale_steps_, level) + 1; }
  double angle(int level, PoseIndex pose) const;  ///< radians
  double scale(int level, PoseIndex pose) const;
  /// Radians, and the logarithm of a ratio; 0 where there is one angle, one scale.
  double angle_step(int level) const { return std::ldexp(angle_step_, level); }
  double scale_step(int level) const { return std::ldexp(scale_step_, level); }
  bool turns() const { return angle_steps_ > 0; }
  bool scales() const { return scale_steps_ > 0; }

  std::vector<PoseIndex> all(int level) const;
  /// The pose, and those next to it.
  std::vector<PoseIndex> around(int level, PoseIndex pose) const;
  /// The same pose one level down.
  static PoseIndex below(PoseIndex pose) { return {2 * pose.angle, 2 * pose.scale}; }

  TurnMap map(int level, PoseIndex pose) const;

 private:
  /// `steps` are the top's.
  int count(int steps, int level) const { return steps << (top_ - level); }

  double angle_start_ = 0, angle_step_ = 0;  ///< steps: of level 0
  double log_scale_min_ = 0, scale_step_ = 0;
  int angle_steps_ = 0, scale_steps_ = 0;  ///< of the top
  bool circle_ = false;                    ///< the last angle is next to the first
  Size extent_;
  bool round_ = false;
  int top_ = 0;
};

}  // namespace xcorr
