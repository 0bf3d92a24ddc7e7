// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From pose to pose by the steps of the stage pose_refine, and when they end.
#pragma once

#include <cmath>

#include "stages/poses/pose_refine_system.hpp"
#include "stages/poses/refined_pose.hpp"

namespace xcorr {

/// The steps of one pose.
class PoseRefineSteps {
 public:
  /// From where a search led three or four are taken, unless something else is there.
  static constexpr int most = 6;
  /// Steps become several times shorter from one to the next; after one of at most that many pixels
  /// the rest is a tenth of what noise does.
  static constexpr double shortest = 1e-3;
  /// How far a place may be from where it begins, along x and y: at the frame's border, or where
  /// scores hardly fall along an edge, a search may begin more than a pixel away.
  static constexpr double farthest_place = 2;
  /// How far turning and scaling may move what is at the radius: more than the steps of a search.
  static constexpr double farthest = 3;

  /// \param radius  of the template, in its pixels
  XCORR_HD PoseRefineSteps(const RefinedPose& start, const PoseRefineFreedom& freedom,
                           double radius)
      : start_(start), pose_(start), freedom_(freedom), radius_(radius) {}

  XCORR_HD const RefinedPose& pose() const { return pose_; }

  /// Takes the sums at pose(); false: that was the last step.
  XCORR_HD bool step(const PoseRefineSystem& system, const PoseRefineRight& right) {
    double found[pose_refine_unknowns];
    system.solve(right, freedom_, found);
    is_refined_ = system.has_inverse && oriented(freedom_.polarity, found[4]) > 0;
    if (!is_refined_) return false;
    fit_ = oriented(freedom_.polarity, system.fit(right));
    if (fit_before_ < -1) fit_before_ = fit_;
    // From pixels of the template to those of the frame.
    const double unit = -pose_.scale / found[4];
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) {
      const double step = unit * found[i];
      found[i] = step < -1 ? -1 : step > 1 ? 1 : step;
    }
    pose_.x += pose_.cosine * found[0] + pose_.sine * found[1];
    pose_.y += pose_.cosine * found[1] - pose_.sine * found[0];
    const double radius = radius_ * start_.scale, per_radius = 1 / radius;
    pose_.turn(found[2] * per_radius);
    pose_.scale += pose_.scale * found[3] * per_radius;
    is_refined_ = fabs(pose_.x - start_.x) <= farthest_place &&
                  fabs(pose_.y - start_.y) <= farthest_place &&
                  pose_.turned_from(start_) * radius <= farthest &&
                  fabs(pose_.scale - start_.scale) * radius_ <= farthest;
    if (!is_refined_) return false;
    double longest = 0;
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) longest = fabs(found[i]) > longest ? fabs(found[i]) : longest;
    return longest > shortest;
  }

  XCORR_HD PoseRefinement result() const {
    const bool is_refined = is_refined_ && fit_ >= fit_before_ - margin;
    return {is_refined ? pose_ : start_, is_refined};
  }

 private:
  /// Where one is sharper than the other, steps end beside the best fit.
  static constexpr double margin = 0.05;

  RefinedPose start_, pose_;
  PoseRefineFreedom freedom_;
  double radius_;
  double fit_before_ = -2, fit_ = 0;  ///< at the start, and before the last step
  bool is_refined_ = false;
};

}  // namespace xcorr
