// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Places that were wrong: between the user's steps, past the range, of fine lines, at the frame's
// edge, behind poses of better parts.
#include "posed_scene.hpp"

namespace api {
namespace {

class PosePlacesTest : public PosedTest {
 protected:
  /// How many of the parts are found, within a pixel and 2 degrees.
  static int found(const std::vector<Peak>& peaks, const Scene& scene) {
    return static_cast<int>(std::ranges::count_if(scene.poses, [&](const Pose& part) {
      return std::ranges::any_of(peaks, [&](const Peak& peak) {
        return std::hypot(peak.pose.center_x - part.center_x, peak.pose.center_y - part.center_y) <
                   1 &&
               turn_between(peak.pose.angle, part.angle) < 2;
      });
    }));
  }
};

// ---- which poses are looked at --------------------------------------------------------------

/// Steps that are longer than those of the first pass are looked at as they are, whatever the
/// level.
TEST_P(PosePlacesTest, TheUsersSteps) {
  struct Case {
    double start, extent, step;
    std::vector<double> angles;
  };
  for (const auto& [start, extent, step, angles] :
       {Case{0, 270, 90, {0, 90, 180, -90}}, Case{-90, 180, 90, {-90, 0, 90}},
        Case{0, 300, 90, {90, 180}},  // the last step does not end where the range does
        Case{0, 360, 120, {0, 120, -120}}, Case{10, 60, 20, {10, 30, 50, 70}},
        Case{-100, 200, 20, {-80, -20, 40, 60}}}) {
    Scene scene;
    for (std::size_t i = 0; i < angles.size(); ++i)
      scene.poses.push_back({50.0 + 90 * (i % 2), 50.0 + 90 * (i / 2), angles[i]});
    MatchSettings settings = all_round(8);
    settings.poses.angle_start = start;
    settings.poses.angle_extent = extent;
    settings.poses.angle_step = step;
    SCOPED_TRACE(testing::Message() << extent << " by " << step);
    expect_parts(match(scene.frame({200, 200}), scene.pattern(), settings), scene);
  }
}

/// A part past the range is at its border, with the score of that pose, or nowhere.
TEST_P(PosePlacesTest, NothingOutsideTheRange) {
  const Scene scene{.poses = {{60.3, 60.7, 8, 1}, {160.4, 60.2, -2.6, 1}, {60.2, 150.3, 1, 0.9}}};
  const Bytes frame = scene.frame({220, 210}), pattern = scene.pattern();
  MatchSettings settings;
  settings.max_peaks = 6;
  settings.threshold = 0.3;
  settings.poses.angle_start = -3;
  settings.poses.angle_extent = 6;
  settings.poses.scale_min = 0.95;
  settings.poses.scale_max = 1.05;
  const auto peaks = match(frame, pattern, settings);
  ASSERT_GE(peaks.size(), 1u);
  for (const Peak& peak : peaks) {
    EXPECT_LE(std::abs(peak.pose.angle), 3 + 1e-6);
    EXPECT_GE(peak.pose.scale, 0.95 - 1e-6);
    EXPECT_LE(peak.pose.scale, 1.05 + 1e-6);
  }
  // The one in it is where it is, and what is past the border is worse.
  EXPECT_NEAR(peaks[0].pose.angle, -2.6, 0.2);
  EXPECT_GT(peaks[0].score, 0.95);
  for (std::size_t i = 1; i < peaks.size(); ++i) EXPECT_LT(peaks[i].score, 0.95);
}

/// The score is that of the pose, whatever else was searched.
TEST_P(PosePlacesTest, TheScoreOfAPoseInAnyRange) {
  const Scene scene{.poses = {{60.37, 60.81, 17.3, 1}}, .inside = Texture(4, 4, 20)};
  const Bytes frame = scene.frame({130, 130}), pattern = scene.pattern();
  std::vector<double> scores;
  for (const auto& [start, extent] :
       {std::pair(0.0, 360.0), {10.0, 15.0}, {-33.0, 71.0}, {16.0, 2.0}, {-170.0, 333.0}}) {
    for (const double largest : {1.0, 1.3}) {
      MatchSettings settings = all_round(1);
      settings.poses.angle_start = start;
      settings.poses.angle_extent = extent;
      settings.poses.scale_max = largest;
      const auto peaks = match(frame, pattern, settings);
      ASSERT_EQ(peaks.size(), 1u) << start;
      scores.push_back(peaks[0].score);
    }
  }
  const auto [least, greatest] = std::ranges::minmax(scores);
  EXPECT_LT(greatest - least, 0.001);
  EXPECT_GT(least, 0.95);
}

// ---- what is followed down ------------------------------------------------------------------

/// A relief on a dome, which at other angles is nearly the same: in a small frame they may score
/// more than the right one.
TEST_P(PosePlacesTest, DomesAtTheirAngles) {
  int parts = 0, hits = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    constexpr int side = 64;
    const Texture relief(seed, 40, 200);
    const auto dome = [&](double x, double y) {
      const double out = 2 * std::hypot(x, y) / (side + 2);
      return 40 + 150 * std::sqrt(std::max(1 - out * out, 0.0)) + 0.5 * (relief(x, y) - 128);
    };
    const Scene scene{.part = {side, side},
                      .round = true,
                      .poses = {{55.3, 60.7, 20.0 * seed},
                                {155.2, 51.1, 130.0 + seed},
                                {60.5, 160.3, -77.0 + seed},
                                {158.4, 157.7, -160.0 + 7 * seed}},
                      .inside = dome,
                      .outside = Texture(seed + 100)};
    const Bytes disc = scene.disc();
    hits += found(match(scene.frame({210, 210}), scene.pattern(), all_round(4), &disc), scene);
    parts += 4;
  }
  EXPECT_GE(hits, parts - 1);
}

/// Poses of better parts leave room for the others.
TEST_P(PosePlacesTest, AsFewPeaksAsPartsOfManySizes) {
  int parts = 0, hits = 0;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const Scene scene{.part = {40, 36},
                      .poses = {{60.3, 70.7, 10.0 * seed, 1.1},
                                {200.25, 110.5, 75.0 + seed, 2.6},
                                {80, 220, -140, 1.8}},
                      .inside = Texture(seed, 9, 40),
                      .outside = Texture(seed + 100)};
    MatchSettings settings = all_round(3);
    settings.threshold = 0.5;
    settings.poses.scale_min = 1;
    settings.poses.scale_max = 3;
    hits += found(match(scene.frame({320, 300}), scene.pattern(), settings), scene);
    parts += 3;
  }
  EXPECT_EQ(hits, parts);
}

