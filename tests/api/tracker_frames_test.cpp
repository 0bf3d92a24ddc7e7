// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The contract of filters that learn: frames of any kind, many targets, looks and lessons in steps,
// what is refused.
#include <iterator>
#include <limits>
#include <utility>

#include "tracked_target.hpp"

namespace api {
namespace {

class FramesTrackerTest : public TrackerTest {};

/// In two steps, and learning until the next look, it does what it does at once: for more targets
/// than are looked for at a time, one of which is deleted meanwhile.
TEST_P(FramesTrackerTest, DoesTheSameInSteps) {
  std::vector<TargetBox> targets;
  Bytes frame = background(), dark = background(0.5);
  for (int i = 0; i < 70; ++i) {
    const Box box{4.0 + 31 * (i % 10), 4.0 + 33 * (i / 10), 22, 24};
    for (Bytes* const drawn : {&frame, &dark}) draw(*drawn, box, 10 + i, drawn == &dark ? 0.5 : 1);
    targets.push_back({static_cast<std::uint64_t>(i), box});
  }
  const auto is_kept = [](const TargetBox& target) { return target.target != 66; };
  std::vector<TargetBox> kept;
  std::vector<std::uint64_t> numbers;
  std::ranges::copy_if(targets, std::back_inserter(kept), is_kept);
  for (const TargetBox& target : kept) numbers.push_back(target.target);
  std::vector<FilterDetection> at_once, in_steps, none;
  Tracker other = std::move(Tracker::create(device_).value());
  for (const Bytes* const seen : {&frame, &dark}) {
    ASSERT_TRUE(other.train(seen->view(), targets).ok());
    ASSERT_TRUE(tracker_->enqueue_training(seen->view(), targets).ok());
  }
  other.keep_only(numbers);
  tracker_->keep_only(numbers);
  ASSERT_TRUE(tracker_->wait().ok());
  ASSERT_TRUE(other.locate(frame.view(), kept, at_once).ok());
  ASSERT_TRUE(tracker_->enqueue(dark.view(), kept).ok());  // which nothing collects
  ASSERT_TRUE(tracker_->enqueue(frame.view(), kept).ok());
  ASSERT_TRUE(tracker_->collect(in_steps).ok());
  ASSERT_EQ(in_steps.size(), kept.size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(in_steps[i].box.x, at_once[i].box.x) << i;
    EXPECT_EQ(in_steps[i].psr, at_once[i].psr) << i;
    EXPECT_EQ(in_steps[i].first_response, at_once[i].first_response) << i;
    EXPECT_EQ(in_steps[i].color_likeness, at_once[i].color_likeness) << i;
  }
  ASSERT_TRUE(tracker_->collect(none).ok());
  EXPECT_TRUE(none.empty());
}

/// From what an earlier look has brought to the device or, where that is too little, from more: as
/// from the frame itself.
TEST_P(FramesTrackerTest, LearnsInTheFrameThatWasSearched) {
  Tracker other = std::move(Tracker::create(device_).value());
  const Box still{220, 40, 24, 24};
  Box moves{60, 80, 30, 26};
  for (int i = 0; i < 8; ++i, moves.x += 5, moves.y += 9) {
    Bytes frame = background(0.9 + 0.01 * i);
    draw(frame, moves);
    draw(frame, still, 5);
    const std::vector<TargetBox> both{{1, moves}, {2, still}}, first{both[0]};
    if (i == 0) {
      EXPECT_EQ(tracker_->enqueue_training(both).code(), Code::invalid_argument);
      ASSERT_TRUE(tracker_->enqueue(frame.view(), {}).ok());
    } else {
      std::vector<FilterDetection> expected, got;
      ASSERT_TRUE(other.locate(frame.view(), first, expected).ok());
      ASSERT_TRUE(tracker_->enqueue(frame.view(), first).ok());
      ASSERT_TRUE(tracker_->collect(got).ok());
      EXPECT_EQ(got[0].box.x, expected[0].box.x) << i;
      EXPECT_EQ(got[0].psr, expected[0].psr) << i;
      EXPECT_EQ(got[0].first_response, expected[0].first_response) << i;
    }
    const std::vector<TargetBox>& learnt = i % 3 == 0 ? both : first;
    ASSERT_TRUE(other.train(frame.view(), learnt).ok());
    ASSERT_TRUE(tracker_->enqueue_training(learnt).ok());
    ASSERT_TRUE(tracker_->wait().ok());
  }
}

TEST_P(FramesTrackerTest, TargetsOfABatchDoNotMix) {
  const Box boxes[] = {{60, 60, 30, 40}, {200, 120, 50, 36}};
  Bytes frame = background();
  draw(frame, boxes[0], 2);
  draw(frame, boxes[1], 3);
  const TargetBox training_samples[] = {{7, boxes[0]}, {9, boxes[1]}};
  ASSERT_TRUE(tracker_->train(frame.view(), training_samples).ok());
  const TargetBox asked[] = {{9, boxes[1]}, {7, boxes[0]}};
  std::vector<FilterDetection> filter_detections;
  ASSERT_TRUE(tracker_->locate(frame.view(), asked, filter_detections).ok());
  ASSERT_EQ(filter_detections.size(), 2);
  expect_at(filter_detections[0], boxes[1], 0.5, 0.03);
  expect_at(filter_detections[1], boxes[0], 0.5, 0.03);
  const FilterDetection alone = locate(frame.view(), boxes[0], 7);
  EXPECT_EQ(alone.response, filter_detections[1].response);
  EXPECT_EQ(alone.psr, filter_detections[1].psr);
}

TEST_P(FramesTrackerTest, TakesPackedPixelsAndRowsUpsideDown) {
  const Box box{120, 90, 40, 30};
  Bytes frame = background();
  draw(frame, box);
  train(frame, box);
  const FilterDetection plain = locate(frame.view(), box);

  Bytes packed({frame_size.width * 2, frame_size.height});
  for (int y = 0; y < frame_size.height; ++y)
    for (int x = 0; x < frame_size.width; ++x) packed.at(2 * x + 1, y) = frame.at(x, y);
  MatrixView view = packed.view();
  view.size = frame_size;
  view.pixels = packed_luma(2, 1);
  EXPECT_EQ(locate(view, box).response, plain.response);

  Bytes turned(frame_size);
  for (int y = 0; y < frame_size.height; ++y)
    for (int x = 0; x < frame_size.width; ++x)
      turned.at(x, frame_size.height - 1 - y) = frame.at(x, y);
  view = turned.view();
  view.data = &turned.at(0, frame_size.height - 1);
  view.pitch = -view.pitch;
  EXPECT_EQ(locate(view, box).response, plain.response);
}

TEST_P(FramesTrackerTest, TakesFramesInTheDevicesMemory) {
  const Box box{120, 90, 40, 30};
  Bytes frame = background();
  draw(frame, box);
  train(frame, box);
  const Backend backend = GetParam();
  const Runtime& runtime = xcorr::runtime(backend);
  auto block = Block::make(backend, frame.data.size());
  ASSERT_TRUE(block.ok());
  const Copy copy = bytes_copy(block.value().data(), frame.data.data(), frame.data.size());
  ASSERT_TRUE(runtime.copy(copy, Memory::host, Memory::device, {}).ok());
  ASSERT_TRUE(runtime.wait({}).ok());
  MatrixView view = frame.view();
  view.data = block.value().data();
  view.memory = Memory::device;
  EXPECT_EQ(locate(view, box).response, locate(frame.view(), box).response);
}

/// More than are looked for at a time, in an order of their own, some of them away; filters are
/// reused.
TEST_P(FramesTrackerTest, FollowsManyTargets) {
  std::vector<TargetBox> targets, asked;
  Bytes frame = background();
  for (int i = 0; i < 70; ++i) {
    const Box box{4.0 + 31 * (i % 10), 4.0 + 33 * (i / 10), 22, 24};
    draw(frame, box, 10 + i);
    targets.push_back({static_cast<std::uint64_t>(200 - i), box});
  }
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_TRUE(tracker_->train(frame.view(), targets).ok());
    const std::uint64_t kept[] = {targets[3].target, targets[65].target};
    asked.assign(targets.rbegin(), targets.rend());
    std::vector<FilterDetection> filter_detections;
    ASSERT_TRUE(tracker_->locate(frame.view(), asked, filter_detections).ok());
    ASSERT_EQ(filter_detections.size(), asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i)
      expect_at(filter_detections[i], asked[i].box, 0.5, 0.03);
    if (turn == 0) tracker_->keep_only(kept);
  }
}

/// To what is agreed for single precision.
TEST_P(FramesTrackerTest, AgreesWithTheCpu) {
  Tracker other = std::move(Tracker::create(open_device(Backend::cpu).value()).value());
  Box truth{90.3, 80.6, 40, 30};
  for (int i = 0; i < 6; ++i, truth.x += 5.3, truth.y += 2.7) {
    Bytes frame = background();
    draw(frame, truth);
    const TargetBox here{1, truth}, beside{1, {truth.x - 4, truth.y + 3, 40, 30}};
    ASSERT_TRUE(other.train(frame.view(), {&here, 1}).ok());
    train(frame, truth);
    std::vector<FilterDetection> expected;
    ASSERT_TRUE(other.locate(frame.view(), {&beside, 1}, expected).ok());
    const FilterDetection filter_detection = locate(frame.view(), beside.box);
    expect_at(filter_detection, expected[0].box, 0.02, 1e-6);
    EXPECT_NEAR(filter_detection.response, expected[0].response, 0.003);
    EXPECT_NEAR(filter_detection.psr / expected[0].psr, 1, 0.01);
  }
}

TEST_P(FramesTrackerTest, RefusesWhatItCannotLookAt) {
  const Box good{120, 90, 40, 30};
  Bytes frame = background();
  draw(frame, good);
  train(frame, good);
  const FilterDetection before = locate(frame.view(), good);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<FilterDetection> filter_detections;
  for (const Box& box :
       {Box{320, 10, 20, 20}, Box{10, -30, 20, 20}, Box{10, 10, 0.5, 20}, Box{10, 10, 20, -3},
        Box{-10, -10, 400, 300}, Box{nan, 10, 20, 20}, Box{10, 10, infinity, 20},
        Box{10, 10, 2 * most_box_side, 20}, Box{10, 1 - 1e9, 20, 1e9}}) {
    const TargetBox both[] = {{1, {100, 70, 40, 30}}, {2, box}};
    EXPECT_EQ(tracker_->train(frame.view(), both).code(), Code::invalid_argument);
    EXPECT_EQ(tracker_->locate(frame.view(), both, filter_detections).code(),
              Code::invalid_argument);
  }
  const TargetBox known{1, good}, unknown{5, good};
  const Status status = tracker_->locate(frame.view(), {&unknown, 1}, filter_detections);
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("target 5"), std::string::npos);
  EXPECT_EQ(tracker_->train({}, {&known, 1}).code(), Code::invalid_argument);
  const TargetBox twice[] = {{1, {100, 70, 40, 30}}, {1, good}};
  EXPECT_EQ(tracker_->train(frame.view(), twice).code(), Code::invalid_argument);
  EXPECT_EQ(tracker_->train(Image<float>(frame_size).view(), {&known, 1}).code(),
            Code::invalid_argument);
  EXPECT_EQ(locate(frame.view(), good).response, before.response);  // nothing was learnt
}

TEST_P(FramesTrackerTest, ForgetsAllOthers) {
  const Box box{120, 90, 40, 30};
  const Bytes frame = background();
  train(frame, box, 1);
  train(frame, box, 2);
  const std::uint64_t kept = 2;
  tracker_->keep_only({&kept, 1});
  const TargetBox first{1, box}, second{2, box};
  std::vector<FilterDetection> filter_detections;
  EXPECT_FALSE(tracker_->locate(frame.view(), {&first, 1}, filter_detections).ok());
  EXPECT_TRUE(tracker_->locate(frame.view(), {&second, 1}, filter_detections).ok());
}

ON_EACH_BACKEND(FramesTrackerTest);

}  // namespace
}  // namespace api
