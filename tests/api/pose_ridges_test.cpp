// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates that look almost the same when they are turned about a point.
#include "match/poses/template.hpp"
#include "posed_scene.hpp"

namespace api {
namespace {

class PoseRidgesTest : public PosedTest {
 protected:
  Result<PoseTemplate> template_of(const Scene& scene, const PoseRange& range) const {
    const Bytes pattern = scene.pattern();
    const MatrixView view = pattern.view();
    const auto bank = make_bank(std::span(&view, 1));
    auto made = PoseTemplate::make(device, bank.value()[0], 1, {}, range, {1920, 1080}, Stream{});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made;
  }
};

/// Rings look the same when they are turned about their centre, wherever in the template it is;
/// what is no ring does not.
TEST_P(PoseRidgesTest, RidgesOfRings) {
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
TEST_P(PoseRidgesTest, AlongARidge) {
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

/// Bright arcs of 1.6 pixels round a point at the border, some of them open at a place.
struct Arcs {
  unsigned seed;
  double operator()(double x, double y) const {
    constexpr double pitch = 4, width = 1.6;
    const double u = x + 26, v = y + 7.0 * (seed % 5) - 14;
    const double radius = std::hypot(u, v), turn = std::floor(radius / pitch);
    if (radius > 50 || radius - turn * pitch > width) return 60;
    const double sector = std::floor(std::atan2(v, u) / degree / 45);
    std::minstd_rand random(1000 * seed + static_cast<unsigned>(turn) + 1);
    random.discard(3);
    return sector == static_cast<int>(random() % 12) - 4 ? 60 : 200;
  }
};

/// Turned about the point they look almost the same, so all poses there are tried.
TEST_P(PoseRidgesTest, ArcsRoundAPoint) {
  std::ptrdiff_t parts = 0, hits = 0;
  for (unsigned seed = 1; seed <= 6; ++seed) {
    const double angle = 33.0 * seed;
    const Scene scene{.part = {60, 60},
                      .poses = {{61.3, 60.7, angle},
                                {180.2, 63.1, angle + 93.7},
                                {66.5, 175.3, angle - 151.2},
                                {184.4, 170.6, angle - 68.4}},
                      .inside = Arcs{seed},
                      .outside = Texture(seed + 100)};
    MatchSettings settings = all_round(4);
    settings.threshold = 0.5;
    const auto peaks = match(scene.frame({250, 240}), scene.pattern(), settings);
    hits += std::ranges::count_if(scene.poses, [&](const Pose& part) {
      return std::ranges::any_of(peaks, [&](const Peak& peak) {
        return std::hypot(peak.pose.center_x - part.center_x, peak.pose.center_y - part.center_y) <
                   1 &&
               turn_between(peak.pose.angle, part.angle) < 2;
      });
    });
    parts += 4;
  }
  EXPECT_GE(hits, parts - 1);
}

ON_EACH_BACKEND(PoseRidgesTest);

}  // namespace
}  // namespace api
