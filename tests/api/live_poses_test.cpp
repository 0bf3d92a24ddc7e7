// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that change on the device, turned and scaled: they are found as those of a bank made
// anew are, and what lies in a frame at a pose is cut out as it would lie in the template.
#include <limits>

#include "posed_scene.hpp"

namespace api {
namespace {

using SharedTemplate = std::shared_ptr<LiveTemplate>;

class LivePosesTest : public BackendTest {
 protected:
  SharedTemplate make(const Bytes& pattern) {
    auto made = LiveTemplate::create(device, pattern.view());
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.value();
  }
  Matcher matcher_of(const SharedTemplate& live, const Bytes* mask) {
    Matcher matcher = std::move(Matcher::create(device).value());
    const std::shared_ptr<const LiveTemplate> shared = live;
    const MatrixView mask_view = mask ? mask->view() : MatrixView{};
    EXPECT_TRUE(matcher.set_templates({&shared, 1}, {&mask_view, 1}).ok());
    return matcher;
  }
  static std::vector<Peak> run(Matcher& matcher, const Bytes& frame) {
    return peaks_in(matcher, frame.view());
  }
  std::vector<Peak> anew(const Bytes& frame, const Bytes& pattern, const MatchSettings& settings,
                         const Bytes* mask) {
    Matcher matcher = std::move(Matcher::create(device).value());
    const MatrixView view = pattern.view(), mask_view = mask ? mask->view() : MatrixView{};
    EXPECT_TRUE(matcher.set_templates({&view, 1}, {&mask_view, 1}).ok());
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    return run(matcher, frame);
  }
  static void expect_same(const std::vector<Peak>& got, const std::vector<Peak>& expected) {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].score, expected[i].score);
      EXPECT_EQ(got[i].similarity, expected[i].similarity);
      EXPECT_EQ(got[i].pose.center_x, expected[i].pose.center_x);
      EXPECT_EQ(got[i].pose.center_y, expected[i].pose.center_y);
      EXPECT_EQ(got[i].pose.angle, expected[i].pose.angle);
      EXPECT_EQ(got[i].pose.scale, expected[i].pose.scale);
    }
  }
  void replace(LiveTemplate& live, const Bytes& by) {
    ASSERT_TRUE(live.blend(by.view(), 0, 0, 1).ok());
    ASSERT_TRUE(live.wait().ok());
  }
  Bytes cut(LiveTemplate& live, const Bytes& frame, const Pose& pose) {
    auto patch = live.cut(frame.view(), pose);
    EXPECT_TRUE(patch.ok()) << patch.status().message();
    Bytes cut(live.view().size);
    if (!patch.ok()) return cut;
    EXPECT_EQ(patch.value().size, cut.size);
    EXPECT_TRUE(live.wait().ok());
    EXPECT_TRUE(runtime(device.backend)
                    .copy(bytes_copy(cut.data.data(), patch.value().data, cut.data.size()),
                          Memory::device, Memory::host, {})
                    .ok());
    EXPECT_TRUE(runtime(device.backend).wait({}).ok());
    return cut;
  }

  /// Two parts in one frame, the template first one, then the other, then the first again.
  void follow(const Scene& one, const Scene& other, MatchSettings settings, const Bytes* mask) {
    const Bytes patterns[] = {one.pattern(), other.pattern()};
    const Bytes frames[] = {one.frame({170, 130}), other.frame({170, 130})};
    const SharedTemplate live = make(patterns[0]);
    Matcher each = matcher_of(live, mask), some = matcher_of(live, mask);
    ASSERT_TRUE(each.prepare(ElementType::u8, {170, 130}, settings).ok());
    ASSERT_TRUE(some.prepare(ElementType::u8, {170, 130}, settings).ok());
    for (int i = 0; i < 4; ++i) {
      const Bytes &pattern = patterns[i % 2], &frame = frames[i % 2];
      if (i > 0) replace(*live, pattern);
      const auto expected = anew(frame, pattern, settings, mask);
      EXPECT_EQ(expected.size(), one.poses.size());
      expect_same(run(each, frame), expected);
      if (i % 2 == 1) expect_same(run(some, frame), expected);
    }
  }
};

