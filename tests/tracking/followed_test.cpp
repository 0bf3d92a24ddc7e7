// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets in view: their ids, and where they are expected.
#include <cmath>
#include <random>

#include "session.hpp"

namespace xcorr::follow {
namespace {

TEST(Followed, FollowsStraightMotionAndExpectsIt) {
  Session run;
  for (int i = 0; i < 50; ++i) {
    const double x = 10 + 40.25 * i, y = 500 - 7.5 * i;
    if (i >= 2) {
      const Point expected = run.tracker.tracks()[0].trace.expected(run.frame + 1);
      EXPECT_NEAR(expected.x, x, i < 10 ? 1 : 0.01);
      EXPECT_NEAR(expected.y, y, i < 10 ? 1 : 0.01);
    }
    run.see({peak(x, y)});
    EXPECT_EQ(run.only().id, 1);
    EXPECT_EQ(run.only().state, i < 2 ? TrackState::tentative : TrackState::tracked);
    EXPECT_FALSE(run.only().lost);
    expect_at(run.only(), x, y);
  }
}

TEST(Followed, FollowsThroughFramesThatAreNotAnalysed) {
  Session run;
  run.step = 4;
  for (int i = 0; i < 20; ++i) run.see({peak(15.0 * i, 9)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_NEAR(run.tracker.tracks()[0].trace.expected(run.frame + 1).x, 15 * 19 + 15 / 4.0, 0.01);
}

TEST(Followed, JitterDoesNotUpsetTheVelocity) {
  Session run;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> jitter(-0.5, 0.5);
  for (int i = 0; i < 200; ++i) {
    const double x = 3.0 * i, y = 2.0 * i;
    if (i > 10) {
      const Point expected = run.tracker.tracks()[0].trace.expected(run.frame + 1);
      EXPECT_NEAR(expected.x, x, 2);
      EXPECT_NEAR(expected.y, y, 2);
    }
    run.see({peak(x + jitter(random), y + jitter(random))});
  }
  EXPECT_EQ(run.only().id, 1);
}

TEST(Followed, FollowsACircle) {
  Session run;
  for (int i = 0; i < 300; ++i) {
    run.see({peak(400 + 200 * std::cos(i / 20.0), 400 + 200 * std::sin(i / 20.0))});
    ASSERT_EQ(run.only().id, 1);
    ASSERT_FALSE(run.only().lost) << i;
  }
}

TEST(Followed, SaysWhenItIsLostAndKeepsTheLastPlace) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(5.0 * i, 30)});
  for (int missed = 1; missed <= 30; ++missed) {
    run.see({});
    EXPECT_TRUE(run.only().lost);
    EXPECT_EQ(run.only().state, missed < 5 ? TrackState::tracked : TrackState::lost);
    expect_at(run.only(), 45, 30);
  }
}

TEST(Followed, AFalsePeakNearByIsNotTaken) {
  Session run;
  for (int i = 0; i < 20; ++i) {
    const double x = 4.0 * i;
    // Closer to the expected place than the target itself, which accelerates.
    run.see(i < 10 ? std::vector{peak(x, 50), peak(x + 30, 60, 0.55)}
                   : std::vector{peak(x + 0.1 * (i - 9), 50), peak(x, 50.01 + size, 0.6)});
    ASSERT_NEAR(run.only().peak.y, 50, 1e-9) << i;
  }
  EXPECT_EQ(run.only().id, 1);
}

TEST(Followed, APeakBeyondTheMarginIsNotTaken) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see({peak(166, 100)});
  EXPECT_TRUE(run.only().lost);
  expect_at(run.only(), 100, 100);
  run.see({peak(164, 100)});
  EXPECT_FALSE(run.only().lost);
}

/// One of the two is always a poor match.
TEST(Followed, APoorMatchIsFollowedBesideAGoodOne) {
  Session run(2);
  for (int i = 0; i < 30; ++i) {
    const double jump = i < 20 ? 0 : 50;
    run.see({peak(100, 100, 1.0), peak(300 + jump, 100, 0.75)});
    ASSERT_EQ(run.count(), 2);
    ASSERT_FALSE(run.with_id(2).lost) << i;
  }
}

/// A missing target does not push the other off its peak.
TEST(Followed, AMissingTargetTakesNobodyElsesPeak) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100, 0.99), peak(140, 100, 0.98)});
  for (int i = 0; i < 4; ++i) run.see({peak(141, 100), peak(170, 110, 0.6)});
  EXPECT_TRUE(run.with_id(1).lost);
  EXPECT_FALSE(run.with_id(2).lost);
  expect_at(run.with_id(2), 141, 100);
}

TEST(Followed, WhatShowsOnceIsForgottenWithItsId) {
  Session run;
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().state, TrackState::tentative);
  run.see({});
  EXPECT_EQ(run.count(), 0);
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().id, 2);
}

TEST(Followed, NotSeenAfterAnInterruptionIsLostAtOnce) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.tracker.interrupt();
  run.see({});
  EXPECT_EQ(run.only().state, TrackState::lost);
}

TEST(Followed, FewerTargetsAreAllowedThanThereAre) {
  Session run(3);
  for (int i = 0; i < 5; ++i) run.see({peak(50, 50, 0.99), peak(300, 90, 0.98), peak(90, 400)});
  for (int i = 0; i < 5; ++i) run.see({peak(300, 90), peak(90, 400)});
  run.rules.max_targets = 2;
  run.see({peak(300, 90), peak(90, 400)});
  EXPECT_EQ(run.count(), 2);
  EXPECT_FALSE(run.with_id(2).lost);
  EXPECT_FALSE(run.with_id(3).lost);
}

TEST(Followed, AFastTargetIsHeld) {
  Session run;
  for (int i = 0; i < 100; ++i) {
    const double x = 66.0 * i;
    if (i > 0) {
      const SearchPlace place = run.tracker.places(run.frame + 1, run.rules).at(0);
      ASSERT_LE(std::abs(place.place.x - x), place.reach) << i;
    }
    Peak fast = peak(x, 100);
    fast.width = fast.height = 64;
    run.see({fast});
    ASSERT_FALSE(run.only().lost) << i;
  }
  EXPECT_EQ(run.only().id, 1);
}

}  // namespace
}  // namespace xcorr::follow
