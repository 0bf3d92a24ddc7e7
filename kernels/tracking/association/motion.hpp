// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where something is expected that moves at nearly constant velocity: the Kalman filter of the
// textbooks (Bar-Shalom, Estimation with Applications to Tracking and Navigation, 2001, chapter 6).
// The state is place and velocity; between frames the velocity takes random accelerations, which
// are the larger the faster it is. Both axes share one covariance, since both are measured alike.
#pragma once

namespace xcorr::follow {

struct Point {
  double x = 0, y = 0;
};

class Motion {
 public:
  Motion() = default;
  /// Seen for the first time. Its velocity has the standard deviation `speed`, pixels per frame.
  Motion(Point seen, double speed);

  /// After that many frames: the place, and its standard deviation along each axis, pixels.
  Point expected(double frames) const;
  double position_sigma(double frames) const;

  /// It was seen there, that many frames (more than 0) after the last time. The less sure that is,
  /// above 0 to 1, the less it counts.
  void correct(Point seen, double frames, double sure);

  /// Pixels a frame.
  Point velocity() const { return velocity_; }

 private:
  struct Covariance {
    double place = 0, both = 0, velocity = 0;
  };
  Covariance after(double frames) const;

  Point place_, velocity_;
  Covariance covariance_;
};

}  // namespace xcorr::follow
