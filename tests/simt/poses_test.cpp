// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled parts on the emulated GPU: what the CPU finds, bit for bit but for the last
// part of a place, which floating point decides.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <xcorr/match.hpp>

#include "../api/same_poses.hpp"
#include "simt/faults.hpp"

namespace {

using namespace xcorr;

constexpr Size frame_size{72, 60}, part_size{32, 28};

/// A smooth image in which every place is different.
std::uint8_t pixel_at(double x, double y) {
  return static_cast<std::uint8_t>(std::lround(128 + 50 * std::sin(0.31 * x + 0.11 * y) +
                                               40 * std::cos(0.23 * y - 0.17 * x) +
                                               30 * std::sin(0.05 * x * y / 9)));
}

/// The frame and the part, turned by 30 degrees about (40, 30), each of three planes, one after the
/// other, of which the first is the luma.
struct Scene {
  std::vector<std::uint8_t> frame, part, mask;

  /// With a polarity other than `same` the part is a negative.
  explicit Scene(Polarity polarity = Polarity::same) {
    const double cosine = std::sqrt(0.75), sine = 0.5;
    for (int plane = 0; plane < color_planes; ++plane) {
      const int farther = 11 * plane;
      for (int y = 0; y < frame_size.height; ++y)
        for (int x = 0; x < frame_size.width; ++x) frame.push_back(pixel_at(x + farther, y));
      for (int y = 0; y < part_size.height; ++y)
        for (int x = 0; x < part_size.width; ++x) {
          const double u = x - 15.5, v = y - 13.5;
          const int pixel =
              pixel_at(40 + farther + cosine * u + sine * v, 30 - sine * u + cosine * v);
          part.push_back(
              static_cast<std::uint8_t>(polarity == Polarity::same ? pixel : 255 - pixel));
          if (plane == 0) mask.push_back(u * u / 256 + v * v / 196 <= 1);
        }
    }
  }
  MatrixView view() const { return planar(frame, frame_size); }

