// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of one template on synthetic peaks: their ids, their states, and where they are
// expected.
#include "tracking/tracker.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace cudaxcorr {
namespace {

constexpr int size = 24;  // of the template

xcorr::Peak peak(double x, double y, double score = 0.95) { return {0, x, y, size, size, score}; }

/// A tracker and its count of frames.
class Session {
 public:
  explicit Session(int max_targets = 1) { rules.max_targets = max_targets; }

  /// The next frame, with these peaks in any order.
  void see(std::vector<xcorr::Peak> peaks) {
    std::sort(peaks.begin(), peaks.end(), [this](const auto& a, const auto& b) {
      return rules.minimum ? a.score < b.score : a.score > b.score;
    });
    tracker.update(frame += step, peaks, rules, last_id);
  }
  void see_nothing(int frames) {
    for (int i = 0; i < frames; ++i) see({});
  }

  std::size_t count() const { return tracker.tracks().size(); }
  const Target& only() const {
    EXPECT_EQ(count(), 1);
    return tracker.tracks().at(0).target;
  }
  const Target& with_id(std::uint64_t id) const {
    for (const Track& track : tracker.tracks())
      if (track.target.id == id) return track.target;
    static const Target absent{};
    ADD_FAILURE() << "no id " << id << " in frame " << frame;
    return absent;
  }

  Tracker tracker;
  TrackRules rules;
  std::uint64_t frame = 0, step = 1, last_id = 0;
};

void expect_at(const Target& target, double x, double y) {
  EXPECT_DOUBLE_EQ(target.peak.x, x);
  EXPECT_DOUBLE_EQ(target.peak.y, y);
}

TEST(Tracker, FollowsStraightMotionAndExpectsIt) {
  Session run;
  for (int i = 0; i < 50; ++i) {
    const double x = 10 + 40.25 * i, y = 500 - 7.5 * i;
    if (i >= 2) {
      const Point expected = run.tracker.tracks()[0].expected(run.frame + 1);
      EXPECT_NEAR(expected.x, x, 1e-6);
      EXPECT_NEAR(expected.y, y, 1e-6);
    }
    run.see({peak(x, y)});
    EXPECT_EQ(run.only().id, 1);
    EXPECT_EQ(run.only().state, i < 2 ? TrackState::tentative : TrackState::tracked);
    EXPECT_FALSE(run.only().lost);
    expect_at(run.only(), x, y);
  }
}

TEST(Tracker, FollowsThroughFramesThatAreNotAnalysed) {
  Session run;
  run.step = 4;
  for (int i = 0; i < 20; ++i) run.see({peak(15.0 * i, 9)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_NEAR(run.tracker.tracks()[0].expected(run.frame + 1).x, 15 * 19 + 15 / 4.0, 1e-6);
}

TEST(Tracker, JitterDoesNotUpsetTheVelocity) {
  Session run;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> jitter(-0.5, 0.5);
  for (int i = 0; i < 200; ++i) {
    const double x = 3.0 * i, y = 2.0 * i;
    if (i > 10) {
      const Point expected = run.tracker.tracks()[0].expected(run.frame + 1);
      EXPECT_NEAR(expected.x, x, 2);
      EXPECT_NEAR(expected.y, y, 2);
    }
    run.see({peak(x + jitter(random), y + jitter(random))});
  }
  EXPECT_EQ(run.only().id, 1);
}

TEST(Tracker, FollowsACircle) {
  Session run;
  for (int i = 0; i < 300; ++i) {
    run.see({peak(400 + 200 * std::cos(i / 20.0), 400 + 200 * std::sin(i / 20.0))});
    ASSERT_EQ(run.only().id, 1);
    ASSERT_FALSE(run.only().lost) << i;
  }
}

/// Two targets on straight paths. While they are closer than half a template there is only the
/// better peak, as after non-maximum suppression.
void expect_no_swap(Point a, Point a_speed, Point b, Point b_speed, double jitter_size) {
  Session run(2);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> jitter(-jitter_size, jitter_size);
  const auto at = [&](Point start, Point speed, int i, double score) {
    return peak(start.x + speed.x * i + jitter(random), start.y + speed.y * i + jitter(random),
                score);
  };
  for (int i = 0; i < 100; ++i) {
    const xcorr::Peak of_a = at(a, a_speed, i, 0.98), of_b = at(b, b_speed, i, 0.97);
    const bool hidden =
        std::abs(of_a.x - of_b.x) < size / 2 && std::abs(of_a.y - of_b.y) < size / 2;
    run.see(hidden ? std::vector{of_a} : std::vector{of_a, of_b});
    ASSERT_EQ(run.count(), 2);
    if (hidden) {
      EXPECT_NE(run.with_id(1).lost, run.with_id(2).lost);  // whose peak it is cannot be told
      continue;
    }
    ASSERT_FALSE(run.with_id(1).lost || run.with_id(2).lost) << "frame " << i;
    expect_at(run.with_id(1), of_a.x, of_a.y);
    expect_at(run.with_id(2), of_b.x, of_b.y);
  }
}

TEST(Tracker, CrossingTargetsKeepTheirIds) {
  expect_no_swap({0, 200}, {6, 0}, {600, 200}, {-6, 0}, 0);        // one through the other
  expect_no_swap({0, 200}, {6, 0}, {300, -100}, {0, 6}, 0);        // at a right angle
  expect_no_swap({0, 200}, {9, 1}, {0, 280}, {9, -1}, 0);          // side by side
  expect_no_swap({0, 200}, {12, 0}, {300, 200}, {6, 0}, 0);        // one overtakes
  expect_no_swap({0, 200.4}, {6.3, 0}, {610, 205}, {-6, 0}, 0.5);  // with jitter
  expect_no_swap({0, 200}, {6, 0}, {300, -100}, {0, 6}, 0.5);
}

TEST(Tracker, SaysWhenItIsLostAndKeepsTheLastPlace) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(5.0 * i, 30)});
  for (int missed = 1; missed <= 30; ++missed) {
    run.see({});
    EXPECT_TRUE(run.only().lost);
    EXPECT_EQ(run.only().state, missed < 5 ? TrackState::tracked : TrackState::lost);
    expect_at(run.only(), 45, 30);
  }
}

