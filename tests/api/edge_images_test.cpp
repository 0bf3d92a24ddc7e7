// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The edges of turned templates, bit for bit: those of the turned picture at full size, by the
// oracle of both stages, and their means.
#include "match/poses/grid.hpp"
#include "oracle/oracle.hpp"
#include "oracle/pyramids.hpp"
#include "posed_scene.hpp"
#include "select/select.hpp"
#include "stages/match/mask.hpp"
#include "stages/poses/pyramid_down.hpp"

namespace api {
namespace {

/// A template of so many planes and its mask, halved once.
struct Pyramid {
  TemplatePyramid sizes{{37, 41}, 1};
  std::vector<std::uint8_t> pixels, mask;

  explicit Pyramid(int planes) {
    for (int plane = 0; plane < planes; ++plane) append_plane(plane);
    const auto [width, height] = sizes.size;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x) mask.push_back(std::hypot(x - 20, y - 19) < 17);
    mask = oracle::pyramid_of(sizes, mask, [](int a, int b, int c, int d) {
      return static_cast<std::uint8_t>(a & b & c & d);
    });
  }

 private:
  void append_plane(int plane) {
    const Bytes noise = random_image<std::uint8_t>(sizes.size, 5 + plane);
    const Texture waves(1 + plane);
    std::vector<std::uint8_t> whole;
    for (int y = 0; y < sizes.size.height; ++y)
      for (int x = 0; x < sizes.size.width; ++x)
        whole.push_back(
            static_cast<std::uint8_t>(std::clamp(waves(x, y) + noise.at(x, y) / 16.0, 0.0, 255.0)));
    const auto all = oracle::pyramid_of(sizes, whole, mean_of_four<std::uint8_t>);
    pixels.insert(pixels.end(), all.begin(), all.end());
  }
};

/// Both planes of an image, one after the other, by the definition.
std::vector<std::uint8_t> defined(const Pyramid& from, const WarpMap& map, const WarpEdges& edges) {
  const WarpMap whole = edges.at_full_size(map);
  const Size size{whole.width, whole.height};
  const stage::WarpTemplate::Problem warp{from.sizes, Masking{1, 1}, size};
  std::vector<std::uint8_t> picture(edges.sources * size.area()), counts(size.area());
  WarpedTemplateSums sums;
  for (int i = 0; i < edges.sources; ++i)
    EXPECT_TRUE(oracle::variant_for<stage::WarpTemplate>(warp)
                    .value()
                    ->launch(warp, Device(),
                             {{},
                              from.pixels.data() + i * from.sizes.area(),
                              from.mask.data(),
                              &whole,
                              picture.data() + i * size.area(),
                              counts.data(),
                              &sums},
                             nullptr)
                    .ok());
  const auto inner = inset_mask(counts, size, edge_radius);
  stage::Edges::Problem made;
  made.size = size;
  made.region = {0, 0, size.width, size.height};
  made.pitch = made.edge_pitch = size.width;
  made.edge_plane = made.plane = size.area();
  made.planes = edges.sources;
  made.rule = edges.rule;
  made.masked = true;
  std::vector<std::uint8_t> planes(2 * size.area());
  EXPECT_TRUE(
      oracle::variant_for<stage::Edges>(made)
          .value()
          ->launch(made, Device(), {{}, picture.data(), inner.data(), planes.data()}, nullptr)
          .ok());
  std::vector<std::uint8_t> image;
  for (int plane = 0; plane < 2; ++plane) {
    // Means of means of four, each rounded.
    std::function<int(int, int, int)> mean = [&](int x, int y, int level) -> int {
      if (level == 0)
        return planes[plane * size.area() + (y + edge_radius) * size.width + x + edge_radius];
      return (mean(2 * x, 2 * y, level - 1) + mean(2 * x + 1, 2 * y, level - 1) +
              mean(2 * x, 2 * y + 1, level - 1) + mean(2 * x + 1, 2 * y + 1, level - 1) + 2) /
             4;
    };
    for (int y = 0; y < map.height; ++y)
      for (int x = 0; x < map.width; ++x)
        image.push_back(static_cast<std::uint8_t>(mean(x, y, edges.level)));
  }
  return image;
}

class EdgeImages : public testing::TestWithParam<int> {};

TEST_P(EdgeImages, AreTheDefinition) {
  const Pyramid from(GetParam());
  const PoseRange range{.angle_extent = 360, .scale_min = 0.4, .scale_max = 1.6};
  for (const int level : {0, 1, 2}) {
    const PoseGrid grid(range, {29, 33}, false, 0, level, 1);
    std::vector<WarpMap> maps;
    for (int i = 0; i < 5; ++i)
      maps.push_back(grid.map(level, {i * grid.angles(level) / 5, i * grid.scales(level) / 5}));
    const Size most = grid.most(level);
    for (const bool doubled : {false, true}) {
      stage::WarpTemplate::Problem p{from.sizes, Masking{1, 1}, most, 5};
      p.edges = {true, {36000, doubled, !doubled}, level, 5 * most.area(), GetParam()};
      std::vector<std::uint8_t> images(2 * 5 * most.area()), masks(5 * most.area());
      std::vector<WarpedTemplateSums> sums(5);
      const auto variant = select_variant<stage::WarpTemplate>(p, Device{Backend::cpu});
      ASSERT_TRUE(variant.ok());
      ASSERT_TRUE(variant.value()
                      ->launch(p, Device{Backend::cpu},
                               {{},
                                from.pixels.data(),
                                from.mask.data(),
                                maps.data(),
                                images.data(),
                                masks.data(),
                                sums.data()},
                               nullptr)
                      .ok());
      for (int i = 0; i < 5; ++i) {
        const auto expected = defined(from, maps[i], p.edges);
        EXPECT_TRUE(std::ranges::any_of(expected, [](int value) { return value != no_edge; }));
        std::size_t at = 0;
        for (int plane = 0; plane < 2; ++plane)
          for (int y = 0; y < most.height; ++y)
            for (int x = 0; x < most.width; ++x) {
              const bool is_in = x < maps[i].width && y < maps[i].height;
              const std::int64_t place = i * most.area() + std::int64_t{y} * most.width + x;
              ASSERT_EQ(images[plane * 5 * most.area() + place], is_in ? expected[at] : no_edge)
                  << level << ' ' << i << ' ' << plane << ' ' << x << ' ' << y;
              EXPECT_EQ(masks[place], is_in);
              at += is_in;
            }
      }
    }
  }
}

/// Of each level at the same pose, so that all levels compare the same edges with a frame's.
/// Smaller ones may be made from a level that the template's pyramid does not have.
TEST(EdgeImagesOfLevels, HaveTheSamplesOfFullSize) {
  const PoseRange range{.angle_extent = 360, .scale_min = 0.6, .scale_max = 1.6};
  for (const int halvings : {0, 1, 3}) {
    const PoseGrid grid(range, {64, 72}, false, 0, 3, halvings);
    for (const int level : {1, 2, 3})
      for (int scale = 0; scale < grid.scales(level); ++scale) {
        const PoseIndex pose{grid.angles(level) / 5, scale};
        const WarpMap whole =
            WarpEdges{.made = true, .level = level}.at_full_size(grid.map(level, pose));
        const WarpMap own = grid.map(0, {pose.angle << level, pose.scale << level});
        SCOPED_TRACE(testing::Message() << halvings << ' ' << level << ' ' << scale);
        EXPECT_EQ(whole.level, own.level);
        EXPECT_EQ(whole.log2_samples, own.log2_samples);
        EXPECT_NEAR(whole.u_by_x, own.u_by_x, 1);
        EXPECT_NEAR(whole.v_by_x, own.v_by_x, 1);
      }
  }
}

INSTANTIATE_TEST_SUITE_P(Planes, EdgeImages, testing::Values(1, color_planes));

}  // namespace
}  // namespace api
