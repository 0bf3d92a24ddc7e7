// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled parts, in frames that are made, see posed_scene.hpp.
#include "posed_scene.hpp"

namespace api {
namespace {

class PosesTest : public PosedTest {};

const std::vector<Pose> five_parts = {{60.3, 50.7, 0},
                                      {160.25, 60.5, 33.3},
                                      {240, 170, 120},
                                      {70.8, 180.1, -95.6},
                                      {150.4, 150.9, 178.2}};

TEST_P(PosesTest, PartsAtAnyAngle) {
  const Scene scene{.poses = five_parts};
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), all_round(8)), scene);
}

TEST_P(PosesTest, RoundParts) {
  const Scene scene{.part = {41, 41}, .round = true, .poses = five_parts};
  const Bytes mask = scene.disc();
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), all_round(8), &mask), scene);
}

TEST_P(PosesTest, PartsOfAnySize) {
  const Scene scene{
      .poses = {{60.3, 50.7, 10, 0.8}, {160.25, 60.5, 75, 1.25}, {230, 170, -140, 1.1}}};
  MatchSettings settings = all_round(8);
  settings.poses.scale_min = 0.75;
  settings.poses.scale_max = 1.3;
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), settings), scene);
}

/// Scores at steps of the search say little of such parts: the place is where they fit best.
TEST_P(PosesTest, FinePatterns) {
  std::vector<Pose> poses;
  for (int i = 0; i < 12; ++i)
    poses.push_back({50.3 + 70.13 * (i % 4), 45.6 + 70.29 * (i / 4), 31.7 * i, 0.8 + 0.04 * i});
  const Scene scene{.part = {40, 36}, .poses = poses, .inside = Texture(5, 2.2, 3.5)};
  MatchSettings settings = all_round(12);
  settings.threshold = 0.4;
  settings.poses.scale_min = 0.8;
  settings.poses.scale_max = 1.25;
  expect_parts(match(scene.frame({310, 230}), scene.pattern(), settings), scene, 0.05, 0.1,
               settings.threshold);
}

TEST_P(PosesTest, NarrowParts) {
  const Scene scene{.part = {120, 24}, .poses = {{90.3, 80.7, 20}, {200.5, 160.2, 101}}};
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), all_round(8)), scene);
}

TEST_P(PosesTest, SizesFarApart) {
  const Scene scene{
      .part = {64, 56},
      .poses = {{60.3, 50.7, 10, 0.55}, {200.25, 110.5, 75, 1.9}, {60, 200, -140, 1}}};
  MatchSettings settings = all_round(8);
  settings.poses.scale_min = 0.5;
  settings.poses.scale_max = 2;
  expect_parts(match(scene.frame({320, 260}), scene.pattern(), settings), scene);
}

/// Also of noise, of which no level above shows anything.
TEST_P(PosesTest, UprightCopiesScoreOne) {
  const Bytes frame = random_image<std::uint8_t>({120, 90}, 5);
  for (const Rect place : {Rect{31, 22, 24, 20}, {50, 41, 25, 19}, {0, 0, 17, 23}}) {
    for (const int levels : {0, -1}) {
      MatchSettings settings = all_round(1);
      settings.poses.pyramid_levels = levels;
      settings.poses.angle_extent = 90;
      const auto peaks = match(frame, crop(frame, place), settings);
      ASSERT_EQ(peaks.size(), 1U);
      EXPECT_EQ(peaks[0].score, 1);
      EXPECT_NEAR(peaks[0].x, place.x, 1e-6);
      EXPECT_NEAR(peaks[0].y, place.y, 1e-6);
      EXPECT_NEAR(peaks[0].pose.angle, 0, 1e-6);
      EXPECT_EQ(peaks[0].width, place.width);
      EXPECT_EQ(peaks[0].height, place.height);
    }
  }
}

