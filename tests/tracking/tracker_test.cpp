// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of one template on synthetic peaks: their ids, their states, and where they are
// expected.
#include "tracking/tracker.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace cudaxcorr {
namespace {

constexpr int size = 24;  // of the template

xcorr::Peak peak(double x, double y, double closeness = 0.95) {
  return {0, x, y, size, size, closeness, closeness};
}

/// A tracker and its count of frames.
class Session {
 public:
  explicit Session(int max_targets = 1) {
    rules.settings.enabled = true;
    rules.settings.min_confidence = 0.5;
    rules.max_targets = max_targets;
    rules.threshold = 0.5;
    rules.floor = 0.3;
    rules.area = {-10000, -10000, 30000, 30000};
  }

  /// The next frame, with these peaks in any order.
  void see(std::vector<xcorr::Peak> peaks) {
    std::ranges::sort(peaks, std::ranges::greater(), &xcorr::Peak::closeness);
    tracker.update(frame += step, peaks, rules, last_id);
    for (const TargetEvent& event : tracker.events()) events.push_back(event.event);
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
  std::vector<TrackEvent> events;
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

TEST(Tracker, FollowsThroughFramesThatAreNotAnalysed) {
  Session run;
  run.step = 4;
  for (int i = 0; i < 20; ++i) run.see({peak(15.0 * i, 9)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_NEAR(run.tracker.tracks()[0].trace.expected(run.frame + 1).x, 15 * 19 + 15 / 4.0, 0.01);
}

TEST(Tracker, JitterDoesNotUpsetTheVelocity) {
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

TEST(Tracker, FollowsACircle) {
  Session run;
  for (int i = 0; i < 300; ++i) {
    run.see({peak(400 + 200 * std::cos(i / 20.0), 400 + 200 * std::sin(i / 20.0))});
    ASSERT_EQ(run.only().id, 1);
    ASSERT_FALSE(run.only().lost) << i;
  }
}

/// Two targets on straight paths. While they are closer than half a template there is only the
/// better peak, as after non-maximum suppression. If that takes long, the other is lost, and three
/// sights are needed to find it again.
void expect_no_swap(Point a, Point a_speed, Point b, Point b_speed, double jitter_size) {
  Session run(2);
  std::mt19937 random(5);
  std::uniform_real_distribution<double> jitter(-jitter_size, jitter_size);
  const auto at = [&](Point start, Point speed, int i, double score) {
    return peak(start.x + speed.x * i + jitter(random), start.y + speed.y * i + jitter(random),
                score);
  };
  int hidden_for = 0, apart_for = 0;
  for (int i = 0; i < 100; ++i) {
    const xcorr::Peak of_a = at(a, a_speed, i, 0.98), of_b = at(b, b_speed, i, 0.97);
    const bool hidden =
        std::abs(of_a.x - of_b.x) < size / 2 && std::abs(of_a.y - of_b.y) < size / 2;
    run.see(hidden ? std::vector{of_a} : std::vector{of_a, of_b});
    ASSERT_EQ(run.count(), 2);
    hidden_for = hidden ? hidden_for + 1 : hidden_for;
    apart_for = hidden ? 0 : apart_for + 1;
    if (hidden) {
      EXPECT_NE(run.with_id(1).lost, run.with_id(2).lost);  // whose peak it is cannot be told
      continue;
    }
    const bool may_be_lost = hidden_for >= run.rules.settings.min_frames_for_lost && apart_for < 3;
    for (const auto& [id, peak] : {std::pair{1, of_a}, {2, of_b}}) {
      ASSERT_TRUE(may_be_lost || !run.with_id(id).lost) << "frame " << i;
      if (!run.with_id(id).lost) expect_at(run.with_id(id), peak.x, peak.y);
    }
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
    run.see({peak(100, 100, 1.0), peak(300 + jump, 100, 0.75)});
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

TEST(Tracker, WhatShowsOnceIsForgottenWithItsId) {
  Session run;
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().state, TrackState::tentative);
  run.see({});
  EXPECT_EQ(run.count(), 0);
  run.see({peak(50, 50)});
  EXPECT_EQ(run.only().id, 2);
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

// ---- found again ------------------------------------------------------------------------------

TEST(Tracker, IsFoundAgainAfterThreeSights) {
  for (const double way : {5.0 * 30, 0.0, -5.0 * 30}) {  // went on, stopped, turned
    Session run(3);
    for (int i = 0; i < 10; ++i) run.see({peak(300 + 5.0 * i, 30)});
    run.see_nothing(30);
    for (int i = 0; i < 3; ++i) {
      run.see({peak(345 + way + 5 * i, 30)});
      EXPECT_EQ(run.only().id, 1);
      EXPECT_EQ(run.only().lost, i < 2);
      EXPECT_EQ(run.only().state, i < 2 ? TrackState::tentative : TrackState::tracked);
      expect_at(run.only(), i < 2 ? 345 : 345 + way + 10, 30);
    }
  }
}

/// What shows once or twice in place of a lost target does not become it.
TEST(Tracker, ALostOneIsNotWhatShowsForAMoment) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(300, 30)});
  run.see_nothing(10);
  for (int i = 0; i < 20; ++i) {
    run.see(i % 3 == 2 ? std::vector<xcorr::Peak>() : std::vector{peak(600, 200)});
    ASSERT_TRUE(run.only().lost) << i;
  }
}

/// Nor what matches badly, or as well as something else does.
TEST(Tracker, ALostOneIsNotWhatCannotBeToldFromOthers) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(300, 30)});
  run.see_nothing(60);
  for (int i = 0; i < 20; ++i) {
    run.see(i < 10 ? std::vector{peak(600, 200, 0.75)}
                   : std::vector{peak(600, 200, 0.85), peak(60, 300, 0.84)});
    ASSERT_TRUE(run.only().lost) << i;
  }
}

TEST(Tracker, AfterAFarReturnItsVelocityIsThatOfItsFirstSights) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(300, 30)});
  run.see_nothing(10);
  for (int i = 0; i < 3; ++i) run.see({peak(900 + 20.0 * i, 500 - 10.0 * i)});
  EXPECT_FALSE(run.only().lost);
  const Point velocity = run.tracker.tracks()[0].trace.motion.velocity();
  EXPECT_NEAR(velocity.x, 20, 1);
  EXPECT_NEAR(velocity.y, -10, 1);
}

