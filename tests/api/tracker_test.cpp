// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Filters that learn find a target where it moves, blurs, turns and gets darker, and say so when it
// is not there.
#include "tracked_target.hpp"

namespace api {
namespace {

TEST_P(TrackerTest, FollowsWhatMoves) {
  Box truth{60.3, 80.6, 40, 30}, box = truth;
  for (int i = 0; i < 25; ++i, truth.x += 6.3, truth.y += 1.7) {
    Bytes frame = background();
    draw(frame, truth);
    if (i > 0) {
      const FilterDetection filter_detection = locate(frame.view(), box);
      expect_at(filter_detection, truth, 2, 0.12);
      EXPECT_GT(filter_detection.psr, 15) << i;
      box = filter_detection.box;
    }
    train(frame, box);
  }
}

/// It is learnt nevertheless, and responded to; but it says that this is not what was shown first.
TEST_P(TrackerTest, TellsWhatNoLongerLooksAsItDidFirst) {
  const Box box{120, 90, 40, 40};
  Bytes frame = learnt_frame(box);
  const FilterDetection same = locate(frame.view(), box);
  EXPECT_GT(same.first_response, 0.15);
  EXPECT_NEAR(same.color_likeness, 1, 1e-6);
  draw(frame, box, 5, 0.4);
  for (int i = 0; i < 60; ++i) train(frame, box);
  const FilterDetection other = locate(frame.view(), box);
  EXPECT_GT(other.response, 0.3);
  EXPECT_LT(other.first_response, 0.3 * same.first_response);
  EXPECT_LT(other.color_likeness, 0.7);
}

/// What is sure needs no comparison with the first view, and to compare teaches nothing.
TEST_P(TrackerTest, TellsHowMuchOfWhatIsPartlyHiddenLooksAsAtFirst) {
  const Box box{120, 90, 40, 40};
  Bytes frame = learnt_frame(box);
  const FilterDetection sure = locate(frame.view(), box);
  EXPECT_EQ(sure.first_response_here, 0);
  EXPECT_EQ(sure.color_likeness_here, 0);
  draw(frame, {130, 90, 30, 40}, 5, 0.4);
  const FilterDetection partly = locate(frame.view(), box);
  EXPECT_GT(partly.first_response_here, 0.05);
  EXPECT_LT(partly.first_response_here, 0.8 * sure.first_response);
  EXPECT_GT(partly.color_likeness_here, 0.5);
  EXPECT_LT(partly.color_likeness_here, 0.95);
  EXPECT_EQ(locate(frame.view(), box).color_likeness_here, partly.color_likeness_here);
  // In several places at once it is compared in each.
  const Box beside{112, 96, 40, 40};
  const FilterDetection from_beside = locate(frame.view(), beside);
  const TargetBox places[] = {{1, box}, {1, beside}};
  std::vector<FilterDetection> both;
  ASSERT_TRUE(tracker_->locate(frame.view(), places, both).ok());
  for (const auto& [at, alone] : {std::pair(both[0], partly), std::pair(both[1], from_beside)}) {
    EXPECT_EQ(at.first_response_here, alone.first_response_here);
    EXPECT_EQ(at.color_likeness_here, alone.color_likeness_here);
  }
  EXPECT_NE(both[0].first_response_here, both[1].first_response_here);
}

/// All the way round, by up to 4.2 degrees per frame, while it moves.
TEST_P(TrackerTest, FollowsWhatTurns) {
  make_tracker({.turns = true});
  Box truth{80, 90, 48, 36}, box = truth;
  double turned = 0, angle = 0, worst = 0;
  for (int i = 0; i < 125; ++i) {
    Bytes frame = background();
    draw(frame, truth, 2, 1, turned);
    if (i > 0) {
      const TargetBox asked{1, box, angle};
      std::vector<FilterDetection> filter_detections;
      ASSERT_TRUE(tracker_->locate(frame.view(), {&asked, 1}, filter_detections).ok());
      expect_at(filter_detections[0], truth, 2.5, 0.12);
      EXPECT_GT(filter_detections[0].psr, 13) << i;
      box = filter_detections[0].box;
      angle = filter_detections[0].angle;
      worst = std::max(worst, std::abs(angle - turned));
    }
    const TargetBox training_sample{1, box, angle};
    ASSERT_TRUE(tracker_->train(frame.view(), {&training_sample, 1}).ok());
    turned += 3 + 1.2 * std::sin(0.1 * i);
    truth.x += 0.5;
  }
  EXPECT_GT(turned, 370);
  EXPECT_LT(worst, 4);
}

/// What does not turn keeps its angle, and one that is turned when it is shown first is upright in
/// its own eyes.
TEST_P(TrackerTest, WhatDoesNotTurnKeepsItsAngle) {
  make_tracker({.turns = true});
  const Box box{120, 90, 48, 36};
  Bytes frame = background();
  draw(frame, box, 2, 1, 70);
  double angle = 70;
  for (int i = 0; i < 20; ++i) {
    const TargetBox here{1, box, angle};
    ASSERT_TRUE(tracker_->train(frame.view(), {&here, 1}).ok());
    std::vector<FilterDetection> filter_detections;
    ASSERT_TRUE(tracker_->locate(frame.view(), {&here, 1}, filter_detections).ok());
    angle = filter_detections[0].angle;
    EXPECT_NEAR(angle, 70, 0.5);
    expect_at(filter_detections[0], box, 1, 0.03);
  }
}

/// A quarter turn changes no pixel of a crop, but where they come from.
TEST_P(TrackerTest, AQuarterTurnIsSeenAsUpright) {
  const Box box{120, 90, 40, 40};
  Bytes frame = background(), turned(frame_size);
  draw(frame, box);
  const int middle_x = 140, middle_y = 110;
  for (int y = 0; y < frame_size.height; ++y)
    for (int x = 0; x < frame_size.width; ++x) {
      // By a quarter counter-clockwise round the box's middle: what was on the right is above.
      const int from_x = middle_x + (middle_y - 1 - y), from_y = middle_y + (x - middle_x);
      turned.at(x, y) = frame.at(std::clamp(from_x, 0, frame_size.width - 1),
                                 std::clamp(from_y, 0, frame_size.height - 1));
    }
  const auto located = [&](const Bytes& in, double angle) {
    make_tracker({.turns = true});
    train(frame, box);
    const TargetBox asked{1, box, angle};
    std::vector<FilterDetection> filter_detections;
    EXPECT_TRUE(tracker_->locate(in.view(), {&asked, 1}, filter_detections).ok());
    return filter_detections.at(0);
  };
  const FilterDetection upright = located(frame, 0), on_its_side = located(turned, 90);
  EXPECT_NEAR(on_its_side.response, upright.response, 1e-4);
  EXPECT_NEAR(on_its_side.angle, upright.angle + 90, 0.05);
  expect_at(on_its_side, box, 0.5, 0.03);
}

TEST_P(TrackerTest, FollowsWhatBlursAndDarkens) {
  const Box box{120, 90, 44, 44};
  Bytes frame = background();
  draw(frame, box);
  train(frame, box);
  for (int i = 1; i <= 2; ++i) {
    Bytes darker = background(0.6);
    draw(darker, box, 2, 0.6);
    const Bytes changed = blurred(darker, i);
    expect_at(locate(changed.view(), {box.x - 5, box.y + 4, box.width, box.height}), box, 1, 0.05);
    train(changed, box);
  }
}

TEST_P(TrackerTest, IsSharpOnlyWhereTheTargetIs) {
  const Box box{120, 90, 40, 40};
  Bytes with = background(), without = background(), other = background();
  draw(with, box);
  draw(other, box, 3);
  train(with, box);
  EXPECT_GT(locate(with.view(), box).psr, 40);
  EXPECT_LT(locate(without.view(), box).psr, 15);
  EXPECT_LT(locate(other.view(), box).psr, 15);
}

TEST_P(TrackerTest, TakesTargetsOfAnySize) {
  for (const Box& box : {Box{100, 100, 4, 4}, Box{0, 0, 320, 240}, Box{20, 100, 280, 6},
                         Box{-20, 200, 60, 60}, Box{0, 0, 1, 1}}) {
    Bytes frame = background();
    draw(frame, box);
    const auto target = static_cast<std::uint64_t>(10 + box.width);
    train(frame, box, target);
    const FilterDetection filter_detection = locate(frame.view(), box, target);
    if (box.width >= 4) expect_at(filter_detection, box, std::max(1.0, box.width / 40), 0.05);
  }
}

/// Nor is anything found where there is nothing to be seen.
TEST_P(TrackerTest, AFlatTargetIsFoundNowhere) {
  const Box box{120, 90, 40, 30};
  const Bytes flat(frame_size, 90);
  train(flat, box, 1);
  // A filter of a flat target knows a gray alone, and responds to that everywhere.
  constexpr double nowhere = 4;
  EXPECT_LT(locate(flat.view(), box, 1).psr, nowhere);
  EXPECT_LT(locate(background().view(), box, 1).psr, nowhere);
  Bytes frame = background();
  draw(frame, box);
  train(frame, box, 2);
  EXPECT_LT(locate(flat.view(), box, 2).psr, nowhere);
}

ON_EACH_BACKEND(TrackerTest);

}  // namespace
}  // namespace api
