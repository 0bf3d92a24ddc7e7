// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter's responses at three sizes say of a target: which size is chosen, where its box is,
// and when it is worth to look again.
#include <gtest/gtest.h>

#include "tracking/filters/initial_box.hpp"

namespace api {
namespace {

using namespace xcorr;
using namespace xcorr::tracker;

constexpr Size frame{640, 480};
const InitialBox initial_box{20, 60, 200};
const Box box{100, 200, 40, 120};  // twice as large as it was shown first

struct Looked {
  View views[with_angles];
  ResponsePeak response_peaks[with_angles];
  int ways;

  explicit Looked(const Box& around = box, int ways = sizes, double angle = 0) : ways(ways) {
    for (int way = 0; way < ways; ++way) {
      views[way] = initial_box.view_of(around, angle, way, 3);
      response_peaks[way] = {0, 0, 0.5, 20};
    }
  }
  FilterDetection best() const {
    return initial_box.best_of(views, response_peaks, 1, ways, frame);
  }
};

TEST(InitialBox, LooksRoundTheBoxAtThreeSizes) {
  const Looked looked;
  const double scales[] = {2, 2 / 1.02, 2 * 1.02};
  for (int size = 0; size < sizes; ++size) {
    const Look& look = looked.views[size].look;
    EXPECT_EQ(look.x, 120);
    EXPECT_EQ(look.y, 260);
    EXPECT_DOUBLE_EQ(look.scale, scales[size]);
    EXPECT_DOUBLE_EQ(look.side, 200 * scales[size]);
    EXPECT_EQ(look.filter, 3);
    EXPECT_EQ(looked.views[size].angle, 0);
  }
}

TEST(InitialBox, ADetectionIsWhereTheResponsePeaks) {
  Looked looked;
  looked.response_peaks[0] = {1.5, -2, 0.7, 25};
  const FilterDetection filter_detection = looked.best();
  // A cell is a fortieth of the window's side of 400 pixels.
  EXPECT_DOUBLE_EQ(filter_detection.box.x, 100 + 15);
  EXPECT_DOUBLE_EQ(filter_detection.box.y, 200 - 20);
  EXPECT_DOUBLE_EQ(filter_detection.box.width, 40);
  EXPECT_DOUBLE_EQ(filter_detection.box.height, 120);
  EXPECT_EQ(filter_detection.response, 0.7);
  EXPECT_EQ(filter_detection.psr, 25);
}

/// Of a window turned by a quarter, counter-clockwise as seen: its right is up in the frame.
TEST(InitialBox, ADetectionIsWhereTheResponsePeaksAtAnAngle) {
  Looked looked(box, with_angles, 90);
  looked.response_peaks[0] = {1.5, -2, 0.7, 25};
  const FilterDetection filter_detection = looked.best();
  EXPECT_NEAR(filter_detection.box.x, 100 - 20, 1e-9);
  EXPECT_NEAR(filter_detection.box.y, 200 - 15, 1e-9);
  EXPECT_EQ(filter_detection.angle, 90);
}

/// At the top of the parabola through three responses, or at the angle that is clearly better.
TEST(InitialBox, TheAngleIsBetweenThoseLookedAt) {
  Looked looked(box, with_angles, 20);
  EXPECT_EQ(looked.views[3].angle, 15);
  EXPECT_EQ(looked.views[4].angle, 25);
  EXPECT_EQ(looked.best().angle, 20);
  looked.response_peaks[3].response = 0.3 / 0.99;
  looked.response_peaks[4].response = 0.4 / 0.99;
  EXPECT_NEAR(looked.best().angle, 20 + 5 * 0.05 / 0.3, 1e-9);
  looked.response_peaks[3].response = 0.8;
  EXPECT_EQ(looked.best().angle, 15);
}

TEST(InitialBox, AnotherSizeHasToBeBetterByItsPrice) {
  Looked looked;
  looked.response_peaks[1].response = 0.504;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.response_peaks[1].response = 0.506;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
  looked.response_peaks[2].response = 0.51;  // no better than the smaller one by its price
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
  looked.response_peaks[2].response = 0.6;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 * 1.02);
}

TEST(InitialBox, OtherSizesDoNotCountBelowTheLeastPsr) {
  Looked looked;
  looked.response_peaks[1].response = 0.9;
  looked.response_peaks[0].psr = 6.9;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.response_peaks[0].psr = 7;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
}

TEST(InitialBox, AnotherSizeIsNotChosenWhereNoTargetMayBe) {
  Looked looked({-39, 200, 40, 120});
  looked.response_peaks[1].response = 0.9;
  looked.response_peaks[1].x = -1;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40);
  looked.response_peaks[1].x = 1;
  EXPECT_DOUBLE_EQ(looked.best().box.width, 40 / 1.02);
}

TEST(InitialBox, LooksAgainBelowAPsr) {
  EXPECT_TRUE(is_worth_another_look({box, 0.5, 18.9}, frame));
  EXPECT_FALSE(is_worth_another_look({box, 0.5, 19}, frame));
  EXPECT_FALSE(is_worth_another_look({{-40, 200, 40, 120}, 0.5, 10}, frame));
}

}  // namespace
}  // namespace api
