// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/motion.hpp"

#include <cmath>

namespace xcorr::follow {
namespace {

/// Of a measured place: peaks are exact to a part of a pixel, but what they are peaks of turns and
/// deforms. Pixels squared.
constexpr double measurement_variance = 1;

/// The standard deviation of the acceleration, pixels per frame squared, at rest and as a share of
/// the speed.
constexpr double acceleration_at_rest = 1, acceleration_share = 0.1;

}  // namespace

Motion::Motion(Point seen, double speed)
    : place_(seen), covariance_{measurement_variance, 0, speed * speed} {}

Point Motion::expected(double frames) const {
  return {place_.x + frames * velocity_.x, place_.y + frames * velocity_.y};
}

/// The random accelerations are white noise.
Motion::Covariance Motion::after(double frames) const {
  const double acceleration =
      acceleration_at_rest + acceleration_share * std::hypot(velocity_.x, velocity_.y);
  const double noise = acceleration * acceleration * frames;
  const auto& [place, both, velocity] = covariance_;
  return {place + frames * (2 * both + frames * velocity) + noise * frames * frames / 3,
          both + frames * velocity + noise * frames / 2, velocity + noise};
}

double Motion::position_sigma(double frames) const { return std::sqrt(after(frames).place); }

void Motion::correct(Point seen, double frames, double sure) {
  const Point before = expected(frames);
  const auto [place, both, velocity] = after(frames);
  const double noise = measurement_variance / (sure * sure);
  const double place_gain = place / (place + noise), velocity_gain = both / (place + noise);
  place_ = {before.x + place_gain * (seen.x - before.x),
            before.y + place_gain * (seen.y - before.y)};
  velocity_ = {velocity_.x + velocity_gain * (seen.x - before.x),
               velocity_.y + velocity_gain * (seen.y - before.y)};
  covariance_ = {(1 - place_gain) * place, (1 - place_gain) * both,
                 velocity - velocity_gain * both};
}

}  // namespace xcorr::follow