MatchSettings all_round() {
  MatchSettings s;
  s.poses.angle_extent = 360;
  s.max_peaks = 4;
  s.threshold = 0.75;
  return s;
}

Scene scene_of(unsigned seed, bool round = false) {
  return {.part = round ? Size{41, 41} : Size{48, 40},
          .round = round,
          .poses = {{50.3, 60.7, 33.3}, {118.25, 58.5, -120}},
          .inside = Texture(seed)};
}

TEST_P(LivePosesTest, FoundAsABankMadeAnew) {
  follow(scene_of(1), scene_of(5), all_round(), nullptr);
}

TEST_P(LivePosesTest, BehindAMask) {
  const Bytes mask = scene_of(1, true).disc();
  follow(scene_of(1, true), scene_of(5, true), all_round(), &mask);
}

TEST_P(LivePosesTest, OfSeveralSizes) {
  MatchSettings settings = all_round();
  settings.poses.scale_min = 0.9;
  settings.poses.scale_max = 1.1;
  follow(scene_of(1), scene_of(5), settings, nullptr);
}

TEST_P(LivePosesTest, AtFullSize) {
  MatchSettings settings = all_round();
  settings.poses.exhaustive = true;
  settings.poses.angle_step = 6;
  settings.threshold = 0.6;
  follow(scene_of(1), scene_of(5), settings, nullptr);
}

/// Only images near the pose are made anew: those that are searched later are too, by then.
TEST_P(LivePosesTest, OfAVicinityThatMoves) {
  const Scene first = scene_of(1), second = scene_of(5);
  const Bytes pattern = second.pattern(), frame = second.frame({170, 130});
  const SharedTemplate live = make(first.pattern());
  Matcher matcher = matcher_of(live, nullptr);
  MatchSettings settings = all_round();
  settings.max_peaks = 1;
  const auto search = [&](double angle) {
    settings.poses.vicinity = PoseVicinity{angle, 15, 1, 0};
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    return run(matcher, frame);
  };
  EXPECT_TRUE(search(30).empty());
  replace(*live, pattern);
  for (const int i : {0, 1, 0}) {
    const auto peaks = search(second.poses[i].angle + 4);
    ASSERT_EQ(peaks.size(), 1u) << i;
    EXPECT_NEAR(peaks[0].pose.center_x, second.poses[i].center_x, 0.1);
    EXPECT_NEAR(peaks[0].pose.angle, second.poses[i].angle, 0.3);
  }
}

/// The frame's very pixels.
TEST_P(LivePosesTest, CutsAtQuarterTurns) {
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const SharedTemplate wide = make(Bytes({12, 8}, 1)), odd = make(Bytes({9, 9}, 1));
  for (const auto& [x, y] : {std::pair{0, 0}, {48, 36}, {17, 5}})
    EXPECT_EQ(cut(*wide, frame, {x + 5.5, y + 3.5}).data, crop(frame, {x, y, 12, 8}).data);
  const Bytes square = crop(frame, {20, 10, 9, 9});
  const Bytes turned = cut(*odd, frame, {24, 14, 90}), half = cut(*odd, frame, {24, 14, -180});
  for (int y = 0; y < 9; ++y)
    for (int x = 0; x < 9; ++x) {
      // Counter-clockwise as seen: the template's upper edge lies on the left.
      EXPECT_EQ(turned.at(x, y), square.at(y, 8 - x));
      EXPECT_EQ(half.at(x, y), square.at(8 - x, 8 - y));
    }
}

TEST_P(LivePosesTest, CutsWhatLiesThere) {
  for (const Pose& pose : {Pose{80.3, 60.7, 33.3}, Pose{70.8, 61.2, -95.6, 0.8},
                           Pose{85.25, 64.5, 178, 1.25}, Pose{84, 63, 10, 2.2}}) {
    const Scene scene{.part = {40, 32}, .poses = {pose}};
    const Bytes pattern = scene.pattern();
    const SharedTemplate live = make(Bytes(pattern.size, 1));
    const Bytes found = cut(*live, scene.frame({170, 130}), pose);
    int worst = 0;
    for (int y = 2; y < 30; ++y)  // background shows through at the rim
      for (int x = 2; x < 38; ++x)
        worst = std::max(worst, std::abs(found.at(x, y) - pattern.at(x, y)));
    EXPECT_LE(worst, 8) << pose.angle << " " << pose.scale;
  }
}