// ---- fine lines -----------------------------------------------------------------------------

double hashed(unsigned seed, double x, double y) {
  std::uint32_t h =
      seed * 0x9e3779b9u + static_cast<std::uint32_t>(static_cast<int>(x)) * 0x85ebca6bu;
  h = (h ^ h >> 15) * 0x2c1b3c6du + static_cast<std::uint32_t>(static_cast<int>(y)) * 0xc2b2ae35u;
  h = (h ^ h >> 13) * 0x297a2d39u;
  return (h ^ h >> 16) / 4294967296.0;
}

/// Dark strokes of 1.5 pixels, in lines like a print's.
struct Print {
  unsigned seed;
  double operator()(double x, double y) const {
    constexpr double pitch = 11, height = 7, stroke = 1.5;
    const double line = std::floor(y / pitch), down = y - line * pitch;
    if (down > height) return 220;
    return hashed(seed, std::floor(x / stroke), 100 * line + std::floor(down / stroke)) < 0.45
               ? 40
               : 220;
  }
};

/// Bright arcs of 1.5 pixels round the centre, open at places.
struct Coil {
  unsigned seed;
  double operator()(double x, double y) const {
    constexpr double pitch = 3.6, width = 1.5;
    const double radius = std::hypot(x, y), turn = std::floor(radius / pitch);
    if (radius > 28 || radius - turn * pitch > width) return 60;
    const double sector = std::floor(std::atan2(y, x) / degree / 45);
    return hashed(seed, turn, sector) < 0.7 ? 200 : 60;
  }
};

/// Crossing traces of 1 to 2 pixels.
struct Board {
  unsigned seed;
  double operator()(double x, double y) const {
    constexpr double pitch = 5;
    for (const bool across : {false, true}) {
      const double along = across ? x : y, beside = across ? y : x;
      const double track = std::floor(beside / pitch), from = beside - track * pitch;
      const double width = 1 + hashed(seed + across, track, 7);
      if (from < width && hashed(seed + 2 + across, track, std::floor(along / 13)) < 0.4)
        return 210;
    }
    return 50;
  }
};

