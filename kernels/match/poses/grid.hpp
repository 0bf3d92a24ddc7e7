// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The angles and scales of a range that are searched at each level, see
// stages/poses/pose_steps.hpp.
#pragma once

#include <cmath>
#include <vector>

#include <xcorr/poses.hpp>

#include "stages/poses/pose_refine.hpp"
#include "stages/poses/pose_steps.hpp"

namespace xcorr {

class PoseGrid {
 public:
  PoseGrid() = default;
  /// \param extent  the template's, in its pixels, of what counts
  /// \param round   what counts is a disc: its images have the same size at all angles
  /// \param diameter  of the circle round the centre that holds what counts; 0: not known
  /// \param top     the highest level, with the fewest poses
  /// \param halvings  of the template's pyramid
  PoseGrid(const PoseRange& range, Size extent, bool round, int diameter, int top, int halvings);

  /// The poses at which what was found is scored. They move the rim by a sixteenth of a pixel, and
  /// are the same whatever part of the circle and of an octave of sizes is searched: so is a score.
  /// Of level 0; without angles or sizes the one there is.
  PoseGrid of_scores() const;

  int top() const { return top_; }
  int angles(int level) const { return steps_.angles_of(level); }
  int scales(int level) const { return steps_.scales_of(level); }
  double angle(int level, PoseIndex pose) const;  ///< radians
  double scale(int level, PoseIndex pose) const;
  /// From one to the next: radians, and the logarithm of a ratio.
  double angle_step(int level) const;
  double scale_step(int level) const;
  /// The nearest ones of the range that was asked for: radians, and a scale.
  double angle_in_range(double angle) const;
  double scale_in_range(double scale) const;
  bool turns() const { return steps_.turns; }
  bool scales() const { return steps_.grows; }

  WarpMap map(int level, PoseIndex pose) const { return steps_.map(level, pose, tables()); }
  /// No image of the level is larger.
  Size most(int level) const { return steps_.most(level, tables()); }

  const PoseSteps& steps() const { return steps_; }
  const std::vector<AngleStep>& angle_table() const { return angles_; }
  const std::vector<std::int32_t>& inverse_scales() const { return inverse_scales_; }

 private:
  /// \param shape   steps without angles and sizes
  /// \param radius  by which the rim moves by a pixel
  PoseGrid(const PoseRange& range, const PoseSteps& shape, double radius, int top);

  PoseTables tables() const { return {angles_.data(), inverse_scales_.data()}; }

  bool is_all_round() const;

  double angle_start_ = 0, angle_extent_ = 0, log_scale_min_ = 0, log_scale_max_ = 0;
  PoseSteps steps_;
  std::vector<AngleStep> angles_;
  std::vector<std::int32_t> inverse_scales_;
  int top_ = 0;
};

}  // namespace xcorr
