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
  int levels_of(const Scene& scene, const PoseRange& range, const WarpEdges& edges = {}) const {
    const Bytes pattern = scene.pattern();
    const MatrixView view = pattern.view();
    const auto bank = make_bank(std::span(&view, 1));
    const auto made = PoseTemplate::make(device, bank.value()[0], edges.made ? edge_planes : 1,
                                         edges, range, {1920, 1080}, Stream{});
    EXPECT_TRUE(made.ok()) << made.status().message();
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

/// On edges a few of them, which stay as recognisable when they are halved, are not enough: many
/// places of a small frame have as many that agree. The smaller the frame, the more it takes.
TEST_P(PoseLevelsTest, ByTheEdgesThatAreLeft) {
  const WarpEdges edges{.made = true, .rule = {.least = 10 * 10 * edge_unit * edge_unit}};
  const auto blots = [](double size, int side = 128) {
    return Scene{.part = {side, side},
                 .inside = [texture = Texture(3, size, 2 * size)](double x, double y) {
                   return texture(x, y) > 128 ? 200.0 : 40.0;
                 }};
  };
  EXPECT_EQ(levels_of(blots(40), {}, edges), 2);
  EXPECT_EQ(levels_of(blots(160), {}, edges), 1);
  EXPECT_EQ(levels_of(blots(160), {.scale_min = 0.8, .scale_max = 1.2}, edges), 3);
  EXPECT_EQ(levels_of(blots(160), {}), 3);
  EXPECT_EQ(levels_of(blots(40, 256), {}, edges), 2);
  EXPECT_EQ(levels_of(blots(20, 256), {}, edges), 3);
}

/// Where a template with few edges is shifted until hardly any of them lie over others, those may
/// agree by chance. That is no other pose that looks like it.
TEST_P(PoseLevelsTest, ByTheEdgesInCommon) {
  const WarpEdges edges{.made = true, .rule = {.least = 6 * 6 * edge_unit * edge_unit}};
  for (const unsigned seed : {4, 5, 6})
    EXPECT_EQ(levels_of({.part = {300, 300}, .inside = Texture(seed, 50, 100)}, {}, edges), 2);
}

/// Fine edges are others half a pixel away in a small frame, so one size is searched in a larger
/// one. Of many sizes that would be more images than anybody has memory for.
TEST_P(PoseLevelsTest, FineEdgesOfManySizes) {
  const WarpEdges edges{.made = true, .rule = {.least = 10 * 10 * edge_unit * edge_unit}};
  const Scene fine{.part = {64, 64}, .inside = Texture(3, 3, 6)};
  PoseRange range{.angle_extent = 360};
  EXPECT_EQ(levels_of(fine, range, edges), 0);
  range.scale_min = 0.5;
  range.scale_max = 2;
  EXPECT_EQ(levels_of(fine, range, edges), 2);
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
