// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that filters follow, on made-up peaks and rated_detections.
#include "by_filter_session.hpp"
#include "tracking/association/confidence.hpp"

namespace xcorr::follow {
namespace {

TEST_F(ByFilterTest, ATemplateFindsATargetAndItsFilterFollowsIt) {
  see({peak(100, 50)}, {});
  ASSERT_EQ(tracker_.tracks().size(), 1);
  ASSERT_EQ(tracker_.training_samples().size(), 1);  // the first detection
  for (int i = 1; i <= 4; ++i) see({}, {rated_detection(100 + 5 * i, 50, 0.9, 1, 20 + 2 * i)});
  EXPECT_EQ(track().target.state, TrackState::tracked);
  EXPECT_EQ(track().target.peak.x, 120);
  EXPECT_EQ(track().target.peak.width, 28);
  EXPECT_EQ(track().target.confidence, 0.9);
  const Pose& pose = track().target.peak.pose;
  EXPECT_EQ(pose.center_x, 120 + 13.5);
  EXPECT_EQ(pose.center_y, 50 + 6.5);
  EXPECT_EQ(pose.scale, 1.4);
  EXPECT_EQ(pose.width, 28);
  const auto places = tracker_.places_for_filters(frame_ + 1, {}, rules_);
  ASSERT_EQ(places.size(), 1);
  EXPECT_EQ(places[0].target, 1);
  EXPECT_NEAR(places[0].box.x, 125, 2);
  EXPECT_EQ(places[0].box.width, 28);
}

TEST_F(ByFilterTest, WhatIsUnsureIsNeitherReportedNorLearnt) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 5; ++i) see({}, {rated_detection(100, 50)});
  see({}, {rated_detection(100, 50, 0.3)});
  EXPECT_TRUE(track().target.lost);
  EXPECT_EQ(track().target.confidence, 0);
  EXPECT_TRUE(tracker_.training_samples().empty());
}

TEST_F(ByFilterTest, ALostTargetIsSoughtAtPeaksAndFoundAfterThreeDetections) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 5; ++i) see({}, {rated_detection(100, 50)});
  for (int i = 0; i < 5; ++i) see({}, {});
  EXPECT_EQ(track().target.state, TrackState::lost);
  const Peak peaks[] = {peak(400, 300)};
  const auto places = tracker_.places_for_filters(frame_ + 1, peaks, rules_);
  ASSERT_EQ(places.size(), 3);  // where it was lost, where it is expected, and the peak
  EXPECT_EQ(places[2].box.x, 400);
  see({peaks[0]}, {rated_detection(100, 50, 0.1), rated_detection(401, 300)});
  EXPECT_EQ(track().target.state, TrackState::tentative);
  see({}, {rated_detection(402, 300)});
  EXPECT_TRUE(track().target.lost);
  see({}, {rated_detection(403, 300)});
  EXPECT_EQ(track().target.state, TrackState::tracked);
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.peak.x, 403);
  EXPECT_EQ(track().target.id, 1);
}

/// Another one may look the same, however sure its filter is.
TEST_F(ByFilterTest, WhatIsFoundElsewhereIsInDoubt) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 5; ++i) see({}, {rated_detection(100, 50, 0.99)});
  EXPECT_EQ(track().target.confidence, 0.99);
  for (int i = 0; i < 5; ++i) see({}, {});
  for (int i = 0; i < 3; ++i) see({}, {rated_detection(100, 50, 0.99)});  // where it was lost
  EXPECT_EQ(track().target.confidence, 0.99);
  for (int i = 0; i < 5; ++i) see({}, {});
  for (int i = 0; i < 3; ++i) see({}, {nothing_nearby(), rated_detection(401, 300, 0.99)});
  EXPECT_FALSE(track().target.lost);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(track().target.confidence, 0.85);
    see({}, {rated_detection(401, 300, 0.99)});
  }
}