TEST_P(PosesTest, OnlyTheAnglesAskedFor) {
  const Scene scene{.poses = five_parts};
  MatchSettings settings = all_round(8);
  settings.poses.angle_start = 20;
  settings.poses.angle_extent = 110;
  Scene expected = scene;
  expected.poses = {five_parts[1], five_parts[2]};
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), settings), expected);
}

TEST_P(PosesTest, EverythingAtFullSize) {
  const Scene scene{.poses = five_parts};
  MatchSettings settings = all_round(8);
  settings.poses.exhaustive = true;
  settings.poses.pyramid_levels = 2;  // does not count
  expect_parts(match(scene.frame({300, 240}), scene.pattern(), settings), scene);
}

/// Bit for bit.
TEST_P(PosesTest, ManyPartsAtOneAngle) {
  std::vector<Pose> poses;
  for (int i = 0; i < 80; ++i) poses.push_back({15.0 + 20 * (i % 10), 14.0 + 20 * (i / 10), 0});
  const Scene scene{.part = {13, 13}, .poses = poses, .inside = Texture(3, 3, 12)};
  MatchSettings settings = all_round(200);
  settings.poses.angle_start = -1;
  settings.poses.angle_extent = 2;
  const Bytes frame = scene.frame({212, 170});
  for (const bool exhaustive : {false, true}) {
    settings.poses.exhaustive = exhaustive;
    EXPECT_EQ(match(frame, scene.pattern(), settings).size(), poses.size()) << exhaustive;
  }
}

TEST_P(PosesTest, FewerPeaksThanParts) {
  const Scene scene{.poses = five_parts};
  const Bytes frame = scene.frame({300, 240});
  const auto all = match(frame, scene.pattern(), all_round(8));
  const auto two = match(frame, scene.pattern(), all_round(2));
  ASSERT_EQ(two.size(), 2U);
  for (std::size_t i = 0; i < two.size(); ++i) EXPECT_EQ(two[i].score, all[i].score);
}

/// A part of which two templates have an image is one peak, of the image that is more like it.
TEST_P(PosesTest, OnlyTheBestTemplate) {
  const Scene scene{.poses = five_parts};
  const Bytes frame = scene.frame({300, 240}), good = scene.pattern();
  Bytes worse = good;
  for (int x = 10; x < 16; ++x)
    for (int y = 10; y < 16; ++y) worse.at(x, y) = 128;
  const std::array<MatrixView, 2> templates{worse.view(), good.view()};
  const std::array<MatrixView, 2> no_masks{};
  MatchSettings settings = all_round(8);
  EXPECT_EQ(match(device, frame, templates, no_masks, settings).size(), 10u);
  settings.best_template = true;
  const auto best = match(device, frame, templates, no_masks, settings);
  expect_parts(best, scene);
  for (const Peak& peak : best) EXPECT_EQ(peak.template_index, 1u);
}

/// Parts whose places are nearer to each other than that along both axes are one, the best of them.
TEST_P(PosesTest, PartsNearEachOther) {
  const Scene scene{.part = {25, 25}, .poses = {{60, 60, 10}, {92, 60, -50}, {150, 120, 75}}};
  const Bytes frame = scene.frame({210, 180});
  MatchSettings settings = all_round(8);
  settings.min_peak_distance = 30;
  EXPECT_EQ(match(frame, scene.pattern(), settings).size(), 3u);
  settings.min_peak_distance = 40;
  EXPECT_EQ(match(frame, scene.pattern(), settings).size(), 2u);
}

TEST_P(PosesTest, EveryNormedMethod) {
  const Scene scene{.poses = {{60.3, 50.7, 40}}};
  for (const Method method : {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed}) {
    MatchSettings settings = all_round(1);
    settings.method = method;
    settings.threshold = 0.8;
    expect_parts(match(scene.frame({150, 120}), scene.pattern(), settings), scene);
  }
}