/// Of parts whose details are gone in a small image almost all are found, by the levels that are
/// chosen for them.
TEST_P(PosePlacesTest, FineLines) {
  int parts = 0, hits = 0;
  const auto count = [&](const char* kind, Scene scene, unsigned seed) {
    std::mt19937 random(seed);
    scene.part = {60, 60};
    for (int i = 0; i < 4; ++i)
      scene.poses.push_back({60.0 + 120 * (i % 2) + random() % 1000 / 50.0,
                             60.0 + 110 * (i / 2) + random() % 1000 / 50.0,
                             random() % 36000 / 100.0 - 180});
    MatchSettings settings = all_round(4);
    settings.threshold = 0.5;
    const int here = found(match(scene.frame({280, 260}), scene.pattern(), settings), scene);
    EXPECT_GE(here, 3) << kind << " " << seed;
    hits += here;
    parts += 4;
  };
  for (unsigned seed = 1; seed <= 5; ++seed) {
    count("print", {.poses = {}, .inside = Print{seed}, .outside = Print{seed + 50}}, seed);
    count("coil", {.poses = {}, .inside = Coil{seed}, .outside = Board{seed + 50}}, seed);
    count("board", {.poses = {}, .inside = Board{seed}, .outside = Board{seed + 50}}, seed);
  }
  EXPECT_GE(hits, 0.98 * parts);
}

// ---- the frame's edge -----------------------------------------------------------------------

/// All that counts is in the frame, the rectangle round it is not.
TEST_P(PosePlacesTest, RoundPartsWithHolesAtTheEdge) {
  const Scene scene{.part = {49, 49},
                    .round = true,
                    .poses = {{27.4, 100.3, 45, 1},
                              {100.6, 26.2, 45, 1},
                              {172.3, 90.8, -135, 1},
                              {110.3, 173.6, 140, 1}}};
  const Bytes frame = scene.frame({200, 200}), pattern = scene.pattern();
  Bytes mask = scene.disc();
  for (const bool ring : {false, true}) {
    for (int y = 0; y < mask.size.height; ++y)
      for (int x = 0; x < mask.size.width; ++x)
        if (ring ? std::hypot(x - 24, y - 24) < 9 : x > 42) mask.at(x, y) = 0;
    expect_parts(match(frame, pattern, all_round(8), &mask), scene);
  }
}

/// Copies flush with the frame's corners, of all parities of both sizes. No angle or size of the
/// pyramid's levels is quite theirs, so images there are larger than what they show.
TEST_P(PosePlacesTest, FlushWithCorners) {
  const Texture texture(3, 3, 24);
  for (const auto& [frame_size, size] : {std::pair(Size{160, 144}, Size{50, 40}),
                                         {{151, 133}, {90, 33}},
                                         {{141, 170}, {27, 86}},
                                         {{154, 131}, {61, 60}}}) {
    Bytes frame(frame_size);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x)
        frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(texture(x, y), 0.0, 255.0));
    for (const auto& [start, extent, least, largest] :
         {std::tuple(-10.0, 20.0, 1.0, 1.0), {-3.0, 7.0, 0.83, 1.21}, {0.0, 360.0, 1.0, 1.0}})
      for (int corner = 0; corner < 4; ++corner) {
        const int left = corner % 2 * (frame_size.width - size.width),
                  top = corner / 2 * (frame_size.height - size.height);
        const Bytes copy = crop(frame, {left, top, size.width, size.height});
        MatchSettings settings;
        settings.poses.angle_start = start;
        settings.poses.angle_extent = extent;
        settings.poses.scale_min = least;
        settings.poses.scale_max = largest;
        SCOPED_TRACE(testing::Message() << "corner " << corner << ", " << size.width << " wide, "
                                        << start << " degrees");
        const auto peaks = match(frame, copy, settings);
        ASSERT_EQ(peaks.size(), 1u);
        EXPECT_NEAR(peaks[0].x, left, 0.05);
        EXPECT_NEAR(peaks[0].y, top, 0.05);
        EXPECT_GT(peaks[0].score, 0.99);
      }
  }
}