/// Of what a detector has found again its filter is as sure as ever.
TEST_F(ByFilterTest, WhatADetectorFindsIsNotInDoubt) {
  rules_.settings.detections = true;
  const auto detect = [this](std::vector<Peak> peaks, std::vector<RatedDetection> seen) {
    tracker_.update_by_detections(++frame_, peaks, seen, rules_, last_id_);
  };
  for (int i = 0; i < 5; ++i) detect({peak(100, 50)}, {rated_detection(100, 50, 0.99)});
  for (int i = 0; i < 5; ++i) detect({}, {});
  ASSERT_TRUE(track().target.lost);
  detect({peak(102, 50)}, {rated_detection(102, 50, 0.5)});
  ASSERT_FALSE(track().target.lost);
  detect({}, {rated_detection(102, 50, 0.99)});
  EXPECT_EQ(track().target.id, 1);
  EXPECT_EQ(track().target.confidence, 0.99);
}

/// What resembles it, far away: the filter is sharp there, but responds less than to the target.
TEST_F(ByFilterTest, ALostTargetNeedsItsUsualResponse) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50)});
  for (int i = 0; i < 5; ++i) see({}, {});
  RatedDetection alike = rated_detection(400, 300, 0.99);
  alike.response = 0.8 * rated_detection(0, 0).response;
  for (int i = 0; i < 20; ++i) see({}, {nothing_nearby(), alike});
  EXPECT_EQ(track().target.state, TrackState::lost);
}

/// Where its colours are less suffices, but for small boxes: as sharp a response that is a quarter
/// of the usual one, if what was learnt last resembles the first view, or less yet if it is
/// recognised.
TEST_F(ByFilterTest, ALostTargetIsFoundWhereItsColoursAre) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50)});
  EXPECT_TRUE(tracker_.sought(rules_).empty());
  for (int i = 0; i < 5; ++i) see({}, {});
  const auto sought = tracker_.sought(rules_);
  ASSERT_EQ(sought.size(), 1);
  EXPECT_EQ(sought[0].target, 1);
  const Targets lost = tracker_;
  struct Case {
    double share, sure, recognition;
    bool by_color, found;
    double resemblance = 1, side = 40, likeness = 1;
  };
  for (const auto& [share, sure, recognition, by_color, found, resemblance, side, likeness] :
       {Case{0.3, 0.96, 0, true, true},
        {0.3, 0.96, 0, false, false},
        {0.2, 0.96, 0, true, false},
        {0.3, 0.94, 0, true, false},
        {0.2, 0.5, 0.9, true, true},
        {0.2, 0.5, 0.9, false, false},
        {0.1, 0.5, 0.9, true, false},
        {0.2, 0.3, 0.9, true, false},
        {0.2, 0.5, 0.1, true, false},
        {0.3, 0.96, 0, true, false, 0.7},
        {0.2, 0.5, 0.9, true, true, 0.7},
        {0.3, 0.96, 0, true, false, 1, 15},
        {0.2, 0.5, 0.9, true, false, 1, 15},
        {0.2, 0.5, 0.9, true, false, 1, 40, 0.5}}) {
    tracker_ = lost;
    for (int i = 0; i < 3; ++i) {
      RatedDetection there = rated_detection(400 + i, 300, sure);
      there.response *= share;
      there.recognition = recognition;
      there.resemblance = resemblance;
      there.likeness = likeness;
      there.box.width = there.box.height = side;
      there.by_color = by_color && i == 0;  // then it is where the candidate is expected
      if (i == 0)
        see({}, {nothing_nearby(), there});
      else
        see({}, {there});
    }
    EXPECT_EQ(track().target.state, found ? TrackState::tracked : TrackState::lost)
        << share << ' ' << sure << ' ' << recognition << ' ' << by_color << ' ' << resemblance
        << ' ' << side << ' ' << likeness;
  }
}