/// Least squares, too, are right with a gain of either sign.
TEST_P(PosesTest, PartsOfEitherContrast) {
  Scene scene;
  scene.poses = {
      {70.4, 60.2, 33, 1}, {220.3, 70.8, -110, 1}, {80.7, 190.1, 75, 1}, {215.2, 200.6, 160, 1}};
  scene.positives = 2;
  const Bytes frame = scene.frame({300, 260});
  MatchSettings s = all_round(4);
  const auto parts = [&](Polarity polarity) {
    s.polarity = polarity;
    const auto peaks = match(frame, scene.pattern(), s);
    for (const Peak& peak : peaks) {
      EXPECT_GT(peak.score, 0.9);
      EXPECT_EQ(peak.similarity, peak.score);
      EXPECT_EQ(peak.inverted, peak.pose.center_y > 130);
    }
    return peaks;
  };
  expect_parts(parts(Polarity::either), scene);
  Scene half = scene;
  half.poses.resize(2);
  expect_parts(parts(Polarity::same), half);
  half.poses = {scene.poses[2], scene.poses[3]};
  expect_parts(parts(Polarity::inverted), half);
}

/// Which part of the range is searched is another one for each frame, also past the half turn.
TEST_P(PosesTest, OnlyNearAPose) {
  Scene scene;
  scene.poses = {{70.4, 60.2, 33, 0.85},
                 {220.3, 70.8, -110, 1},
                 {80.7, 190.1, 178, 1.2},
                 {215.2, 200.6, 70, 1}};
  const Bytes frame = scene.frame({300, 260}), pattern = scene.pattern();
  MatchSettings s = all_round(4);
  s.poses.scale_min = 0.8;
  s.poses.scale_max = 1.25;
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  const auto found = [&](std::optional<PoseVicinity> vicinity) {
    s.poses.vicinity = vicinity;
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, s).ok());
    return peaks_in(matcher, frame.view());
  };
  const auto expect_only = [&](PoseVicinity vicinity, const Pose& part) {
    Scene alone = scene;
    alone.poses = {part};
    expect_parts(found(vicinity), alone);
  };
  const auto has = [&](const std::vector<Peak>& peaks, const Pose& part) {
    return std::ranges::any_of(peaks, [&](const Peak& peak) {
      return std::hypot(peak.pose.center_x - part.center_x, peak.pose.center_y - part.center_y) < 5;
    });
  };
  expect_parts(found({}), scene);
  const double all = 10;
  expect_only({40, 15, 1, all}, scene.poses[0]);
  expect_only({-120, 15, 1, all}, scene.poses[1]);
  expect_only({-175, 15, 1, all}, scene.poses[2]);
  const auto small = found(PoseVicinity{0, 360, 0.8, 0}),
             large = found(PoseVicinity{0, 360, 1.25, 0});
  EXPECT_TRUE(has(small, scene.poses[0]));
  EXPECT_FALSE(has(small, scene.poses[2]));
  EXPECT_TRUE(has(large, scene.poses[2]));
  EXPECT_FALSE(has(large, scene.poses[0]));
  expect_parts(found(PoseVicinity{50, 360, 1, all}), scene);
  EXPECT_TRUE(found(PoseVicinity{130, 10, 1, all}).empty());
  // At least the nearest pose.
  EXPECT_TRUE(has(found(PoseVicinity{33.5, 0, 0.851, 0}), scene.poses[0]));
  expect_parts(found({}), scene);
}