/// Copies of few blocks, so thin that least squares have few pixels and lead away, flush with the
/// frame's corners, upright and by a quarter turn, also in frames hardly larger.
TEST_P(PosePlacesTest, ThinFlushWithCorners) {
  int missed = 0;
  for (const auto& [frame_size, size] :
       {std::pair(Size{79, 53}, Size{38, 5}), {{30, 7}, {30, 5}}, {{6, 67}, {6, 22}}}) {
    for (int corner = 0; corner < 8; ++corner) {
      const int left = corner % 2 * (frame_size.width - size.width),
                top = corner / 2 % 2 * (frame_size.height - size.height);
      const Bytes blocks = random_image<std::uint8_t>({10, 10}, corner);
      const bool is_turned = corner >= 4;
      Bytes frame(frame_size, 128), pattern(is_turned ? Size{size.height, size.width} : size);
      for (int y = 0; y < size.height; ++y)
        for (int x = 0; x < size.width; ++x) {
          const std::uint8_t pixel = blocks.at(x / 4, y / 4);
          frame.at(left + x, top + y) = pixel;
          // Clockwise, so that it is found by 90 degrees.
          (is_turned ? pattern.at(size.height - 1 - y, x) : pattern.at(x, y)) = pixel;
        }
      const auto peaks = match(frame, pattern, all_round(1));
      missed += peaks.empty() || std::abs(peaks[0].x - left) > 0.05 ||
                std::abs(peaks[0].y - top) > 0.05 || peaks[0].score < 0.999 ||
                turn_between(peaks[0].pose.angle, is_turned ? 90 : 0) > 0.1;
    }
  }
  EXPECT_EQ(missed, 0);
}

/// An edge on a faint texture: along it scores hardly fall, so beside the border, where places are
/// whole pixels inside, least squares may begin more than a pixel away.
TEST_P(PosePlacesTest, EdgesBesideTheBorder) {
  for (const unsigned seed : {1, 3}) {
    const double across = std::cos(1.3 * seed), down = std::sin(1.3 * seed);
    const Texture texture(seed, 9, 40);
    const auto inside = [&](double u, double v) {
      return (across * u + down * v < -2 ? 70 : 160) + 0.15 * (texture(u, v) - 128);
    };
    const double angle = 67.0 * seed - 180;
    // Its farthest corner is half a pixel inside.
    const double c = std::abs(std::cos(angle * degree)), s = std::abs(std::sin(angle * degree));
    const Scene scene{.part = {48, 48},
                      .poses = {{24 * (c + s), 60.4, angle}},
                      .inside = inside,
                      .outside = Texture(seed + 100)};
    MatchSettings settings = all_round(1);
    settings.threshold = 0.6;
    EXPECT_EQ(found(match(scene.frame({120, 120}), scene.pattern(), settings), scene), 1) << seed;
  }
}

/// The smallest images of a wide range have few pixels, which resemble many places by chance: more,
/// in small frames, than a larger part does of which more than a third is hidden.
TEST_P(PosePlacesTest, AmongPlacesLikeTheSmallestImages) {
  const Scene scene{.part = {64, 64},
                    .poses = {{200.3, 160.6, 120, 1.9}},
                    .inside = Texture(3, 8, 40),
                    .outside = Texture(103, 8, 20)};
  Bytes frame = scene.frame({400, 320});
  for (int y = 0; y < frame.size.height; ++y)
    for (int x = 213; x < frame.size.width; ++x)
      frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(scene.outside(x, y), 0.0, 255.0));
  MatchSettings settings = all_round(1);
  settings.threshold = 0.4;
  settings.poses.scale_min = 0.5;
  settings.poses.scale_max = 2;
  EXPECT_EQ(found(match(frame, scene.pattern(), settings), scene), 1);
}

/// By a method that takes no means off almost all places of a bright frame are alike: images of
/// more pixels, which resemble fewer places by chance by others, are no better there.
TEST_P(PosePlacesTest, SmallPartsByMethodsOfBrightness) {
  const auto bright = [](const Texture& texture) {
    return [texture](double x, double y) { return 200 + (texture(x, y) - 128) / 4; };
  };
  const Scene scene{.part = {48, 48},
                    .poses = {{100.3, 80.6, 0, 0.6}, {280.4, 90.2, 0, 0.7}, {180.7, 230.5, 0, 0.8}},
                    .inside = bright(Texture(3, 8, 40)),
                    .outside = bright(Texture(103, 8, 20))};
  MatchSettings settings = all_round(3);
  settings.threshold = 0.95;
  settings.poses.angle_extent = 0;
  settings.poses.scale_min = 0.6;
  settings.poses.scale_max = 2.6;
  for (const Method method : {Method::ccorr_normed, Method::sqdiff_normed}) {
    settings.method = method;
    EXPECT_EQ(found(match(scene.frame({400, 320}), scene.pattern(), settings), scene), 3);
  }
}

ON_EACH_BACKEND(PosePlacesTest);

}  // namespace
}  // namespace api
