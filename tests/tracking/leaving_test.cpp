// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What leaves, and is known again by its filter.
#include "by_filter_session.hpp"
#include "tracking/association/confidence.hpp"

namespace xcorr::follow {
namespace {

class LeavingTest : public ByFilterTest {
 protected:
  /// Target 1 goes over the right edge. \param resemblance  to its first view then
  void leave(double resemblance = 1) {
    see({peak(500, 50)}, {});
    for (int x = 515; x <= 620; x += 15) {
      RatedDetection one = rated_detection(x, 50);
      one.resemblance = resemblance;
      see({}, {one});
    }
    for (int i = 1; i < rules_.settings.min_frames_for_lost; ++i) {
      see({}, {});  // it may turn back
      ASSERT_EQ(tracker_.tracks().size(), 1);
      ASSERT_TRUE(track().target.lost);
    }
    see({}, {});
    ASSERT_TRUE(tracker_.tracks().empty());
    ASSERT_EQ(tracker_.events().size(), 1);
    ASSERT_EQ(tracker_.events()[0].event, TrackEvent::left);
  }
  bool is_remembered() const { return !tracker_.ids().empty(); }
};

/// There it may be hidden, or have turned back.
TEST_F(LeavingTest, WhatWasMissedFarFromTheEdgeHasLeftOnlyBeyondDoubt) {
  see({peak(400, 50)}, {});
  for (int i = 1; i <= 8; ++i) see({}, {rated_detection(400 + 20 * i, 50)});
  for (int i = 0; i < 4; ++i) see({}, {});
  // Its middle is expected beyond the edge, by less than that may be wrong.
  ASSERT_EQ(tracker_.tracks().size(), 1);
  EXPECT_GT(track().trace.expected(frame_).x + 10, 640 + 5);
  for (int i = 0; i < 8; ++i) see({}, {});
  ASSERT_EQ(tracker_.tracks().size(), 1);
  EXPECT_EQ(track().target.state, TrackState::lost);
}

/// What is quick may be beyond the edge before a filter sees it there.
TEST_F(LeavingTest, WhatIsSurelyBeyondTheEdgeHasLeft) {
  see({peak(20, 50)}, {});
  for (int i = 1; i <= 9; ++i) see({}, {rated_detection(20 + 66 * i, 50)});
  for (int i = 0; i < rules_.settings.min_frames_for_lost; ++i) see({}, {});
  EXPECT_TRUE(tracker_.tracks().empty());
}

/// Its filter sees it there, but what is not in view is not learnt.
TEST_F(LeavingTest, WhatIsOverTheEdgeByHalfIsFollowedAndComesBack) {
  see({peak(600, 50)}, {});
  for (int i = 1; i <= 9; ++i) see({}, {rated_detection(600 + 3 * i, 50)});
  for (int i = 0; i < 20; ++i) {
    see({}, {rated_detection(634, 50)});  // 6 of 20 columns are in view
    ASSERT_EQ(tracker_.tracks().size(), 1);
    EXPECT_FALSE(track().target.lost);
    EXPECT_EQ(track().target.peak.x, 634);
    EXPECT_EQ(track().target.state, TrackState::tracked);
    EXPECT_TRUE(tracker_.training_samples().empty());
    EXPECT_TRUE(tracker_.events().empty());
  }
  see({}, {rated_detection(628, 50)});
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.id, 1);
  see({}, {rated_detection(637, 50)});  // 3 of 20
  EXPECT_TRUE(track().target.lost);
  EXPECT_FALSE(track().seen());
}

/// Of what leaves a part is not seen, so it is responded to with less. Elsewhere that is not it.
TEST_F(LeavingTest, WhatLeavesIsRespondedToWithLess) {
  for (const bool leaves : {true, false}) {
    const double begin = leaves ? 593 : 493;
    see({peak(begin, 50)}, {});
    for (int i = 1; i <= 9; ++i) see({}, {rated_detection(begin + 3 * i, 50, 1, last_id_)});
    RatedDetection weak = rated_detection(begin + 30, 50, 0.6, last_id_);
    weak.response *= 0.3;
    see({}, {weak});  // of 20 columns 17 are in view where it leaves, before it was all
    EXPECT_EQ(track().target.lost, !leaves);
    tracker_.end();
  }
}

/// Of several targets that look the same the next one would be taken for it.
TEST_F(LeavingTest, OneOfSeveralHasLeftAtOnce) {
  rules_.max_targets = 2;
  see({peak(600, 50)}, {});
  for (int i = 1; i <= 11; ++i) see({}, {rated_detection(600 + 3 * i, 50)});
  see({}, {});
  EXPECT_TRUE(tracker_.tracks().empty());
  ASSERT_EQ(tracker_.events().size(), 1);
  EXPECT_EQ(tracker_.events()[0].event, TrackEvent::left);
}

/// A place over the edge confirms nothing.
TEST_F(LeavingTest, WhatBeginsOverTheEdgeIsNoTarget) {
  see({peak(615, 50)}, {});
  see({}, {rated_detection(632, 50)});
  EXPECT_TRUE(tracker_.tracks().empty());
}

TEST_F(LeavingTest, WhatHasLeftComesBackAsANewTargetWithItsFilter) {
  leave();
  EXPECT_EQ(tracker_.ids(), std::vector<std::uint64_t>{1});
  EXPECT_TRUE(tracker_.places_for_filters(frame_ + 1, {}, rules_).empty());
  // The template is not sure enough to begin a target there.
  Peak doubtful = peak(300, 200);
  doubtful.similarity = 0.4;
  const auto places = tracker_.places_for_filters(frame_ + 1, std::span(&doubtful, 1), rules_);
  ASSERT_EQ(places.size(), 1);
  EXPECT_EQ(places[0].target, 1);
  EXPECT_EQ(places[0].box.x, 300);
  for (int i = 0; i < 2; ++i) {
    see({doubtful}, {rated_detection(300 + i, 200, 0.95)});
    EXPECT_TRUE(tracker_.tracks().empty());
  }
  see({}, {rated_detection(302, 200, 0.95)});
  ASSERT_EQ(tracker_.tracks().size(), 1);
  EXPECT_EQ(track().target.id, 2);
  EXPECT_EQ(track().target.state, TrackState::tracked);
  EXPECT_FALSE(track().target.lost);
  EXPECT_EQ(track().target.peak.x, 302);
  ASSERT_EQ(tracker_.events().size(), 1);
  EXPECT_EQ(tracker_.events()[0].event, TrackEvent::entered);
  EXPECT_EQ(tracker_.events()[0].target.id, 2);
  EXPECT_EQ(tracker_.ids(), std::vector<std::uint64_t>{1});
  see({}, {rated_detection(303, 200)});
  EXPECT_EQ(track().target.peak.x, 303);
}

TEST_F(LeavingTest, WhatResemblesItTooLittleIsNotIt) {
  leave();
  for (int i = 0; i < 5; ++i) see({}, {rated_detection(300, 200, 0.85)});
  EXPECT_TRUE(tracker_.tracks().empty());
  RatedDetection weak = rated_detection(300, 200, 0.95);
  weak.response *= 0.8;
  for (int i = 0; i < 5; ++i) see({}, {weak});
  EXPECT_TRUE(tracker_.tracks().empty());
}

TEST_F(LeavingTest, AFilterThatMayHaveLearntSomethingElseIsForgotten) {
  leave(confidence_in_doubt - 0.01);
  EXPECT_FALSE(is_remembered());
}

TEST_F(LeavingTest, ItIsForgottenAfterAWhile) {
  leave();
  for (int i = 0; i < rules_.settings.forget_after - 10; ++i) see({}, {});
  EXPECT_TRUE(is_remembered());
  for (int i = 0; i < 10; ++i) see({}, {});
  EXPECT_FALSE(is_remembered());
}

TEST_F(LeavingTest, ItIsForgottenWhereANewTargetTakesItsRoom) {
  leave();
  see({peak(100, 300)}, {});
  see({}, {rated_detection(100, 300, 0.9, 2)});
  EXPECT_EQ(tracker_.ids(), std::vector<std::uint64_t>{2});
}

TEST_F(LeavingTest, ItEndsWithAllTargets) {
  leave();
  tracker_.end();
  EXPECT_FALSE(is_remembered());
  EXPECT_TRUE(tracker_.events().empty());
}

/// Its filter can only say that it is what was seen there first.
TEST_F(LeavingTest, WhatTheTemplateWasNotSureOfIsInDoubt) {
  for (const bool sure : {true, false}) {
    Peak first = peak(100, 50);
    first.similarity = sure ? 0.95 : 0.8;
    see({first}, {});
    for (int i = 0; i < 3; ++i) see({}, {rated_detection(100, 50, 0.99, last_id_)});
    EXPECT_EQ(track().target.confidence, sure ? 0.99 : confidence_in_doubt);
    tracker_.end();
  }
}

}  // namespace
}  // namespace xcorr::follow