/// With the maximum number of targets, a lost one is recognised wherever it reappears, the nearest
/// first.
TEST(Tracker, LostOnesReturnAnywhereWhenThereAreNoOthers) {
  Session run(2);
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100, 0.99), peak(900, 100, 0.98)});
  run.see_nothing(5);
  for (int i = 0; i < 3; ++i) run.see({peak(940, 120)});
  EXPECT_FALSE(run.with_id(2).lost);
  for (int i = 0; i < 3; ++i) run.see({peak(940, 120), peak(1500, 900)});
  EXPECT_FALSE(run.with_id(1).lost);
  EXPECT_EQ(run.count(), 2);
}

TEST(Tracker, AllAreLostInTheDarkAndReturn) {
  Session run(3);
  const std::vector<xcorr::Peak> peaks{peak(50, 50, 0.9), peak(300, 90, 0.95), peak(90, 400)};
  for (int i = 0; i < 5; ++i) run.see(peaks);
  std::map<std::uint64_t, double> places;
  for (const Track& track : run.tracker.tracks()) places[track.target.id] = track.target.peak.x;
  run.see_nothing(20);
  for (const Track& track : run.tracker.tracks()) EXPECT_EQ(track.target.state, TrackState::lost);
  EXPECT_FALSE(run.tracker.complete(3));
  for (int i = 0; i < 3; ++i) run.see(peaks);
  EXPECT_TRUE(run.tracker.complete(3));
  for (const auto& [id, x] : places) EXPECT_EQ(run.with_id(id).peak.x, x);
}

TEST(Tracker, ALostOnePrefersItsNeighbourhood) {
  Session run;
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100)});
  run.see_nothing(5);
  for (int i = 0; i < 3; ++i) run.see({peak(900, 600, 0.99), peak(120, 100, 0.9)});
  EXPECT_FALSE(run.only().lost);
  expect_at(run.only(), 120, 100);
}

