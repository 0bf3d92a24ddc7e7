// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a search of poses decides before it sees a frame, and what it makes of places after.
#include "match/poses/overlap.hpp"
#include "match/poses/template.hpp"
#include "posed_scene.hpp"

namespace api {
namespace {

class PoseLevelsTest : public BackendTest {
 protected:
  Result<PoseTemplate> template_of(const Scene& scene, const PoseRange& range) const {
    const Bytes pattern = scene.pattern();
    const MatrixView view = pattern.view();
    const auto bank = make_bank(std::span(&view, 1));
    auto made = PoseTemplate::make(device, bank.value()[0], 1, {}, range, {1920, 1080}, Stream{});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made;
  }
  int levels_of(const Scene& scene, const PoseRange& range) const {
    const auto made = template_of(scene, range);
    return made.ok() ? made.value().grid().top() : -1;
  }
};

/// Neither what is narrow nor a wide range of sizes keeps the search from small frames, where each
/// level more makes it some 25 times as fast.
TEST_P(PoseLevelsTest, ByThePixelsThatAreLeft) {
  struct Case {
    Size part;
    double least, greatest;
    int levels, asked = -1;
  };
  for (const auto& [part, least, greatest, levels, asked] : {Case{{64, 64}, 1, 1, 2},
                                                             {{47, 47}, 1, 1, 1},
                                                             {{96, 32}, 1, 1, 2},
                                                             {{32, 96}, 1, 1, 2},
                                                             {{400, 20}, 1, 1, 1},
                                                             {{64, 64}, 0.7, 1.4, 2},
                                                             {{64, 64}, 0.35, 2.8, 1},
                                                             {{22, 22}, 1, 1, 0},
                                                             {{22, 22}, 1, 1, 1, 1},
                                                             {{64, 64}, 1, 1, 1, 1},
                                                             {{64, 64}, 0.4, 1, 2, 3}}) {
    PoseRange range;
    range.scale_min = least;
    range.scale_max = greatest;
    range.pyramid_levels = asked;
    const Scene scene{.part = part, .poses = {}, .inside = Texture(1, 30, 60)};
    EXPECT_EQ(levels_of(scene, range), levels) << part.width << "x" << part.height;
  }
}

/// Rings look the same when they are turned about their centre, wherever in the template it is;
/// what is no ring does not.
TEST_P(PoseLevelsTest, RidgesOfRings) {
  PoseRange range;
  range.angle_extent = 360;
  for (const auto& [u, v] : {std::pair(9.0, -14.0), {-31.0, 26.0}}) {
    const auto rings = [u, v](double x, double y) {
      return std::fmod(std::hypot(x - u, y - v), 14) < 7 ? 200.0 : 60.0;
    };
    const auto made = template_of({.part = {64, 60}, .inside = rings}, range);
    ASSERT_TRUE(made.ok());
    const PoseGrid& grid = made.value().grid();
    ASSERT_GE(grid.top(), 1);
    for (int level = 0; level < grid.top(); ++level) {
      const PoseRidge ridge = made.value().steps_below(level).ridge;
      ASSERT_GE(ridge.turns, 4) << level;
      // It is known from whole pixels of the level above.
      const double known = std::ldexp(0.75, level + 1) / (ridge.turns * grid.angle_step(level));
      EXPECT_NEAR(ridge.u / 256.0, u, known) << level;
      EXPECT_NEAR(ridge.v / 256.0, v, known) << level;
    }
  }
  const auto made = template_of({.part = {64, 60}, .inside = Texture(1, 12, 40)}, range);
  ASSERT_TRUE(made.ok());
  for (int level = 0; level < made.value().grid().top(); ++level)
    EXPECT_EQ(made.value().steps_below(level).ridge.turns, 0) << level;
}

/// Along a ridge its point stays where it is in the frame.
TEST_P(PoseLevelsTest, AlongARidge) {
  PoseRange range;
  range.angle_extent = 360;
  range.scale_min = 0.6;
  range.scale_max = 1.7;
  const PoseGrid grid(range, {60, 44}, false, 0, 2, 2);
  constexpr double u = 23.5, v = -40.25;
  PoseSteps steps = grid.steps();
  steps.ridge = {5, static_cast<std::int32_t>(256 * u), static_cast<std::int32_t>(256 * v)};
  int farthest = 0;
  for (int level = 0; level <= 2; ++level)
    for (int angle = 0; angle < grid.angles(level); angle += 3)
      for (int k = 0; k < steps.neighbours(); ++k) {
        const PoseIndex from{angle, grid.scales(level) / 2};
        PoseIndex to = from;
        if (!steps.neighbour(level, to, k)) continue;
        std::int32_t twice_x = 0, twice_y = 0;
        const PoseTables tables{grid.angle_table().data(), grid.inverse_scales().data()};
        steps.follow_ridge(level, from, to, tables, twice_x, twice_y);
        const double pixels = std::ldexp(grid.scale(level, to), -level);
        const auto seen = [&](PoseIndex pose) {
          const double c = pixels * std::cos(grid.angle(level, pose)),
                       s = pixels * std::sin(grid.angle(level, pose));
          return std::pair(c * u + s * v, c * v - s * u);
        };
        const auto [x, y] = seen(from);
        const auto [turned_x, turned_y] = seen(to);
        EXPECT_NEAR(turned_x + 0.5 * twice_x, x, 0.26) << level << ", " << angle << ", " << k;
        EXPECT_NEAR(turned_y + 0.5 * twice_y, y, 0.26) << level << ", " << angle << ", " << k;
        const int turned = std::abs(to.angle - from.angle);
        farthest = std::max(farthest, std::min(turned, grid.angles(level) - turned));
      }
  EXPECT_EQ(farthest, 5);
}

/// What has no contrast loses none: it is not searched at full size, which would take seconds for
/// nothing. What loses all of it, such as the squares of a board of single pixels, is.
TEST_P(PoseLevelsTest, OfFlatOnes) {
  const auto flat = [](double, double) { return 90.0; };
  const auto board = [](double x, double y) {
    return std::lround(std::floor(x) + std::floor(y)) % 2 ? 200.0 : 40.0;
  };
  EXPECT_EQ(levels_of({.part = {64, 64}, .inside = flat}, {}), 2);
  EXPECT_EQ(levels_of({.part = {64, 64}, .inside = board}, {}), 0);
}

TEST(PosesOverlap, WhatTheyHaveInCommon) {
  const auto square = [](double x, double y, double angle) { return Pose{x, y, angle, 1, 2, 2}; };
  EXPECT_NEAR(overlap_of(square(0, 0, 0), square(0, 0, 0)), 1, 1e-12);
  EXPECT_NEAR(overlap_of(square(0, 0, 0), square(1, 0, 0)), 0.5, 1e-12);
  EXPECT_NEAR(overlap_of(square(0, 0, 0), square(1, 1, 90)), 0.25, 1e-12);
  EXPECT_NEAR(overlap_of(square(0, 0, 0), square(0, 0, 45)), 2 * (std::sqrt(2) - 1), 1e-12);
  EXPECT_NEAR(overlap_of(square(0, 0, 0), {0, 0, 0, 1, 10, 1}), 0.5, 1e-12);
  EXPECT_EQ(overlap_of(square(0, 0, 0), square(3, 0, 17)), 0);
}

/// Counter-clockwise as seen: a quarter turn brings the upper left corner down.
TEST(PosesOverlap, Corners) {
  const auto corners = corners_of({10, 20, 90, 2, 8, 4});
  const Corner expected[] = {{8, 24}, {8, 16}, {12, 16}, {12, 24}};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(corners[i].x, expected[i].x, 1e-12);
    EXPECT_NEAR(corners[i].y, expected[i].y, 1e-12);
  }
}

ON_EACH_BACKEND(PoseLevelsTest);

}  // namespace
}  // namespace api