  static MatrixView planar(const std::vector<std::uint8_t>& planes, Size size) {
    MatrixView view{planes.data(), ElementType::u8, size, size.width};
    for (int i = 0; i < color_planes; ++i)
      view.color[i] = {planes.data() + i * size.area(), view.pitch};
    return view;
  }
};

Result<Matcher> matcher_of(const Scene& scene, Backend backend, bool masked) {
  auto device = open_device(backend);
  if (!device.ok()) return device.status();
  if (Status s = make_current(device.value()); !s.ok()) return s;
  auto matcher = Matcher::create(device.value());
  if (!matcher.ok()) return matcher.status();
  const MatrixView part = Scene::planar(scene.part, part_size);
  const auto masks =
      masked
          ? std::vector{MatrixView{scene.mask.data(), ElementType::u8, part_size, part_size.width}}
          : std::vector<MatrixView>();
  if (Status s = matcher.value().set_templates({&part, 1}, masks); !s.ok()) return s;
  return matcher;
}

std::vector<Peak> match(Matcher& matcher, const MatrixView& frame, const MatchSettings& settings) {
  std::vector<Peak> peaks;
  const auto done = [&]() -> Status {
    if (Status s = matcher.prepare(ElementType::u8, frame.size, settings); !s.ok()) return s;
    if (Status s = matcher.enqueue(frame); !s.ok()) return s;
    return matcher.collect(peaks);
  };
  const Status status = done();
  EXPECT_TRUE(status.ok()) << status.message();
  return peaks;
}

std::vector<Peak> match(Backend backend, const MatchSettings& settings, bool masked) {
  const Scene scene(settings.polarity);
  auto matcher = matcher_of(scene, backend, masked);
  EXPECT_TRUE(matcher.ok()) << matcher.status().message();
  return match(matcher.value(), scene.view(), settings);
}

void expect_same(const MatchSettings& settings, bool masked) {
  const auto cpu = match(Backend::cpu, settings, masked),
             gpu = match(Backend::cuda, settings, masked);
  ASSERT_FALSE(cpu.empty());
  ASSERT_EQ(cpu.size(), gpu.size());
  api::expect_same_poses(cpu, gpu);
  EXPECT_NEAR(gpu[0].pose.center_x, 40, 0.2);
  EXPECT_NEAR(gpu[0].pose.center_y, 30, 0.2);
  EXPECT_NEAR(gpu[0].pose.angle, 30, 0.5);
}

MatchSettings turned() {
  MatchSettings settings;
  settings.poses.angle_start = 10;
  settings.poses.angle_extent = 40;
  settings.max_peaks = 2;
  return settings;
}

TEST(Poses, Turned) { expect_same(turned(), false); }

TEST(Poses, TurnedUnderAMask) { expect_same(turned(), true); }

TEST(Poses, OfEitherContrast) {
  MatchSettings settings = turned();
  settings.polarity = Polarity::either;
  settings.min_contrast = 20;
  expect_same(settings, false);
}

/// Only some of the images are searched.
TEST(Poses, NearOne) {
  MatchSettings settings = turned();
  settings.poses.vicinity = PoseVicinity{33, 4, 1, 0};
  expect_same(settings, false);
}

TEST(Poses, Scaled) {
  MatchSettings settings = turned();
  settings.poses.angle_extent = 25;
  settings.poses.scale_min = 0.95;
  settings.poses.scale_max = 1.05;
  expect_same(settings, false);
}

TEST(Poses, HalvedFirst) {
  MatchSettings settings = turned();
  settings.poses.pyramid_levels = 1;
  expect_same(settings, false);
}

TEST(Poses, EverythingAtFullSize) {
  for (const bool masked : {false, true}) {
    MatchSettings settings = turned();
    settings.poses.angle_start = 20;
    settings.poses.angle_extent = 20;
    settings.poses.exhaustive = true;
    expect_same(settings, masked);
  }
}

TEST(Poses, InColor) {
  for (const bool masked : {false, true}) {
    MatchSettings settings = turned();
    settings.match_on = MatchOn::color;
    settings.poses.scale_min = masked ? 1 : 0.97;
    expect_same(settings, masked);
  }
}

TEST(Poses, OnEdges) {
  for (const MatchOn match_on : {MatchOn::edges, MatchOn::color_edges}) {
    MatchSettings settings = turned();
    settings.match_on = match_on;
    settings.polarity = match_on == MatchOn::edges ? Polarity::either : Polarity::same;
    expect_same(settings, match_on == MatchOn::edges);
  }
}

/// What small frames take is recorded with the first of them, and anew where a vicinity comes,
/// which has no ridges: after that it is a few calls, and the same is found in other places of
/// other frames, at other poses and by other thresholds.
TEST(Poses, SmallFramesAreRecorded) {
  const Scene scene;
  auto gpu = matcher_of(scene, Backend::cuda, false), cpu = matcher_of(scene, Backend::cpu, false);
  ASSERT_TRUE(gpu.ok() && cpu.ok());
  MatchSettings settings = turned();
  settings.search_region = {0, 0, 60, 56};
  match(gpu.value(), scene.view(), settings);
  for (int i = 0; i < 6; ++i) {
    settings.search_region.x = 2 * i;
    settings.search_region.y = i % 4;
    if (i > 1) settings.poses.vicinity = PoseVicinity{27.0 + i, 5, 1, 0};
    if (i > 3) settings.threshold = i > 4 ? 0.99999 : 0.6;
    constexpr long never = 1'000'000;
    simt::break_call(never, simt::Fault::passing);
    const auto found = match(gpu.value(), scene.view(), settings);
    const long calls = simt::mend();
    if (i < 4 && i != 2) EXPECT_LE(calls, 8);
    const auto expected = match(cpu.value(), scene.view(), settings);
    ASSERT_EQ(found.size(), expected.size());
    EXPECT_EQ(found.empty(), i > 4);
    for (std::size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].score, expected[k].score);
      EXPECT_NEAR(found[k].pose.center_x, expected[k].pose.center_x, 1e-3);
      EXPECT_NEAR(found[k].pose.center_y, expected[k].pose.center_y, 1e-3);
    }
  }
}

}  // namespace