/// It is followed all along, wherever its filter responds to most, and found as soon as that is it.
TEST_F(ByFilterTest, ALostTargetIsFollowedUnseen) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50)});
  for (int i = 0; i < 30; ++i) {  // by more than its size, and unsure all the time
    see({}, {rated_detection(100 + 2 * i, 50, 0.1)});
    EXPECT_TRUE(track().target.lost);
    EXPECT_TRUE(tracker_.training_samples().empty());
    const auto places = tracker_.places_for_filters(frame_ + 1, {}, rules_);
    if (i >= 5) {
      EXPECT_EQ(places[0].box.x, 100 + 2 * i);
    }
  }
  RatedDetection weak = rated_detection(160, 50, 0.5);
  weak.response *= 0.45;
  for (int i = 0; i < 3; ++i) see({}, {weak});
  EXPECT_EQ(track().target.state, TrackState::lost);
  weak.response = 0.6 * rated_detection(0, 0).response;
  for (int i = 0; i < 2; ++i) see({}, {weak});
  EXPECT_TRUE(track().target.lost);
  see({}, {weak});
  EXPECT_EQ(track().target.state, TrackState::tracked);
  EXPECT_EQ(track().target.peak.x, 160);

  for (int i = 0; i < 60; ++i) see({}, {rated_detection(160, 50, 0.1)});
  for (int i = 0; i < 5; ++i) see({}, {weak});
  EXPECT_TRUE(track().target.lost);  // after so long that may be anything
}

/// Where it is followed, what is recognised and has 0.4 of the usual response is the target,
/// however long ago that was lost; what is elsewhere, or has less, or is not recognised may be
/// anything.
TEST_F(ByFilterTest, WhatIsRecognisedIsTheTarget) {
  struct Case {
    double x, share, recognition;
    bool held;
  };
  constexpr Case cases[] = {{101, 0.42, 0.8, true},
                            {101, 0.38, 0.8, false},
                            {101, 0.42, 0, false},
                            {400, 0.42, 0.8, false}};
  for (const Case& one : cases)
    for (const bool is_lost : {false, true}) {
      SCOPED_TRACE(testing::Message() << &one - cases << (is_lost ? " lost" : " followed"));
      tracker_ = {};
      see({peak(100, 50)}, {});
      for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50, 0.9, last_id_)});
      for (int i = 0; i < (is_lost ? 60 : 0); ++i)
        see({}, {rated_detection(100, 50, 0.001, last_id_)});
      RatedDetection seen = rated_detection(one.x, 50, 0.1, last_id_);
      seen.response *= one.share;
      seen.recognition = one.recognition;
      for (int i = 0; i < (is_lost ? 2 : 1); ++i) see({}, {seen});
      EXPECT_EQ(track().target.lost, is_lost || !one.held);
      see({}, {seen});
      EXPECT_EQ(track().target.lost, !one.held);
      EXPECT_EQ(track().target.confidence, one.held ? one.recognition : 0);
    }
}

/// That lowers the confidence, and nothing else: what is not like the first view is in doubt where
/// it is responded to more than usual, or in any case.
TEST_F(ByFilterTest, WhatIsRespondedToMoreThanTheFirstViewAllowsIsInDoubt) {
  constexpr struct {
    double growth, most_growth, confidence;
  } cases[] = {{1.3, 1.2, 0.85}, {1.3, 1.4, 0.99}, {0.8, 1.01, 0.99}, {0.8, 0.9, 0.85}};
  for (const auto& [growth, most_growth, confidence] : cases) {
    SCOPED_TRACE(testing::Message() << growth << " of at most " << most_growth);
    tracker_ = {};
    see({peak(100, 50)}, {});
    for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50, 0.9, last_id_)});
    RatedDetection seen = rated_detection(103, 50, 0.99, last_id_);
    seen.response *= growth;
    seen.most_growth = most_growth;
    see({}, {seen});
    EXPECT_EQ(track().target.confidence, confidence);
    EXPECT_EQ(track().target.peak.x, 103);
    EXPECT_EQ(track().trace.sure, 0.99);
  }
}