TEST(Tracker, ASecondTargetHasItsOwnIdWhileTheFirstIsLost) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(6);
  for (int i = 0; i < 3; ++i) run.see({peak(700, 400)});
  EXPECT_EQ(run.with_id(1).state, TrackState::lost);
  EXPECT_EQ(run.with_id(2).state, TrackState::tracked);
  for (int i = 0; i < 3; ++i) run.see({peak(700, 400, 0.99), peak(110, 100, 0.9)});
  EXPECT_FALSE(run.with_id(1).lost);
  expect_at(run.with_id(1), 110, 100);
}

TEST(Tracker, AfterAnInterruptionItMayBeAnywhere) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100 + 20 * i, 100)});
  run.tracker.interrupt();
  for (int i = 0; i < 3; ++i) run.see({peak(1500, 900)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_FALSE(run.only().lost);
  EXPECT_NEAR(run.tracker.tracks()[0].trace.expected(run.frame + 1).x, 1500, 0.1);
}

// ---- not mistaken -----------------------------------------------------------------------------

/// The target is hidden; what matches somewhat, far from where it is expected, is not reported.
TEST(Tracker, AnUnsurePlaceIsNotReported) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100), peak(150, 100, 0.55)});
  for (int i = 0; i < 10; ++i) {
    run.see({peak(150, 100, 0.55)});
    ASSERT_TRUE(run.only().lost) << i;
    EXPECT_EQ(run.only().confidence, 0);
    expect_at(run.only(), 100, 100);
  }
  EXPECT_EQ(run.only().state, TrackState::lost);
}

TEST(Tracker, EverythingIsReportedWithoutALeastConfidence) {
  Session run;
  run.rules.settings.min_confidence = 0;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100)});
  run.see({peak(150, 100, 0.51)});
  EXPECT_FALSE(run.only().lost);
  expect_at(run.only(), 150, 100);
  EXPECT_GT(run.only().confidence, 0);
  EXPECT_LT(run.only().confidence, 0.5);
}

/// Something better in the same window, but far from where the target is expected.
TEST(Tracker, ABetterPeakThatAppearsFarFromItIsNotTaken) {
  Session run;
  for (int i = 0; i < 30; ++i) {
    std::vector<xcorr::Peak> peaks{peak(100 + 3.0 * i, 100, 0.85)};
    if (i >= 10) peaks.push_back(peak(160 + 3.0 * i, 110, 0.9));
    run.see(peaks);
    ASSERT_FALSE(run.only().lost);
    expect_at(run.only(), 100 + 3.0 * i, 100);
  }
}

/// A target that was mistaken for something else comes back into view.
TEST(Tracker, MovesToAClearlyBetterPlaceThatStays) {
  Session run;
  for (int i = 0; i < 20; ++i) run.see({peak(100, 100, 0.7)});
  for (int i = 0; i < 3; ++i) {
    run.see({peak(100, 100, 0.7), peak(900, 500 + 4.0 * i, 0.95)});
    expect_at(run.only(), i < 2 ? 100 : 900, i < 2 ? 100 : 508);
  }
  EXPECT_EQ(run.only().id, 1);
  run.see({peak(100, 100, 0.7), peak(900, 512, 0.95)});
  expect_at(run.only(), 900, 512);
}

TEST(Tracker, NoMoveToAPlaceThatIsHardlyBetterOrGone) {
  Session run;
  for (int i = 0; i < 40; ++i) {
    std::vector<xcorr::Peak> peaks{peak(100, 100, 0.8)};
    if (i >= 10) peaks.push_back(peak(900, 500, 0.87));
    if (i % 2) peaks.push_back(peak(500, 700, 0.99));
    run.see(peaks);
    expect_at(run.only(), 100, 100);
  }
}

TEST(Tracker, AFastTargetIsHeld) {
  Session run;
  for (int i = 0; i < 100; ++i) {
    const double x = 66.0 * i;
    if (i > 0) {
      const SearchPlace place = run.tracker.places(run.frame + 1, run.rules).at(0);
      ASSERT_LE(std::abs(place.place.x - x), place.reach) << i;
    }
    xcorr::Peak fast = peak(x, 100);
    fast.width = fast.height = 64;
    run.see({fast});
    ASSERT_FALSE(run.only().lost) << i;
  }
  EXPECT_EQ(run.only().id, 1);
}

