// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Filters that learn, on a drawn target whose place and size are known to a part of a pixel: they
// find it where it moves, blurs and gets darker, say so when it is not there, and their
// contract.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>
#include <utility>

#include <xcorr/tracker.hpp>

#include "support.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

/// Smooth noise: waves of random directions and phases, no longer than 1 / `finest` pixels.
class Texture {
 public:
  Texture(unsigned seed, double finest) {
    std::mt19937 random(seed);
    const auto uniform = [&](double most) { return most * static_cast<double>(random()) / 0x1p32; };
    for (Wave& wave : waves_)
      wave = {uniform(2 * finest) - finest, uniform(2 * finest) - finest, uniform(7)};
  }
  double operator()(double x, double y) const {
    double sum = 0;
    for (const Wave& wave : waves_) sum += std::cos(wave.x * x + wave.y * y + wave.phase);
    return 128 + 20 * sum;
  }

 private:
  struct Wave {
    double x, y, phase;
  };
  Wave waves_[12];
};

constexpr Size frame_size{320, 240};

class TrackerTest : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    open(GetParam(), device_);
    if (IsSkipped()) return;
    make_tracker({});
  }
  void make_tracker(const TrackerSettings& settings) {
    auto made = Tracker::create(device_, settings);
    ASSERT_TRUE(made.ok()) << made.status().message();
    tracker_ = std::make_unique<Tracker>(std::move(made.value()));
  }

  static Bytes background(double gain = 1) {
    static const Texture texture(1, 0.35);
    Bytes frame(frame_size);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x)
        frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(gain * texture(x, y), 0.0, 255.0));
    return frame;
  }

  /// An image of 1 x 1 stretched into the box, which is turned by so many degrees,
  /// counter-clockwise as seen.
  static void draw(Bytes& frame, const Box& box, unsigned seed = 2, double gain = 1,
                   double angle = 0) {
    const Texture texture(seed, 16);
    const double cosine = std::cos(angle * std::numbers::pi / 180),
                 sine = std::sin(angle * std::numbers::pi / 180);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x) {
        const double dx = x + 0.5 - box.x - box.width / 2, dy = y + 0.5 - box.y - box.height / 2;
        const double u = (cosine * dx - sine * dy) / box.width + 0.5,
                     v = (sine * dx + cosine * dy) / box.height + 0.5;
        if (u < 0 || v < 0 || u >= 1 || v >= 1) continue;
        const double value = gain * texture(u, v);
        frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
  }

  static Bytes blurred(const Bytes& frame, int radius) {
    Bytes out = frame;
    for (int y = radius; y < frame_size.height - radius; ++y)
      for (int x = radius; x < frame_size.width - radius; ++x) {
        int sum = 0;
        for (int j = -radius; j <= radius; ++j)
          for (int i = -radius; i <= radius; ++i) sum += frame.at(x + i, y + j);
        out.at(x, y) = static_cast<std::uint8_t>(sum / ((2 * radius + 1) * (2 * radius + 1)));
      }
    return out;
  }

  void train(const Bytes& frame, const Box& box, std::uint64_t target = 1) {
    const TargetBox training_sample{target, box};
    const Status status = tracker_->train(frame.view(), {&training_sample, 1});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// A frame with the target, which is learnt.
  Bytes learnt_frame(const Box& box) {
    Bytes frame = background();
    draw(frame, box);
    train(frame, box);
    return frame;
  }
  FilterDetection locate(const MatrixView& frame, const Box& box, std::uint64_t target = 1) {
    const TargetBox asked{target, box};
    std::vector<FilterDetection> filter_detections;
    const Status status = tracker_->locate(frame, {&asked, 1}, filter_detections);
    EXPECT_TRUE(status.ok()) << status.message();
    return filter_detections.empty() ? FilterDetection{} : filter_detections.front();
  }

  Device device_;
  std::unique_ptr<Tracker> tracker_;
};

void expect_at(const FilterDetection& filter_detection, const Box& box, double pixels,
               double share) {
  EXPECT_NEAR(filter_detection.box.x + filter_detection.box.width / 2, box.x + box.width / 2,
              pixels);
  EXPECT_NEAR(filter_detection.box.y + filter_detection.box.height / 2, box.y + box.height / 2,
              pixels);
  EXPECT_NEAR(filter_detection.box.width / box.width, 1, share);
  EXPECT_NEAR(filter_detection.box.height / box.height, 1, share);
}

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

/// In two steps, and learning until the next look, it does what it does at once: for more targets
/// than are looked for at a time, one of which is deleted meanwhile.
TEST_P(TrackerTest, DoesTheSameInSteps) {
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
TEST_P(TrackerTest, LearnsInTheFrameThatWasSearched) {
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

TEST_P(TrackerTest, TargetsOfABatchDoNotMix) {
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

TEST_P(TrackerTest, TakesPackedPixelsAndRowsUpsideDown) {
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

TEST_P(TrackerTest, TakesFramesInTheDevicesMemory) {
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
TEST_P(TrackerTest, FollowsManyTargets) {
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
TEST_P(TrackerTest, AgreesWithTheCpu) {
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

TEST_P(TrackerTest, RefusesWhatItCannotLookAt) {
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

TEST_P(TrackerTest, ForgetsAllOthers) {
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

ON_EACH_BACKEND(TrackerTest);

}  // namespace
}  // namespace api