TEST(Tracker, ReturnsFromBehindAnOccluderWithItsId) {
  for (const double way : {5.0 * 30, 0.0, -5.0 * 30}) {  // went on, stopped, turned
    Session run(3);
    for (int i = 0; i < 10; ++i) run.see({peak(300 + 5.0 * i, 30)});
    run.see_nothing(30);
    run.see({peak(345 + way, 30)});
    EXPECT_EQ(run.only().id, 1);
    EXPECT_EQ(run.only().state, TrackState::tracked);
    EXPECT_FALSE(run.only().lost);
  }
}

TEST(Tracker, ASecondTargetHasItsOwnIdWhileTheFirstIsLost) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(6);
  for (int i = 0; i < 3; ++i) run.see({peak(700, 400)});
  EXPECT_EQ(run.with_id(1).state, TrackState::lost);
  EXPECT_EQ(run.with_id(2).state, TrackState::tracked);
  run.see({peak(700, 400, 0.99), peak(110, 100, 0.9)});
  EXPECT_FALSE(run.with_id(1).lost);
  expect_at(run.with_id(1), 110, 100);
}

/// With the maximum number of targets, a lost one is recognised wherever it reappears, the nearest
/// first.
TEST(Tracker, LostOnesReturnAnywhereWhenThereAreNoOthers) {
  Session run(2);
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100, 0.99), peak(900, 100, 0.98)});
  run.see_nothing(5);
  run.see({peak(700, 600)});
  EXPECT_FALSE(run.with_id(2).lost);
  run.see({peak(700, 600), peak(1500, 900)});
  EXPECT_FALSE(run.with_id(1).lost);
  EXPECT_EQ(run.count(), 2);
}

TEST(Tracker, LostOnesReturnWithAnyScore) {
  Session run;
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100, 1e6)});
  run.see_nothing(5);
  run.see({peak(700, 600, 0.5)});
  EXPECT_FALSE(run.only().lost);
}

/// A place near where it was lost is better than a higher score far away.
TEST(Tracker, ALostOnePrefersItsNeighbourhood) {
  Session run;
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100)});
  run.see_nothing(5);
  run.see({peak(900, 600, 0.99), peak(120, 100, 0.8)});
  expect_at(run.only(), 120, 100);
}

