// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The poses that the window of a target is searched for: those round its last one, whichever the
// whole frame is searched for.
#pragma once

#include <xcorr/export.hpp>
#include <xcorr/follower.hpp>
#include <xcorr/match.hpp>

namespace xcorr {

class XCORR_API PoseFollowing {
 public:
  PoseFollowing() = default;
  /// `asked`: what whole frames are searched for.
  PoseFollowing(const PoseRange& asked, const TrackSettings& settings);

  /// For the template of that size, last seen in that pose so many frames ago. All angles are in
  /// the range, and scales with room to grow and shrink, of which only those near the pose are
  /// searched: to prepare a matcher for another range takes time. `before`: the range of the
  /// matcher, which is kept as long as it has what is needed.
  PoseRange around(Size size, const Pose& last, int frames, const PoseRange& before) const;

  /// From now on as whole frames: for templates of which all angles would be too many.
  void give_up() { turn_ = growth_ = 0; }
  /// A target that has not been seen yet.
  Pose usual() const;

 private:
  PoseRange asked_;
  double turn_ = 0, growth_ = 0;  ///< in a frame: degrees, a share; 0: all that is asked for
};

/// What a template of that size may cover at these poses, upright, in pixels.
XCORR_API Size bounds_of(Size size, const PoseRange& poses);

}  // namespace xcorr
