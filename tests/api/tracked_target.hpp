// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A drawn target whose place and size are known to a part of a pixel, and a Tracker that learns it.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include <xcorr/tracker.hpp>

#include "support.hpp"

namespace api {

class TrackerTest : public testing::TestWithParam<Backend> {
 protected:
  using Bytes = Image<std::uint8_t>;
  static constexpr Size frame_size{320, 240};

  /// Smooth noise: waves of random directions and phases, no longer than 1 / `finest` pixels.
  class Texture {
   public:
    Texture(unsigned seed, double finest) {
      std::mt19937 random(seed);
      const auto uniform = [&](double most) {
        return most * static_cast<double>(random()) / 0x1p32;
      };
      for (Wave& wave : waves_)
        wave = {uniform(2 * finest) - finest, uniform(2 * finest) - finest, uniform(7)};
    }
    double operator()(double x, double y) const {
      double sum = 0;
      for (const Wave& wave : waves_) sum += std::cos(wave.x * x + wave.y * y + wave.phase);
      return 128 + 20 * sum;
    }

   private:
    struct Wave {
      double x, y, phase;
    };
    Wave waves_[12];
  };

  void SetUp() override {
    open(GetParam(), device_);
    if (IsSkipped()) return;
    make_tracker({});
  }
  void make_tracker(const TrackerSettings& settings) {
    auto made = Tracker::create(device_, settings);
    ASSERT_TRUE(made.ok()) << made.status().message();
    tracker_ = std::make_unique<Tracker>(std::move(made.value()));
  }

  static Bytes background(double gain = 1) {
    static const Texture texture(1, 0.35);
    Bytes frame(frame_size);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x)
        frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(gain * texture(x, y), 0.0, 255.0));
    return frame;
  }

  /// An image of 1 x 1 stretched into the box, which is turned by so many degrees,
  /// counter-clockwise as seen.
  static void draw(Bytes& frame, const Box& box, unsigned seed = 2, double gain = 1,
                   double angle = 0) {
    const Texture texture(seed, 16);
    const double cosine = std::cos(angle * std::numbers::pi / 180),
                 sine = std::sin(angle * std::numbers::pi / 180);
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x) {
        const double dx = x + 0.5 - box.x - box.width / 2, dy = y + 0.5 - box.y - box.height / 2;
        const double u = (cosine * dx - sine * dy) / box.width + 0.5,
                     v = (sine * dx + cosine * dy) / box.height + 0.5;
        if (u < 0 || v < 0 || u >= 1 || v >= 1) continue;
        const double value = gain * texture(u, v);
        frame.at(x, y) = static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
      }
  }

  static Bytes blurred(const Bytes& frame, int radius) {
    Bytes out = frame;
    for (int y = radius; y < frame_size.height - radius; ++y)
      for (int x = radius; x < frame_size.width - radius; ++x) {
        int sum = 0;
        for (int j = -radius; j <= radius; ++j)
          for (int i = -radius; i <= radius; ++i) sum += frame.at(x + i, y + j);
        out.at(x, y) = static_cast<std::uint8_t>(sum / ((2 * radius + 1) * (2 * radius + 1)));
      }
    return out;
  }

  void train(const Bytes& frame, const Box& box, std::uint64_t target = 1) {
    const TargetBox training_sample{target, box};
    const Status status = tracker_->train(frame.view(), {&training_sample, 1});
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// A frame with the target, which is learnt.
  Bytes learnt_frame(const Box& box) {
    Bytes frame = background();
    draw(frame, box);
    train(frame, box);
    return frame;
  }
  FilterDetection locate(const MatrixView& frame, const Box& box, std::uint64_t target = 1) {
    const TargetBox asked{target, box};
    std::vector<FilterDetection> filter_detections;
    const Status status = tracker_->locate(frame, {&asked, 1}, filter_detections);
    EXPECT_TRUE(status.ok()) << status.message();
    return filter_detections.empty() ? FilterDetection{} : filter_detections.front();
  }
  static void expect_at(const FilterDetection& filter_detection, const Box& box, double pixels,
                        double share) {
    EXPECT_NEAR(filter_detection.box.x + filter_detection.box.width / 2, box.x + box.width / 2,
                pixels);
    EXPECT_NEAR(filter_detection.box.y + filter_detection.box.height / 2, box.y + box.height / 2,
                pixels);
    EXPECT_NEAR(filter_detection.box.width / box.width, 1, share);
    EXPECT_NEAR(filter_detection.box.height / box.height, 1, share);
  }

  Device device_;
  std::unique_ptr<Tracker> tracker_;
};

}  // namespace api