/// Of full size, whatever the pyramid makes of a window.
TEST_P(PosesTest, FlatPlacesAreNoMatch) {
  Scene scene;
  scene.poses = {{70.4, 60.2, 33, 1}, {220.3, 70.8, -110, 1}};
  Bytes frame = scene.frame({300, 140});
  for (int y = 0; y < 140; ++y)
    for (int x = 150; x < 300; ++x)
      frame.at(x, y) = static_cast<std::uint8_t>(100 + frame.at(x, y) / 8);
  const Bytes pattern = scene.pattern();
  double sum = 0, squares = 0;
  for (const std::uint8_t pixel : pattern.data) {
    sum += pixel;
    squares += pixel * pixel;
  }
  const double n = double(pattern.data.size()), spread = std::sqrt(squares / n - sum * sum / n / n);
  MatchSettings s = all_round(2);
  EXPECT_EQ(match(frame, pattern, s).size(), 2u);
  for (const int levels : {-1, 0}) {
    s.poses.pyramid_levels = levels;
    s.min_contrast = 0.1 * spread;
    EXPECT_EQ(match(frame, pattern, s).size(), 2u) << levels;
    s.min_contrast = 0.25 * spread;
    const auto peaks = match(frame, pattern, s);
    ASSERT_EQ(peaks.size(), 1u) << levels;
    EXPECT_NEAR(peaks[0].pose.center_x, 70.4, 0.1);
    s.min_contrast = 1.5 * spread;
    EXPECT_EQ(match(frame, pattern, s).size(), 0u) << levels;
  }
}

TEST_P(PosesTest, MovingRegion) {
  const Scene scene{.poses = five_parts};
  const Bytes frame = scene.frame({300, 240}), pattern = scene.pattern();
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  MatchSettings settings = all_round(1);
  for (const std::size_t part : {1, 3, 4}) {
    const Pose& pose = five_parts[part];
    settings.search_region = {int(pose.center_x) - 45, int(pose.center_y) - 47, 90, 92};
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view());
    Scene expected = scene;
    expected.poses = {pose};
    expect_parts(peaks, expected);
  }
}

/// What needs no new plan has the same effect as with one.
TEST_P(PosesTest, ThresholdThatMoves) {
  const Scene scene{.poses = five_parts};
  const Bytes frame = scene.frame({300, 240}), pattern = scene.pattern();
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  for (const double threshold : {0.9999, 0.3, 0.75}) {
    MatchSettings settings = all_round(8);
    settings.threshold = threshold;
    settings.poses.max_overlap = threshold;
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view());
    const auto expected = match(frame, pattern, settings);
    ASSERT_EQ(peaks.size(), expected.size());
    for (std::size_t i = 0; i < peaks.size(); ++i) EXPECT_EQ(peaks[i].score, expected[i].score);
  }
}

TEST_P(PosesTest, NoPlaceForThem) {
  const Bytes pattern = random_image<std::uint8_t>({40, 40}, 1);
  for (const Size size : {Size{20, 100}, Size{39, 39}})
    EXPECT_TRUE(match(random_image<std::uint8_t>(size, 2), pattern, all_round(3)).empty());
  EXPECT_TRUE(match(Bytes({100, 100}, 128), pattern, all_round(3)).empty());
  EXPECT_TRUE(
      match(random_image<std::uint8_t>({100, 100}, 2), Bytes({40, 40}, 7), all_round(3)).empty());
}

TEST_P(PosesTest, WithoutRefinementWholePixels) {
  const Scene scene{.poses = {{60.3, 50.7, 40}}};
  MatchSettings settings = all_round(1);
  settings.subpixel = Subpixel::none;
  const auto peaks = match(scene.frame({150, 120}), scene.pattern(), settings);
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(std::fmod(2 * peaks[0].pose.center_x, 1), 0);
  EXPECT_NEAR(peaks[0].pose.center_x, 60.3, 1);
}

TEST_P(PosesTest, SameAsOnTheCpu) {
  const Scene scene{.poses = five_parts};
  const Bytes frame = scene.frame({300, 240}), pattern = scene.pattern();
  MatchSettings settings = all_round(8);
  for (const bool subpixel : {false, true}) {
    settings.subpixel = subpixel ? Subpixel::least_squares : Subpixel::none;
    const auto here = match(frame, pattern, settings);
    const auto there = match(Device{}, frame, pattern, settings);
    ASSERT_EQ(here.size(), there.size());
    for (std::size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(here[i].score, there[i].score);
      EXPECT_NEAR(here[i].pose.center_x, there[i].pose.center_x, subpixel ? 1e-3 : 0);
      EXPECT_NEAR(here[i].pose.center_y, there[i].pose.center_y, subpixel ? 1e-3 : 0);
      EXPECT_NEAR(here[i].pose.angle, there[i].pose.angle, subpixel ? 1e-2 : 0);
    }
  }
}

