// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled parts on edges: where they are to a part of a pixel, lit otherwise, of either
// contrast, partly hidden, of masks, learnt; and that a GPU finds what the CPU does.
#include "posed_scene.hpp"
#include "same_poses.hpp"
#include "support.hpp"

namespace api {
namespace {

/// Discs and bars of random brightness.
class Outlines {
 public:
  explicit Outlines(unsigned seed, double extent, int count = 24) {
    std::mt19937 random(seed);
    const auto uniform = [&](double from, double to) {
      return from + (to - from) * random() / 4294967296.0;
    };
    for (int i = 0; i < count; ++i) {
      const double angle = uniform(0, 2 * std::numbers::pi);
      shapes_.push_back({uniform(-extent, extent), uniform(-extent, extent), std::cos(angle),
                         std::sin(angle), uniform(3, 9), uniform(3, 9), uniform(30, 220),
                         i % 2 == 0});
    }
  }
  double operator()(double x, double y) const {
    double value = 128;
    for (const Shape& s : shapes_) {
      const double u = s.cosine * (x - s.x) + s.sine * (y - s.y);
      const double v = s.cosine * (y - s.y) - s.sine * (x - s.x);
      const double a = u / s.width, b = v / s.height;
      if (s.round ? a * a + b * b < 1 : std::abs(a) < 1 && std::abs(b) < 1) value = s.value;
    }
    return value;
  }

 private:
  struct Shape {
    double x, y, cosine, sine, width, height, value;
    bool round;
  };
  std::vector<Shape> shapes_;
};

/// Squares of random brightness, turned by another angle in each piece of the plane.
double tiles(double x, double y) {
  const auto whole = [](double value) { return static_cast<int>(std::floor(value)); };
  const auto random = [](int a, int b, int c) {
    std::minstd_rand made(static_cast<unsigned>(1 + 7919 * (a + 500) + 104729 * (b + 500) + c));
    made.discard(3);
    return made() / 2147483647.0;
  };
  const int column = whole(x / 40), row = whole(y / 40);
  const double angle = random(column, row, 0) * std::numbers::pi / 2;
  const double u = std::cos(angle) * x - std::sin(angle) * y,
               v = std::sin(angle) * x + std::cos(angle) * y;
  return 30 + 200 * random(whole(u / 8), whole(v / 8), 1 + 31 * (column + 50) + row);
}

MatchSettings on_edges(int max_peaks, double threshold) {
  MatchSettings settings = all_round(max_peaks);
  settings.match_on = MatchOn::edges;
  settings.threshold = threshold;
  return settings;
}

class EdgePosesTest : public PosedTest {
 protected:
  Scene scene{.part = {64, 56},
              .poses = {{60.3, 58.8, 25}, {150.6, 60.2, -130}, {62.5, 150.1, 171}},
              .inside = Outlines(3, 32),
              .outside = Outlines(4, 200, 70)};
  static constexpr Size size{216, 212};