// ---- targets that go --------------------------------------------------------------------------

TEST(Tracker, OverTheEdgeItEndsAtOnce) {
  Session run(2);
  run.rules.area = {0, 0, 640, 360};
  for (int i = 0; i < 20; ++i) run.see({peak(410 + 10.0 * i, 100), peak(300, 300)});
  EXPECT_EQ(run.count(), 2);
  run.see({peak(300, 300)});
  run.see({peak(300, 300)});
  EXPECT_EQ(run.count(), 1);
  EXPECT_EQ(run.events.back(), TrackEvent::left);
}

/// One that is hidden elsewhere, or stands at the edge, does not.
TEST(Tracker, NotOverTheEdgeItStays) {
  Session run(2);
  run.rules.area = {0, 0, 640, 360};
  for (int i = 0; i < 20; ++i) run.see({peak(100 + 10.0 * i, 100), peak(0, 300)});
  run.see_nothing(100);
  EXPECT_EQ(run.count(), 2);
}

TEST(Tracker, WhatIsLostForLongIsForgotten) {
  Session run;
  run.rules.settings.forget_after = 20;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(20);
  EXPECT_EQ(run.only().state, TrackState::lost);
  run.see({});
  EXPECT_EQ(run.count(), 0);
  run.see({peak(100, 100)});
  EXPECT_EQ(run.only().id, 2);
  const std::vector<TrackEvent> events{TrackEvent::entered, TrackEvent::lost, TrackEvent::dropped};
  EXPECT_EQ(run.events, events);
}

TEST(Tracker, OrNever) {
  Session run;
  run.rules.settings.forget_after = 0;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(5000);
  EXPECT_EQ(run.only().id, 1);
}

TEST(Tracker, TellsWhatBecomesOfATarget) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(10);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  const std::vector<TrackEvent> events{TrackEvent::entered, TrackEvent::lost, TrackEvent::found};
  EXPECT_EQ(run.events, events);
}

/// Parts on a conveyor, up to six at once, hidden behind a post on their way.
TEST(Tracker, PartsOnAConveyorAreCounted) {
  constexpr int parts = 43, apart = 110, speed = 6;
  Session run(8);
  run.rules.area = {0, 0, 640, 200};
  std::map<std::uint64_t, std::set<int>> seen;
  for (int i = 0; i * speed < parts * apart + 640 + 20 * speed; ++i) {
    std::vector<xcorr::Peak> peaks;
    for (int part = 0; part < parts; ++part) {
      const double x = i * speed - part * apart;
      const bool hidden = x > 300 && x < 312;
      if (x >= 0 && x + size <= 640 && !hidden) peaks.push_back(peak(x, 80, 0.9 + 0.002 * part));
    }
    run.see(peaks);
    for (const Track& track : run.tracker.tracks())
      if (!track.target.lost)
        seen[track.target.id].insert(
            static_cast<int>(std::lround((i * speed - track.target.peak.x) / apart)));
  }
  EXPECT_EQ(seen.size(), parts);
  for (const auto& [id, which] : seen) EXPECT_EQ(which.size(), 1) << "id " << id;
  EXPECT_EQ(std::ranges::count(run.events, TrackEvent::entered), parts);
  EXPECT_EQ(std::ranges::count(run.events, TrackEvent::left), parts);
}

// ---- extremes ---------------------------------------------------------------------------------

TEST(Tracker, AThousandTargets) {
  Session run(1000);
  std::vector<xcorr::Peak> peaks;
  for (int i = 0; i < 1000; ++i) peaks.push_back(peak(i % 40 * 60, i / 40 * 60));
  for (int i = 0; i < 4; ++i) {
    for (xcorr::Peak& each : peaks) each.x += 2;
    run.see(peaks);
  }
  EXPECT_EQ(run.count(), 1000);
  for (const Track& track : run.tracker.tracks())
    EXPECT_EQ(track.target.state, TrackState::tracked);
}

}  // namespace
}  // namespace cudaxcorr
