// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that are lost, and what they are found by.
#include <map>

#include "session.hpp"

namespace xcorr::follow {
namespace {

TEST(FoundAgain, IsFoundAgainAfterThreeDetections) {
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
TEST(FoundAgain, ALostOneIsNotWhatShowsForAMoment) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(300, 30)});
  run.see_nothing(10);
  for (int i = 0; i < 20; ++i) {
    run.see(i % 3 == 2 ? std::vector<Peak>() : std::vector{peak(600, 200)});
    ASSERT_TRUE(run.only().lost) << i;
  }
}

/// Nor what matches badly, or as well as something else does.
TEST(FoundAgain, ALostOneIsNotWhatCannotBeToldFromOthers) {
  Session run;
  for (int i = 0; i < 10; ++i) run.see({peak(300, 30)});
  run.see_nothing(60);
  for (int i = 0; i < 20; ++i) {
    run.see(i < 10 ? std::vector{peak(600, 200, 0.75)}
                   : std::vector{peak(600, 200, 0.85), peak(60, 300, 0.84)});
    ASSERT_TRUE(run.only().lost) << i;
  }
}

TEST(FoundAgain, AfterAFarReturnItsVelocityIsThatOfItsFirstDetections) {
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
TEST(FoundAgain, LostOnesReturnAnywhereWithoutDistractors) {
  Session run(2);
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100, 0.99), peak(900, 100, 0.98)});
  run.see_nothing(5);
  for (int i = 0; i < 3; ++i) run.see({peak(940, 120)});
  EXPECT_FALSE(run.with_id(2).lost);
  for (int i = 0; i < 3; ++i) run.see({peak(940, 120), peak(1500, 900)});
  EXPECT_FALSE(run.with_id(1).lost);
  EXPECT_EQ(run.count(), 2);
}

TEST(FoundAgain, AllAreLostInTheDarkAndReturn) {
  Session run(3);
  const std::vector<Peak> peaks{peak(50, 50, 0.9), peak(300, 90, 0.95), peak(90, 400)};
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

TEST(FoundAgain, ALostOnePrefersItsNeighbourhood) {
  Session run;
  for (int i = 0; i < 3; ++i) run.see({peak(100, 100)});
  run.see_nothing(5);
  for (int i = 0; i < 3; ++i) run.see({peak(900, 600, 0.99), peak(120, 100, 0.9)});
  EXPECT_FALSE(run.only().lost);
  expect_at(run.only(), 120, 100);
}

TEST(FoundAgain, ASecondTargetHasItsOwnIdWhileTheFirstIsLost) {
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

TEST(FoundAgain, AfterAnInterruptionItMayBeAnywhere) {
  Session run(2);
  for (int i = 0; i < 5; ++i) run.see({peak(100 + 20 * i, 100)});
  run.tracker.interrupt();
  for (int i = 0; i < 3; ++i) run.see({peak(1500, 900)});
  EXPECT_EQ(run.only().id, 1);
  EXPECT_FALSE(run.only().lost);
  EXPECT_NEAR(run.tracker.tracks()[0].trace.expected(run.frame + 1).x, 1500, 0.1);
}

}  // namespace
}  // namespace xcorr::follow
