// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled parts in colour: where they are, and that a GPU finds what the CPU does.
#include "planes.hpp"
#include "same_poses.hpp"
#include "support.hpp"

namespace api {
namespace {

MatchSettings in_color(int max_peaks) {
  MatchSettings settings = all_round(max_peaks);
  settings.match_on = MatchOn::color;
  return settings;
}

class ColorPosesTest : public BackendTest {
 protected:
  static std::vector<Peak> match(const Device& on, const Planes<std::uint8_t>& frame,
                                 const Planes<std::uint8_t>& pattern, const MatchSettings& settings,
                                 const Bytes* mask = nullptr) {
    Matcher matcher = std::move(Matcher::create(on).value());
    const MatrixView view = planar(pattern), mask_view = mask ? mask->view() : MatrixView{};
    EXPECT_TRUE(matcher.set_templates({&view, 1}, {&mask_view, 1}).ok());
    const Status prepared = matcher.prepare(ElementType::u8, frame[0].size, settings);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    return peaks_in(matcher, planar(frame));
  }
  /// In planes of which one shows nothing of the scene but noise.
  void expect_as_on_the_cpu(const Scene& scene, Size size, const MatchSettings& settings) {
    const Bytes shown = scene.frame(size), part = scene.pattern(), mask = scene.disc();
    Planes<std::uint8_t> frame = of_equal_luma(shown), pattern = of_equal_luma(part);
    frame[2] = random_image<std::uint8_t>(size, 9);
    for (std::uint8_t& pixel : frame[2].data) pixel = 120 + pixel % 16;
    const Bytes* const counts = scene.round ? &mask : nullptr;
    const auto found = match(Device{}, frame, pattern, settings, counts);
    EXPECT_EQ(found.size(), scene.poses.size());
    expect_same_poses(match(device, frame, pattern, settings, counts), found);
  }
};
ON_EACH_BACKEND(ColorPosesTest);

TEST_P(ColorPosesTest, PartsAtAnyAngle) {
  const Scene scene{.poses = {{60.3, 50.7, 0}, {160.25, 60.5, 33.3}, {70.8, 180.1, -95.6}}};
  const auto planes = of_equal_luma(scene.frame({230, 240}));
  const auto pattern = of_equal_luma(scene.pattern());
  expect_parts(match(device, planes, pattern, in_color(5)), scene);
}

TEST_P(ColorPosesTest, SameAsOnTheCpuAtAnyAngle) {
  const Scene scene{.poses = {{60.3, 50.7, 0}, {160.25, 60.5, 33.3}}};
  for (const Method method : {Method::ccoeff_normed, Method::sqdiff_normed, Method::ccorr_normed}) {
    MatchSettings settings = in_color(2);
    settings.method = method;
    expect_as_on_the_cpu(scene, {230, 120}, settings);
  }
}

TEST_P(ColorPosesTest, SameAsOnTheCpuOfAnySize) {
  const Scene scene{.part = {41, 41}, .round = true, .poses = {{60.3, 50.7, 10, 0.9}}};
  MatchSettings settings = in_color(1);
  settings.poses.scale_min = 0.8;
  settings.poses.scale_max = 1.25;
  expect_as_on_the_cpu(scene, {120, 100}, settings);
}

TEST_P(ColorPosesTest, SameAsOnTheCpuOfEitherContrast) {
  Scene scene{.poses = {{60.3, 50.7, 20}, {160.25, 60.5, 50}}};
  scene.positives = 1;
  MatchSettings settings = in_color(2);
  settings.polarity = Polarity::either;
  settings.min_contrast = 10;
  expect_as_on_the_cpu(scene, {230, 120}, settings);
}

TEST_P(ColorPosesTest, SameAsOnTheCpuAtFullSize) {
  const Scene scene{.part = {24, 20}, .poses = {{40.3, 30.7, 25}}};
  MatchSettings settings = in_color(1);
  settings.poses.exhaustive = true;
  settings.poses.angle_start = 15;
  settings.poses.angle_extent = 20;
  expect_as_on_the_cpu(scene, {80, 60}, settings);
}

/// Of which a GPU takes the steps of least squares in launches of their own.
TEST_P(ColorPosesTest, SameAsOnTheCpuOfLargeParts) {
  const Scene scene{.part = {210, 190}, .poses = {{160.3, 150.7, 12}}};
  MatchSettings settings = in_color(1);
  settings.poses.angle_start = 8;
  settings.poses.angle_extent = 8;
  expect_as_on_the_cpu(scene, {320, 300}, settings);
}

/// What learns colour is turned anew.
TEST_P(ColorPosesTest, Learnt) {
  const Scene scene{.poses = {{60.3, 50.7, 20}}};
  const auto frame = of_equal_luma(scene.frame({120, 100}));
  const auto other = random_planes<std::uint8_t>(scene.part, 3);
  const auto live = LiveTemplate::create(device, planar(other));
  ASSERT_TRUE(live.ok()) << live.status().message();
  const std::shared_ptr<const LiveTemplate> bank[] = {live.value()};
  Matcher matcher = std::move(Matcher::create(device).value());
  ASSERT_TRUE(matcher.set_templates(bank).ok());
  MatchSettings settings = in_color(1);
  settings.poses.pyramid_levels = 2;  // noise bears none
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame[0].size, settings).ok());
  for (const Peak& peak : peaks_in(matcher, planar(frame))) EXPECT_LT(peak.score, 0.6);
  ASSERT_TRUE(live.value()->blend(planar(of_equal_luma(scene.pattern())), 0, 0, 1).ok());
  expect_parts(peaks_in(matcher, planar(frame)), scene);
}

}  // namespace
}  // namespace api
