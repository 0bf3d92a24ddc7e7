// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/motion.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace xcorr::follow {
namespace {

TEST(Motion, LearnsAVelocityFromTwoDetections) {
  Motion motion({100, 50}, 32);
  EXPECT_GT(3 * motion.position_sigma(1), 66);  // it may move by its own size
  motion.correct({166, 50}, 1, 1);
  EXPECT_NEAR(motion.velocity().x, 66, 1);
  EXPECT_NEAR(motion.expected(1).x, 232, 2);
  EXPECT_NEAR(motion.velocity().y, 0, 1e-9);
}

TEST(Motion, FramesThatAreLeftOutCount) {
  Motion motion({0, 0}, 16);
  for (int i = 1; i < 20; ++i) motion.correct({12.0 * i, -6.0 * i}, 3, 1);
  EXPECT_NEAR(motion.velocity().x, 4, 0.01);
  EXPECT_NEAR(motion.expected(1).y, -6 * 19 - 2, 0.1);
}

TEST(Motion, TheLongerUnseenTheLessIsKnown) {
  Motion motion({0, 0}, 16);
  for (int i = 1; i < 20; ++i) motion.correct({2.0 * i, 0}, 1, 1);
  EXPECT_LT(motion.position_sigma(1), 4);
  for (int i = 1; i < 50; ++i) EXPECT_LT(motion.position_sigma(i), motion.position_sigma(i + 1));
}

/// The faster it is, the further it may get off its line.
TEST(Motion, PositionSigmaGrowsWithSpeed) {
  Motion slow({0, 0}, 16), fast({0, 0}, 16);
  for (int i = 1; i < 20; ++i) {
    slow.correct({1.0 * i, 0}, 1, 1);
    fast.correct({60.0 * i, 0}, 1, 1);
  }
  EXPECT_GT(fast.position_sigma(1), 2 * slow.position_sigma(1));
}

/// The estimate of the position sigma is about right: noise of its own model.
TEST(Motion, ThePredictionErrsAsItSays) {
  std::mt19937 random(4);
  std::normal_distribution<double> noise;
  double sum = 0;
  int count = 0;
  for (int run = 0; run < 200; ++run) {
    double place = 0, velocity = 0;
    Motion motion({noise(random), 0}, 1);
    for (int i = 1; i < 40; ++i) {
      // White noise of variance 1 in the acceleration, over a frame.
      const double push = noise(random);
      place += velocity + push / 2 + noise(random) / std::sqrt(12.0);
      velocity += push;
      const double seen = place + noise(random);
      if (i > 10) {
        const double error = (place - motion.expected(1).x) / motion.position_sigma(1);
        sum += error * error;
        ++count;
      }
      motion.correct({seen, 0}, 1, 1);
    }
  }
  EXPECT_GT(sum / count, 0.5);
  EXPECT_LT(sum / count, 1.2);  // the model adds acceleration with speed
}

TEST(Motion, AnUnsureDetectionCountsLittle) {
  Motion motion({0, 0}, 16);
  for (int i = 1; i < 20; ++i) motion.correct({0, 0}, 1, 1);
  Motion sure = motion, unsure = motion;
  sure.correct({20, 0}, 1, 1);
  unsure.correct({20, 0}, 1, 0.1);
  EXPECT_GT(sure.expected(0).x, 10);
  EXPECT_LT(unsure.expected(0).x, 2);
}

}  // namespace
}  // namespace xcorr::follow
