// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a filter's responses at three sizes or angles say of a target: which size is chosen, where
// its box is, and when it is worth to look again.
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
  View views[Ways::all().count];
  ResponsePeak response_peaks[Ways::all().count];
  Ways ways;

  explicit Looked(const Box& around = box, const Ways& ways = Ways::at_sizes(), double angle = 0)
      : ways(ways) {
    for (int way = 0; way < ways.count; ++way) {
      views[way] = initial_box.view_of(around, angle, 3, ways[way]);
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
  for (int size = 0; size < looked.ways.count; ++size) {
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
  Looked looked(box, Ways::all(), 90);
  looked.response_peaks[0] = {1.5, -2, 0.7, 25};
  const FilterDetection filter_detection = looked.best();
  EXPECT_NEAR(filter_detection.box.x, 100 - 20, 1e-9);
  EXPECT_NEAR(filter_detection.box.y, 200 - 15, 1e-9);
  EXPECT_EQ(filter_detection.angle, 90);
}

/// At the top of the parabola through three responses, or at the angle that is clearly better.
TEST(InitialBox, TheAngleIsBetweenThoseLookedAt) {
  for (const Ways& ways : {Ways::all(), Ways::at_angles()}) {
    Looked looked(box, ways, 20);
    const int less = ways.angle, more = less + 1;
    EXPECT_EQ(looked.views[less].angle, 15);
    EXPECT_EQ(looked.views[more].angle, 25);
    EXPECT_EQ(looked.best().angle, 20);
    looked.response_peaks[less].response = 0.3 / 0.99;
    looked.response_peaks[more].response = 0.4 / 0.99;
    EXPECT_NEAR(looked.best().angle, 20 + 5 * 0.05 / 0.3, 1e-9);
    looked.response_peaks[less].response = 0.8;
    EXPECT_EQ(looked.best().angle, 15);
  }
}

/// But all for sixteen looks after it has turned by a quarter of a step.
TEST(InitialBox, SizesAndAnglesAreLookedAtByTurns) {
  Ways ways = Ways::all();
  EXPECT_EQ(ways[1].size, -1);
  EXPECT_EQ(ways[4].angle, 1);
  for (const double turned : {-1.25, 1.25}) {
    ways = ways.next(turned);
    for (int look = 0; look < 16; ++look, ways = ways.next(1.2)) EXPECT_EQ(ways.count, 5) << look;
    for (int look = 0; look < 4; ++look, ways = ways.next(0)) {
      const Variation less = ways[1], more = ways[2];
      EXPECT_EQ(ways.count, 3);
      EXPECT_EQ(less.size, look % 2 ? 0 : -1);
      EXPECT_EQ(less.angle, look % 2 ? -1 : 0);
      EXPECT_EQ(more.size + more.angle, 1);
    }
  }
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

/// And only where it has been found a thirty-second of the window's side or more from its middle.
TEST(InitialBox, LooksAgainBelowAPsrWhereTheTargetHasMoved) {
  const Box moved{box.x + 10, box.y - 10, box.width, box.height};
  const auto again = [](const FilterDetection& filter_detection, const Box& around = box) {
    return initial_box.is_worth_another_look(filter_detection, around, frame);
  };
  EXPECT_TRUE(again({moved, 0.5, 18.9}));
  EXPECT_FALSE(again({moved, 0.5, 19}));
  EXPECT_FALSE(again({box, 0.5, 18.9}));
  EXPECT_FALSE(again({{box.x + 12, box.y, box.width, box.height}, 0.5, 18.9}));
  EXPECT_FALSE(again({{-40, 200, 40, 120}, 0.5, 10}, {-10, 200, 40, 120}));
}

}  // namespace
}  // namespace api