/// Half of it is still there; then it goes.
TEST_F(ByFilterTest, ATargetLeavesWithItsMiddle) {
  see({peak(600, 50)}, {});
  for (int i = 1; i <= 8; ++i) see({}, {rated_detection(600 + 3 * i, 50)});
  see({}, {});  // expected at 627 to 647, its middle inside
  ASSERT_EQ(tracker_.tracks().size(), 1);
  for (int i = 1; i < rules_.settings.min_frames_for_lost; ++i) see({}, {});
  EXPECT_TRUE(tracker_.tracks().empty());
}

/// Beside it, while it hides: less of a response is enough only where the target is expected.
TEST_F(ByFilterTest, SuddenJumpNeedsFullResponse) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50)});
  see({}, {});
  RatedDetection alike = rated_detection(125, 50);
  alike.response = 0.6 * rated_detection(0, 0).response;
  see({}, {alike});
  EXPECT_TRUE(track().target.lost);
  RatedDetection here = rated_detection(103, 50);
  here.response = alike.response;
  see({}, {here});
  EXPECT_FALSE(track().target.lost);
  alike.response = 0.9 * rated_detection(0, 0).response;  // it did jump
  see({}, {alike});
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.peak.x, 125);
}

/// Between other pixels it responds less to what stood still, but sharply still.
TEST_F(ByFilterTest, AHighPsrAllowsALowerResponse) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 50; ++i) see({}, {rated_detection(100, 50)});
  for (int i = 0; i < 5; ++i) see({}, {});
  RatedDetection beside = rated_detection(110, 50, 0.99);
  beside.response *= 0.75;
  for (int i = 0; i < 3; ++i) see({}, {nothing_nearby(), beside});
  EXPECT_EQ(track().target.state, TrackState::lost);
  beside.confidence = 0.9999;
  see({}, {nothing_nearby(), beside});
  for (int i = 0; i < 2; ++i) see({}, {beside});
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.peak.x, 110);
}

/// Blur resembles blur: what is taken for the target shrinks to nothing, and stays sure.
TEST_F(ByFilterTest, WhatShrinksToBlurIsNotTheTarget) {
  see({peak(100, 50)}, {});
  double width = 20;
  for (; width > 2; width *= 0.98) {
    see({}, {rated_detection(100, 50, 0.99, 1, width)});
    EXPECT_EQ(track().target.lost, width < 10) << width;  // half of what it was at first
  }
  for (int i = 0; i < 20; ++i) see({}, {rated_detection(100, 50, 0.99, 1, width)});
  EXPECT_EQ(track().target.state, TrackState::lost);
}

/// A pixel for each cell of its filter is enough, however much a target shrank.
TEST_F(ByFilterTest, ALargeTargetMayShrinkFurther) {
  see({{0, 100, 50, 200, 100, 0.95, 0.95}}, {});
  for (double width = 200; width > 15; width *= 0.98) {
    see({}, {rated_detection(100, 50, 0.99, 1, width)});
    EXPECT_FALSE(track().target.lost) << width;
  }
}

/// Their filters respond alike to both; each has gone on behind what hid them.
TEST_F(ByFilterTest, OfTwoLostTargetsThatLookTheSameTheNearerIsFound) {
  rules_.max_targets = 2;
  const auto left = [](int t, std::uint64_t id) {
    return rated_detection(100 + 4 * t, 50, 0.95, id);
  };
  const auto right = [](int t, std::uint64_t id) {
    return rated_detection(300 - 4 * t, 50, 0.95, id);
  };
  see({peak(100, 50), peak(300, 50)}, {});
  for (int t = 1; t < 20; ++t) see({}, {left(t, 1), right(t, 2)});
  for (int t = 20; t < 35; ++t) see({}, {});
  for (int t = 35; t < 38; ++t) {  // the one is in view first, and surer to both
    const RatedDetection first = right(t, 1), same = right(t, 2);
    see({}, {first, same});
  }
  EXPECT_TRUE(tracker_.tracks()[0].target.lost);
  EXPECT_FALSE(tracker_.tracks()[1].target.lost);
  for (int t = 38; t < 41; ++t) see({}, {left(t, 1), right(t, 1), right(t, 2)});
  EXPECT_FALSE(tracker_.tracks()[0].target.lost);
  EXPECT_EQ(tracker_.tracks()[0].target.peak.x, left(40, 1).box.x);
}