/// What is cut out is blended, and then found where it was.
TEST_P(LivePosesTest, LearnsWhatItFinds) {
  const Scene scene = scene_of(7);
  const Bytes frame = scene.frame({170, 130});
  const SharedTemplate live = make(scene_of(1).pattern());
  Matcher matcher = matcher_of(live, nullptr);
  MatchSettings settings = all_round();
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
  EXPECT_TRUE(run(matcher, frame).empty());
  const auto patch = live->cut(frame.view(), scene.poses[0]);
  ASSERT_TRUE(patch.ok());
  ASSERT_TRUE(live->blend(patch.value(), 0, 0, 1).ok());
  ASSERT_TRUE(live->wait().ok());
  const auto peaks = run(matcher, frame);
  ASSERT_EQ(peaks.size(), 2u);
  for (const Peak& peak : peaks) {
    const Pose& pose = scene.poses[peak.pose.center_x > 85 ? 1 : 0];
    EXPECT_NEAR(peak.pose.center_x, pose.center_x, 0.1);
    EXPECT_NEAR(peak.pose.center_y, pose.center_y, 0.1);
    EXPECT_NEAR(peak.pose.angle, pose.angle, 0.3);
  }
}

TEST_P(LivePosesTest, CutsFromPackedFramesOnTheDevice) {
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 3);
  Bytes packed({2 * frame.size.width, frame.size.height}, 200);
  for (std::size_t i = 0; i < frame.data.size(); ++i) packed.data[2 * i + 1] = frame.data[i];
  const Block memory = upload(device, packed.data.data(), packed.data.size());
  MatrixView view = packed.view();
  view.data = memory.data();
  view.memory = Memory::device;
  view.size = frame.size;
  view.pixels = packed_luma(2, 1);
  const SharedTemplate live = make(Bytes({9, 8}, 1));
  const auto patch = live->cut(view, {34, 23.5});
  ASSERT_TRUE(patch.ok());
  ASSERT_TRUE(live->blend(patch.value(), 0, 0, 1).ok());
  Bytes pixels({9, 8});
  ASSERT_TRUE(live->read(pixels.data.data()).ok());
  EXPECT_EQ(pixels.data, crop(frame, {30, 20, 9, 8}).data);
}

TEST_P(LivePosesTest, CutsThatAreRefused) {
  const Bytes frame = random_image<std::uint8_t>({60, 44}, 1);
  const SharedTemplate live = make(Bytes({12, 8}, 1));
  const auto message = [&](const Pose& pose) {
    const Status s = live->cut(frame.view(), pose).status();
    EXPECT_EQ(s.code(), Code::invalid_argument);
    return s.message();
  };
  const double nan = std::nan(""), infinite = std::numeric_limits<double>::infinity();
  for (const Pose& pose : {Pose{nan, 20}, Pose{20, nan}, Pose{30, 20, nan}, Pose{infinite, 20},
                           Pose{30, 20, infinite}})
    EXPECT_EQ(message(pose), "the pose is not finite");
  for (const double scale : {0.0, -1.0, 0.05, 11.0, nan, infinite})
    EXPECT_EQ(message({30, 20, 0, scale}), "the scale must be in [0.1, 10]");
  for (const Pose& pose :
       {Pose{5.25, 20}, Pose{54.75, 20}, Pose{30, 3.25}, Pose{30, 40.75}, Pose{-1e300, 20},
        Pose{30, 1e300}, Pose{5.5, 3.5, 45}, Pose{30, 20, 0, 6}})
    EXPECT_EQ(message(pose), "the template at that pose is not wholly inside the frame");
  EXPECT_EQ(live->cut({}, {30, 20}).status().message(), "the frame has no data");
  const Image<float> floats({60, 44}, 1);
  EXPECT_EQ(live->cut(floats.view(), {30, 20}).status().code(), Code::invalid_argument);
  EXPECT_EQ(live->version(), 0u);
}

ON_EACH_BACKEND(LivePosesTest);

}  // namespace
}  // namespace api
