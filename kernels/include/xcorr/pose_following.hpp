// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The poses for the search window of a target: those near its last one.
#pragma once

#include <xcorr/export.hpp>
#include <xcorr/follower.hpp>
#include <xcorr/match.hpp>

namespace xcorr {

class XCORR_API PoseFollowing {
 public:
  PoseFollowing() = default;
  /// `asked`: the poses of whole frames.
  PoseFollowing(const PoseRange& asked, const TrackSettings& settings);

  /// For a template of that size, last seen at that pose so many frames ago. The range has all
  /// angles, and scales with room to grow and shrink; only those near the pose are searched, since
  /// preparing a matcher for another range takes time. `before`: the range of the matcher, which is
  /// kept while it suffices.
  PoseRange around(Size size, const Pose& last, int frames, const PoseRange& before) const;

  /// From now on the poses of whole frames, for templates that have too many angles.
  void give_up() { turn_ = growth_ = 0; }
  /// A target that has not been seen yet.
  Pose usual() const;

 private:
  PoseRange asked_;
  double turn_ = 0, growth_ = 0;  ///< in a frame: degrees, a share; 0: all that is asked for
};

/// The upright bounds, in pixels, of a template of that size at these poses.
XCORR_API Size bounds_of(Size size, const PoseRange& poses);

}  // namespace xcorr