TEST_F(ByFilterTest, APeakAloneFindsNoLostTarget) {
  see({peak(100, 50)}, {});
  for (int i = 0; i < 5; ++i) see({}, {rated_detection(100, 50)});
  for (int i = 0; i < 20; ++i) see({peak(400, 300)}, {rated_detection(400, 300, 0.3)});
  EXPECT_EQ(track().target.state, TrackState::lost);
  EXPECT_EQ(tracker_.tracks().size(), 1);
}

TEST_F(ByFilterTest, OfTwoTargetsAtOnePlaceTheSurerIsSeen) {
  rules_.max_targets = 2;
  see({peak(100, 50), peak(200, 50)}, {});
  ASSERT_EQ(tracker_.tracks().size(), 2);
  for (int i = 0; i < 5; ++i)
    see({}, {rated_detection(100, 50, 0.9, 1), rated_detection(200, 50, 0.9, 2)});
  see({}, {rated_detection(150, 50, 0.8, 1), rated_detection(151, 50, 0.9, 2)});
  EXPECT_TRUE(tracker_.tracks()[0].target.lost);
  EXPECT_FALSE(tracker_.tracks()[1].target.lost);
}

/// What the filter has learnt by now may be something else. It is followed all the same.
TEST_F(ByFilterTest, WhatNoLongerLooksAsItDidFirstIsNotSure) {
  rules_.settings.min_confidence = 0.7;
  see({peak(100, 50)}, {});
  RatedDetection seen = rated_detection(100, 50, 0.99);
  for (int i = 0; i < 5; ++i) see({}, {seen});
  EXPECT_EQ(track().target.confidence, 0.99);
  seen.resemblance = 0.8;
  see({}, {seen});
  EXPECT_EQ(track().target.confidence, 0.8);
  seen.resemblance = 0.6;
  bool learnt = false;
  for (int i = 1; i <= 20; ++i) {
    seen.box.x = 100 + i;
    see({}, {seen});
    EXPECT_TRUE(track().target.lost);
    EXPECT_EQ(track().target.confidence, 0);
    EXPECT_EQ(track().target.peak.x, 100);
    EXPECT_EQ(track().target.state, TrackState::tracked);
    learnt |= !tracker_.training_samples().empty();
  }
  EXPECT_TRUE(learnt);
  seen.resemblance = 0.9;
  see({}, {seen});
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.peak.x, 120);
}

TEST_F(ByFilterTest, NothingIsSeenOutsideOfWhatIsSearched) {
  see({peak(10, 50)}, {});
  see({}, {rated_detection(-15, 50)});
  EXPECT_TRUE(tracker_.tracks().empty() || track().target.lost);
}

TEST(ConfidenceOfFilters, GrowsWithThePsr) {
  EXPECT_EQ(confidence(0.0), 0);
  EXPECT_NEAR(confidence(12.1), 0.5, 0.01);
  EXPECT_LT(confidence(8.0), 0.2);
  EXPECT_GT(confidence(16.0), 0.8);
}

double resemblance_of(double first_response, double color_likeness) {
  FilterDetection filter_detection;
  filter_detection.first_response = first_response;
  filter_detection.color_likeness = color_likeness;
  return resemblance(filter_detection);
}

/// The values that docs/tracking.md gives. Alone it hides nothing by default.
TEST(Resemblance, IsThatOfTheFormula) {
  EXPECT_NEAR(resemblance_of(0, 0), 0.40, 0.005);
  EXPECT_GE(resemblance_of(0, 0), TrackSettings().min_confidence);
  EXPECT_NEAR(resemblance_of(0.1, 0.5), 0.88, 0.005);
  EXPECT_NEAR(resemblance_of(0.3, 0.9), 0.99, 0.005);
}

}  // namespace
}  // namespace xcorr::follow