  void expect_as_on_the_cpu(const MatchSettings& settings, const Bytes* mask = nullptr) {
    const Bytes frame = scene.frame(size), pattern = scene.pattern();
    expect_same_poses(match(device, frame, pattern, settings, mask),
                      match(Device{}, frame, pattern, settings, mask));
  }
};

TEST_P(EdgePosesTest, PartsAtAnyAngle) {
  expect_parts(match(scene.frame(size), scene.pattern(), on_edges(3, 0.6)), scene, 0.1, 0.1, 0.85);
}

TEST_P(EdgePosesTest, PartsOfAnySize) {
  scene.poses[0].scale = 0.9;
  scene.poses[1].scale = 1.15;
  MatchSettings settings = on_edges(3, 0.6);
  settings.poses.scale_min = 0.8;
  settings.poses.scale_max = 1.25;
  expect_parts(match(scene.frame(size), scene.pattern(), settings), scene, 0.1, 0.15, 0.75);
}

/// Bright to the left and dark to the right, and a third of the contrast.
TEST_P(EdgePosesTest, LitOtherwise) {
  const Bytes pattern = scene.pattern();
  const Outlines plain(3, 32);
  scene.inside = [&](double x, double y) { return (1 - 0.009 * (x + 32)) * plain(x, y); };
  expect_parts(match(scene.frame(size), pattern, on_edges(3, 0.6)), scene, 0.15, 0.2, 0.75);
  scene.inside = [&](double x, double y) { return 90 + plain(x, y) / 3; };
  expect_parts(match(scene.frame(size), pattern, on_edges(3, 0.6)), scene, 0.15, 0.2, 0.75);
}

/// The score is the visible share, and what is hidden moves nothing.
TEST_P(EdgePosesTest, PartlyHidden) {
  const Bytes pattern = scene.pattern();
  const Outlines plain(3, 32), cover(9, 40);
  scene.inside = [&](double x, double y) { return x < -6 ? cover(x, y) : plain(x, y); };
  const auto peaks = match(scene.frame(size), pattern, on_edges(3, 0.35));
  expect_parts(peaks, scene, 0.25, 0.4, 0.4);
  for (const Peak& peak : peaks) EXPECT_LT(peak.score, 0.8);
}

/// The frame is full of edges, and those that are left of the part are few: where the coarse search
/// is, many places have as many that agree, but more that do not.
TEST_P(EdgePosesTest, PartlyHiddenInAFrameFullOfEdges) {
  const Outlines plain(5, 32, 9);
  scene.inside = plain;
  const Bytes pattern = scene.pattern();
  scene.outside = tiles;
  scene.inside = [&](double x, double y) { return x < -8 ? tiles(x + 300, y) : plain(x, y); };
  MatchSettings settings = on_edges(3, 0.3);
  settings.poses.pyramid_levels = 2;
  expect_parts(match(scene.frame({300, 300}), pattern, settings), scene, 0.5, 1, 0.3);
}

/// Of a blurred part few edges have the contrast that is asked for, and many places of the frame
/// have as many that agree: weaker ones of it count as well.
TEST_P(EdgePosesTest, BlurredInAFrameFullOfEdges) {
  scene = {.part = {160, 160},
           .poses = {{150.4, 161.7, 40}},
           .inside = [smooth = Texture(7, 70, 140)](
                         double x, double y) { return 128 + 0.24 * (smooth(x, y) - 128); },
           .outside = tiles};
  expect_parts(match(scene.frame({320, 320}), scene.pattern(), on_edges(1, 0.5)), scene, 4, 3, 0.5);
}

TEST_P(EdgePosesTest, PartsOfEitherContrast) {
  const Bytes pattern = scene.pattern();
  scene.positives = 1;
  const Bytes frame = scene.frame(size);
  MatchSettings settings = on_edges(3, 0.6);
  settings.polarity = Polarity::either;
  expect_parts(match(frame, pattern, settings), scene, 0.1, 0.1, 0.8);
  settings.polarity = Polarity::inverted;
  const auto inverted = match(frame, pattern, settings);
  EXPECT_EQ(inverted.size(), 2U);
  for (const Peak& peak : inverted) EXPECT_TRUE(peak.inverted);
  settings.polarity = Polarity::same;
  EXPECT_EQ(match(frame, pattern, settings).size(), 1U);
}

/// What lies outside the mask is something else in the frame.
TEST_P(EdgePosesTest, Masked) {
  scene.part = {64, 64};
  scene.round = true;
  const Bytes mask = scene.disc();
  expect_parts(match(scene.frame(size), scene.pattern(), on_edges(3, 0.6), &mask), scene, 0.1, 0.15,
               0.8);
}

/// A square of which the rim and its margin leave nothing where it is small: such an image would
/// match anything.
TEST_P(EdgePosesTest, TooFewEdgesAtTheLeastSize) {
  Bytes square({32, 32}, 30);
  for (int y = 8; y < 24; ++y)
    for (int x = 8; x < 24; ++x) square.at(x, y) = 200;
  Bytes frame({160, 120}, 30);
  for (int y = 40; y < 72; ++y)
    for (int x = 60; x < 92; ++x) frame.at(x, y) = 200;
  MatchSettings settings = on_edges(1, 0.6);
  settings.poses.scale_max = 2;
  const std::vector<MatrixView> templates{square.view()};
  for (const double least : {0.4, 1.0}) {
    settings.poses.scale_min = least;
    Matcher matcher = std::move(Matcher::create(Device{GetParam()}).value());
    ASSERT_TRUE(matcher.set_templates(templates).ok());
    const Status status = matcher.prepare(ElementType::u8, frame.size, settings);
    EXPECT_EQ(status.ok(), least == 1) << status.message();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::invalid_argument);
      EXPECT_NE(status.message().find("template 0 has too few edges at scale 0.4, "),
                std::string::npos)
          << status.message();
    }
  }
}

