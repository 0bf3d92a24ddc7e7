// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of turned and scaled parts whose truth does not depend on any matcher's interpolation:
// every pixel is the mean of 4 x 4 samples of functions.
#pragma once

#include <cmath>
#include <functional>
#include <numbers>

#include "support.hpp"

namespace api {

using Bytes = Image<std::uint8_t>;
inline constexpr double degree = std::numbers::pi / 180;

/// A sum of waves.
class Texture {
 public:
  explicit Texture(unsigned seed, double shortest = 7, double longest = 50) {
    std::mt19937 random(seed);
    const auto uniform = [&](double from, double to) {
      return from + (to - from) * random() / 4294967296.0;
    };
    for (Wave& wave : waves_) {
      const double length = uniform(shortest, longest), angle = uniform(0, 2 * std::numbers::pi);
      wave = {std::cos(angle) / length, std::sin(angle) / length, uniform(0, 1)};
    }
  }
  double operator()(double x, double y) const {
    double sum = 0;
    for (const Wave& w : waves_)
      sum += std::cos(2 * std::numbers::pi * (w.x * x + w.y * y + w.phase));
    return 128 + 14 * sum;
  }

 private:
  struct Wave {
    double x, y, phase;
  };
  Wave waves_[24];
};

/// Parts of one texture on another.
struct Scene {
  Size part{48, 40};
  bool round = false;
  std::vector<Pose> poses{};
  std::size_t positives = SIZE_MAX;  ///< the parts after these are dark where they were bright
  std::function<double(double, double)> inside = Texture(1), outside = Texture(2);

  bool covers(double u, double v) const {
    const double a = 2 * u / part.width, b = 2 * v / part.height;
    return round ? a * a + b * b <= 1 : std::abs(a) <= 1 && std::abs(b) <= 1;
  }
  double at(double x, double y) const {
    for (std::size_t i = 0; i < poses.size(); ++i) {
      const Pose& pose = poses[i];
      const double dx = x - pose.center_x, dy = y - pose.center_y;
      const double c = std::cos(pose.angle * degree), s = std::sin(pose.angle * degree);
      const double u = (c * dx - s * dy) / pose.scale, v = (s * dx + c * dy) / pose.scale;
      if (covers(u, v)) return i < positives ? inside(u, v) : 255 - inside(u, v);
    }
    return outside(x, y);
  }
  /// What a camera makes of it: a gray level of 8 bits is `gain` of its.
  template <class T>
  Image<T> image(Size size, double gain, double offset) const {
    Image<T> made(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x) {
        double sum = 0;
        for (int i = 0; i < 16; ++i) sum += at(x + (i % 4 - 1.5) / 4, y + (i / 4 - 1.5) / 4);
        const double value = offset + gain * std::clamp(sum / 16, 0.0, 255.0);
        made.at(x, y) = static_cast<T>(std::is_integral_v<T> ? std::round(value) : value);
      }
    return made;
  }
  Bytes frame(Size size) const { return image<std::uint8_t>(size, 1, 0); }
  /// The part alone, upright.
  template <class T>
  Image<T> part_image(double gain, double offset) const {
    Scene alone = *this;
    alone.round = false;
    alone.part = {part.width + 2, part.height + 2};  // its rim shows nothing else
    alone.poses = {{0.5 * (part.width - 1), 0.5 * (part.height - 1)}};
    return alone.image<T>(part, gain, offset);
  }
  Bytes pattern() const { return part_image<std::uint8_t>(1, 0); }
  Bytes disc() const {
    Bytes mask(part);
    for (int y = 0; y < part.height; ++y)
      for (int x = 0; x < part.width; ++x)
        mask.at(x, y) = covers(x - 0.5 * (part.width - 1), y - 0.5 * (part.height - 1));
    return mask;
  }
};

/// Searches for parts of scenes on a device.
class PosedTest : public BackendTest {
 protected:
  std::vector<Peak> match(const Device& on, const Bytes& frame, const Bytes& pattern,
                          const MatchSettings& settings, const Bytes* mask = nullptr) {
    const MatrixView view = pattern.view(), mask_view = mask ? mask->view() : MatrixView{};
    return match(on, frame, std::span(&view, 1), std::span(&mask_view, 1), settings);
  }
  std::vector<Peak> match(const Device& on, const Bytes& frame,
                          std::span<const MatrixView> templates, std::span<const MatrixView> masks,
                          const MatchSettings& settings) {
    Matcher matcher = std::move(Matcher::create(on).value());
    EXPECT_TRUE(matcher.set_templates(templates, masks).ok());
    const Status prepared = matcher.prepare(ElementType::u8, frame.size, settings);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    std::vector<Peak> peaks;
    for (int i = 0; i < 2; ++i) {  // the second frame finds nothing left of the first
      EXPECT_TRUE(matcher.enqueue(frame.view()).ok());
      const Status collected = matcher.collect(peaks);
      EXPECT_TRUE(collected.ok()) << collected.message();
    }
    return peaks;
  }
  std::vector<Peak> match(const Bytes& frame, const Bytes& pattern, const MatchSettings& settings,
                          const Bytes* mask = nullptr) {
    return match(device, frame, pattern, settings, mask);
  }
};

inline double turn_between(double a, double b) { return std::abs(std::remainder(a - b, 360)); }

/// Each part is one peak, and each peak one part.
inline void expect_parts(const std::vector<Peak>& peaks, const Scene& scene, double pixels = 0.1,
                         double degrees = 0.2, double similarity = 0.8) {
  EXPECT_EQ(peaks.size(), scene.poses.size());
  for (const Pose& part : scene.poses) {
    const auto near = [&](const Peak& peak) {
      return std::hypot(peak.pose.center_x - part.center_x, peak.pose.center_y - part.center_y) < 5;
    };
    const auto found = std::ranges::find_if(peaks, near);
    ASSERT_NE(found, peaks.end()) << part.center_x << ", " << part.center_y;
    const Pose& pose = found->pose;
    EXPECT_NEAR(pose.center_x, part.center_x, pixels);
    EXPECT_NEAR(pose.center_y, part.center_y, pixels);
    EXPECT_LT(turn_between(pose.angle, part.angle), degrees) << pose.angle << " " << part.angle;
    EXPECT_NEAR(pose.scale, part.scale, 0.003);
    EXPECT_GT(found->similarity, similarity);
  }
}

inline MatchSettings all_round(int max_peaks) {
  MatchSettings s;
  s.poses.angle_extent = 360;
  s.max_peaks = max_peaks;
  s.threshold = 0.75;  // what is outside resembles parts of the template
  return s;
}

}  // namespace api
