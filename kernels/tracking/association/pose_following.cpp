// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/pose_following.hpp>

#include <algorithm>
#include <cmath>

namespace xcorr {
namespace {

/// How far a target may grow or shrink before its matcher is prepared for another range.
constexpr double room = 1.15;

/// What the library takes: scales, and pixels along a side.
constexpr double least_scale = 0.1, most_scale = 10, least_side = 4;

/// More frames without a detection make no difference.
constexpr int most_frames = 100;

/// Of a whole turn.
constexpr double all_angles = 360;

struct Scales {
  double least, most;
};

/// From a share of the scale to as many times it, within what can be searched.
Scales scales_round(double scale, double times, Size size) {
  const double side = std::min(size.width, size.height);
  const double lowest = std::min(std::max(least_scale, 1.0001 * least_side / side), most_scale);
  return {std::clamp(scale / times, lowest, most_scale),
          std::clamp(scale * times, lowest, most_scale)};
}

}  // namespace

PoseFollowing::PoseFollowing(const PoseRange& asked, const TrackSettings& settings)
    : asked_(asked), turn_(settings.turn), growth_(settings.growth) {
  if (!asked.any()) turn_ = growth_ = 0;
}

PoseRange PoseFollowing::around(Size size, const Pose& last, int frames,
                                const PoseRange& before) const {
  PoseRange range = asked_;
  if (turn_ == 0 && growth_ == 0) return range;
  frames = std::clamp(frames, 1, most_frames);
  PoseVicinity near{last.angle, all_angles, last.scale, most_scale / least_scale};
  if (turn_ > 0) {
    range.angle_start = 0;
    range.angle_extent = all_angles;
    near.turn = std::min(turn_ * frames, all_angles);
    // Angles that a part can have at first say nothing of those that it turns through.
    if (range.angle_step > turn_) range.angle_step = 0;
  }
  if (growth_ > 0) {
    near.growth = std::min(std::pow(1 + growth_, frames) - 1, most_scale / least_scale);
    if (range.scale_step > growth_) range.scale_step = 0;
    const Scales needed = scales_round(last.scale, 1 + growth_, size);
    const bool suits = before.scale_min <= needed.least && before.scale_max >= needed.most;
    const Scales scales = suits ? Scales{before.scale_min, before.scale_max}
                                : scales_round(last.scale, room * (1 + growth_), size);
    range.scale_min = scales.least;
    range.scale_max = scales.most;
  }
  range.vicinity = near;
  return range;
}

Pose PoseFollowing::usual() const {
  Pose pose;
  pose.angle = asked_.angle_start + asked_.angle_extent / 2;
  pose.scale = std::sqrt(asked_.scale_min * asked_.scale_max);
  return pose;
}

Size bounds_of(Size size, const PoseRange& poses) {
  const double scale = std::max(poses.scale_min, poses.scale_max);
  const auto pixels = [scale](double length) {
    return static_cast<int>(std::ceil(scale * length - 1e-6));
  };
  if (poses.angle_start == 0 && poses.angle_extent == 0)
    return {pixels(size.width), pixels(size.height)};
  const int side = pixels(std::hypot(size.width, size.height));
  return {side, side};
}

}  // namespace xcorr