TEST_P(PosesTest, WhatIsRefused) {
  Matcher matcher = std::move(Matcher::create(device).value());
  const Bytes pattern = random_image<std::uint8_t>({20, 12}, 1);
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  const auto refused = [&](auto change, const char* named) {
    MatchSettings settings = all_round(1);
    change(settings);
    const Status s = matcher.prepare(ElementType::u8, {100, 80}, settings);
    EXPECT_FALSE(s.ok()) << named;
    EXPECT_NE(s.message().find(named), std::string::npos) << s.message();
  };
  const double nan = std::nan("");
  refused([](MatchSettings& s) { s.poses.angle_extent = 361; }, "angle_extent");
  refused([&](MatchSettings& s) { s.poses.angle_extent = nan; }, "angle_extent");
  refused([&](MatchSettings& s) { s.poses.angle_start = nan; }, "angle_start");
  refused([](MatchSettings& s) { s.poses.angle_step = -1; }, "angle_step");
  refused([](MatchSettings& s) { s.poses.scale_min = 0.05; }, "scale_min");
  refused([&](MatchSettings& s) { s.poses.scale_max = nan; }, "scale_max");
  refused([](MatchSettings& s) { s.poses.scale_min = 0.3; }, "fewer than 4 pixels");
  refused([](MatchSettings& s) { s.poses.scale_step = 2; }, "scale_step");
  refused([](MatchSettings& s) { s.poses.pyramid_levels = 9; }, "pyramid_levels");
  refused([](MatchSettings& s) { s.poses.max_overlap = 1.5; }, "max_overlap");
  for (const PoseVicinity& vicinity :
       {PoseVicinity{nan, 1, 1, 1}, PoseVicinity{0, -1, 1, 1}, PoseVicinity{0, 1, 0, 1},
        PoseVicinity{0, 1, nan, 1}, PoseVicinity{0, 1, 1, -0.1}, PoseVicinity{0, nan, 1, 1}})
    refused([&](MatchSettings& s) { s.poses.vicinity = vicinity; }, "vicinity");
  refused([](MatchSettings& s) { s.method = Method::ccorr; }, "normed");
  refused([](MatchSettings& s) { s.prefilter_sigma = 1; }, "prefilter");
  refused(
      [](MatchSettings& s) {
        s.poses.angle_step = 1e-4;
        s.poses.pyramid_levels = 0;
      },
      "too many");
  refused([](MatchSettings& s) { s.poses.pyramid_levels = 2; },
          "pyramid_levels of 2: template 0 of 20x12 pixels can be halved 1 times");
  // Halved once it is too small to be recognised: then it is not.
  MatchSettings deep = all_round(1);
  deep.poses.pyramid_levels = 1;
  EXPECT_TRUE(matcher.prepare(ElementType::u8, {100, 80}, deep).ok());
}

/// A size beyond the frame is searched as far as it fits; where none does, nothing is found, and
/// all_fit() says so.
TEST_P(PosesTest, SizesBeyondTheFrame) {
  Scene scene;
  scene.poses = {{60, 50, 0, 1.5}};
  const Bytes frame = scene.frame({120, 100}), pattern = scene.pattern();
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  MatchSettings s;
  s.poses.scale_min = 1;
  s.poses.scale_max = 4;
  const auto count = [&] {
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, s).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view());
    return peaks.size();
  };
  EXPECT_EQ(count(), 1u);
  EXPECT_TRUE(matcher.all_fit().ok());
  s.poses.scale_min = 3;
  EXPECT_EQ(count(), 0u);
  EXPECT_NE(matcher.all_fit().message().find("template 0 of 48x40 does not fit"),
            std::string::npos);
}

ON_EACH_BACKEND(PosesTest);

}  // namespace
}  // namespace api