TEST(Tracker, AFalsePeakNearByIsNotTaken) {
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

TEST(Tracker, APeakBeyondTheMarginIsNotTaken) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see({peak(166, 100)});
  EXPECT_TRUE(run.only().lost);
  expect_at(run.only(), 100, 100);
  run.see({peak(164, 100)});
  EXPECT_FALSE(run.only().lost);
}

/// A missing target does not push the other off its peak.
/// One of the two is always a poor match.
TEST(Tracker, APoorMatchIsFollowedBesideAGoodOne) {
  Session run(2);
  for (int i = 0; i < 30; ++i) {
    const double jump = i < 20 ? 0 : 50;
    run.see({peak(100, 100, 1.0), peak(300 + jump, 100, 0.5)});
    ASSERT_EQ(run.count(), 2);
    ASSERT_FALSE(run.with_id(2).lost) << i;
  }
}

TEST(Tracker, AMissingTargetTakesNobodyElsesPeak) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100, 0.99), peak(140, 100, 0.98)});
  for (int i = 0; i < 4; ++i) run.see({peak(141, 100), peak(170, 110, 0.6)});
  EXPECT_TRUE(run.with_id(1).lost);
  EXPECT_FALSE(run.with_id(2).lost);
  expect_at(run.with_id(2), 141, 100);
}

TEST(Tracker, AllAreLostInTheDarkAndReturn) {
  Session run(3);
  const std::vector<xcorr::Peak> peaks{peak(50, 50, 0.9), peak(300, 90, 0.95), peak(90, 400)};
  for (int i = 0; i < 5; ++i) run.see(peaks);
  std::map<std::uint64_t, double> places;
  for (const Track& track : run.tracker.tracks()) places[track.target.id] = track.target.peak.x;
  run.see_nothing(100);
  for (const Track& track : run.tracker.tracks()) EXPECT_EQ(track.target.state, TrackState::lost);
  EXPECT_FALSE(run.tracker.complete(3));
  run.see(peaks);
  EXPECT_TRUE(run.tracker.complete(3));
  for (const auto& [id, x] : places) EXPECT_EQ(run.with_id(id).peak.x, x);
}

TEST(Tracker, WhatShowsOnceIsForgottenWithItsId) {
  Session run;
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().state, TrackState::tentative);
  run.see({});
  EXPECT_EQ(run.count(), 0);
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().id, 2);
}

TEST(Tracker, AfterAnInterruptionItMayBeAnywhere) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100 + 20 * i, 100)});
  run.tracker.interrupt();
  run.see({peak(1500, 900)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_FALSE(run.only().lost);
  EXPECT_EQ(run.tracker.tracks()[0].expected(run.frame + 1).x, 1500);
}

TEST(Tracker, NotSeenAfterAnInterruptionIsLostAtOnce) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.tracker.interrupt();
  run.see({});
  EXPECT_EQ(run.only().state, TrackState::lost);
}

TEST(Tracker, FewerTargetsAreAllowedThanThereAre) {
  Session run(3);
  for (int i = 0; i < 5; ++i) run.see({peak(50, 50, 0.99), peak(300, 90, 0.98), peak(90, 400)});
  for (int i = 0; i < 5; ++i) run.see({peak(300, 90), peak(90, 400)});
  run.rules.max_targets = 2;
  run.see({peak(300, 90), peak(90, 400)});
  EXPECT_EQ(run.count(), 2);
  EXPECT_FALSE(run.with_id(2).lost);
  EXPECT_FALSE(run.with_id(3).lost);
}

TEST(Tracker, ASmallerScoreIsBetterWhereTheMethodSaysSo) {
  Session run;
  run.rules.minimum = true;
  run.rules.zero_window_score = 1;
  for (int i = 0; i < 10; ++i) run.see({peak(8.0 * i, 50, 0.02), peak(8.0 * i - 5, 70, 0.4)});
  expect_at(run.only(), 72, 50);
  EXPECT_EQ(run.only().id, 1);
  run.see({peak(80, 50, 0)});  // an exact copy, after which everything is worse
  run.see({peak(120, 50, 0.1)});
  expect_at(run.only(), 120, 50);
}

}  // namespace
}  // namespace cudaxcorr