/// What learns is turned anew.
TEST_P(EdgePosesTest, Learnt) {
  const auto live = LiveTemplate::create(device, scene.pattern().view());
  ASSERT_TRUE(live.ok());
  const std::shared_ptr<const LiveTemplate> shared = live.value();
  Matcher matcher = std::move(Matcher::create(device).value());
  ASSERT_TRUE(matcher.set_templates({&shared, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, size, on_edges(3, 0.6)).ok());
  expect_parts(peaks_in(matcher, scene.frame(size).view()), scene, 0.1, 0.1, 0.8);
  scene.inside = Outlines(7, 32);
  ASSERT_TRUE(live.value()->blend(scene.pattern().view(), 0, 0, 1).ok());
  expect_parts(peaks_in(matcher, scene.frame(size).view()), scene, 0.1, 0.1, 0.8);
}

TEST_P(EdgePosesTest, SameAsOnTheCpu) {
  expect_as_on_the_cpu(on_edges(3, 0.6));
  MatchSettings settings = on_edges(3, 0.6);
  settings.polarity = Polarity::either;
  settings.poses.angle_extent = 180;
  expect_as_on_the_cpu(settings);
  scene.positives = 1;
  settings.polarity = Polarity::inverted;
  expect_as_on_the_cpu(settings);
}

TEST_P(EdgePosesTest, SameAsOnTheCpuMasked) {
  scene.part = {64, 64};
  scene.round = true;
  const Bytes mask = scene.disc();
  MatchSettings settings = on_edges(3, 0.6);
  settings.poses.scale_min = 0.95;
  settings.poses.scale_max = 1.05;
  expect_as_on_the_cpu(settings, &mask);
}

/// At one pose the score is that of the turned template's edges, by other code: an upright match.
TEST_P(EdgePosesTest, ScoresAsUprightMatches) {
  const Bytes frame = scene.frame(size), pattern = scene.pattern();
  Bytes turned(Size{56, 64});  // a quarter turn, as seen counter-clockwise
  for (int y = 0; y < turned.size.height; ++y)
    for (int x = 0; x < turned.size.width; ++x) turned.at(x, y) = pattern.at(63 - y, x);
  MatchSettings settings = on_edges(1, 0);
  settings.subpixel = Subpixel::none;
  settings.poses = {};
  const Bytes copy = [&] {
    Bytes made = frame;
    for (int y = 0; y < 64; ++y)
      for (int x = 0; x < 56; ++x) made.at(130 + x, 120 + y) = turned.at(x, y);
    return made;
  }();
  const auto upright = match(copy, turned, settings);
  settings.poses.angle_start = 90;
  settings.poses.angle_extent = 0;
  settings.poses.scale_max = 1;
  settings.poses.angle_step = 1;
  const auto posed = match(copy, pattern, settings);
  ASSERT_EQ(upright.size(), 1U);
  ASSERT_EQ(posed.size(), 1U);
  EXPECT_EQ(upright[0].score, 1);
  EXPECT_EQ(posed[0].score, 1);
  EXPECT_EQ(posed[0].pose.center_x, upright[0].pose.center_x);
  EXPECT_EQ(posed[0].pose.center_y, upright[0].pose.center_y);
}

ON_EACH_BACKEND(EdgePosesTest);

}  // namespace
}  // namespace api
