// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The poses that windows of targets are searched for, without a device.
#include <xcorr/pose_following.hpp>

#include <gtest/gtest.h>

#include <cmath>

namespace xcorr::follow {
namespace {

constexpr Size size{40, 30};

PoseRange asked() {
  PoseRange range;
  range.angle_start = -5;
  range.angle_extent = 10;
  return range;
}

Pose seen(double angle, double scale) {
  Pose pose;
  pose.angle = angle;
  pose.scale = scale;
  return pose;
}

/// Of any angle, but only near the last one; farther with every frame without a detection.
TEST(PoseFollowing, RoundTheLastPose) {
  const PoseFollowing following(asked(), {});
  PoseRange range;
  for (const int frames : {1, 2, 5}) {
    range = following.around(size, seen(100, 1.2), frames, range);
    EXPECT_EQ(range.angle_extent, 360);
    ASSERT_TRUE(range.vicinity);
    EXPECT_EQ(range.vicinity->angle, 100);
    EXPECT_EQ(range.vicinity->scale, 1.2);
    EXPECT_EQ(range.vicinity->turn, 15 * frames);
    EXPECT_NEAR(range.vicinity->growth, std::pow(1.1, frames) - 1, 1e-12);
  }
  EXPECT_LE(following.around(size, seen(100, 1.2), 1000, range).vicinity->turn, 360);
}

/// Only a target that has grown by much needs another range.
TEST(PoseFollowing, ScalesHaveRoom) {
  const PoseFollowing following(asked(), {});
  PoseRange range;
  int changes = 0;
  for (double scale = 1; scale < 3; scale *= 1.01) {
    const PoseRange next = following.around(size, seen(0, scale), 1, range);
    EXPECT_LE(next.scale_min, scale / 1.1 + 1e-9);
    EXPECT_GE(next.scale_max, scale * 1.1 - 1e-9);
    if (next.scale_min != range.scale_min) ++changes;
    range = next;
  }
  EXPECT_LE(changes, 1 + std::log(3) / std::log(1.15));
}

/// What the library would refuse is not asked for: less than 4 pixels, scales out of its range.
TEST(PoseFollowing, WithinWhatCanBeSearched) {
  const PoseFollowing following(asked(), {});
  const auto smallest = following.around({8, 20}, seen(0, 0.5), 1, {});
  EXPECT_GE(8 * smallest.scale_min, 4);
  EXPECT_LE(smallest.scale_min, smallest.scale_max);
  const auto again = following.around({8, 20}, seen(0, 0.51), 1, smallest);
  EXPECT_EQ(again.scale_min, smallest.scale_min);
  EXPECT_EQ(again.scale_max, smallest.scale_max);
  EXPECT_LE(following.around(size, seen(0, 10), 1, {}).scale_max, 10);
  EXPECT_GE(following.around({400, 400}, seen(0, 0.1), 1, {}).scale_min, 0.1);
}

TEST(PoseFollowing, WithoutLimitsAsWholeFrames) {
  TrackSettings settings;
  settings.turn = settings.growth = 0;
  EXPECT_EQ(PoseFollowing(asked(), settings).around(size, seen(100, 2), 1, {}), asked());
  EXPECT_EQ(PoseFollowing({}, {}).around(size, seen(0, 1), 1, {}), PoseRange());
  // Either alone.
  settings.turn = 20;
  PoseRange range = PoseFollowing(asked(), settings).around(size, seen(100, 1), 1, {});
  EXPECT_EQ(range.angle_extent, 360);
  EXPECT_EQ(range.scale_max, 1);
  settings.turn = 0;
  settings.growth = 0.2;
  range = PoseFollowing(asked(), settings).around(size, seen(3, 1), 1, {});
  EXPECT_EQ(range.angle_start, -5);
  EXPECT_EQ(range.angle_extent, 10);
  EXPECT_GT(range.scale_max, 1.2);
}

TEST(PoseFollowing, WindowsHoldWhatIsTurned) {
  EXPECT_EQ(bounds_of({40, 30}, {}), Size(40, 30));
  EXPECT_EQ(bounds_of({40, 30}, asked()), Size(50, 50));
  PoseRange range;
  range.scale_max = 1.5;
  EXPECT_EQ(bounds_of({40, 30}, range), Size(60, 45));
}

}  // namespace
}  // namespace xcorr::follow
