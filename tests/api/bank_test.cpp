// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of many templates at once: the peaks are those of the CPU, bit for bit, whatever is on
// the frame.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

using namespace api;

using Bytes = Image<std::uint8_t>;

class BankTest : public testing::TestWithParam<std::pair<const char*, Size>> {
 protected:
  /// Waves and a camera's noise; `seed`: of both.
  Bytes image(unsigned seed) const {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, 3);
    const double a = 0.05 + 0.01 * (seed % 5), b = 0.02 + 0.006 * (seed % 7);
    Bytes made(frame_);
    for (int y = 0; y < frame_.height; ++y)
      for (int x = 0; x < frame_.width; ++x)
        made.at(x, y) = static_cast<std::uint8_t>(
            std::lround(std::clamp(120 + 60 * std::sin(a * x + 0.0007 * x * y) +
                                       50 * std::cos(b * y - 0.0011 * x * x) + noise(random),
                                   0.0, 255.0)));
    return made;
  }
  Rect place(int i) const {
    return {(7 + 53 * i) % (frame_.width - side_.width),
            (3 + 31 * i) % (frame_.height - side_.height), side_.width, side_.height};
  }
  std::vector<Bytes> cut(const Bytes& from) const {
    std::vector<Bytes> templates;
    for (int i = 0; i < count_; ++i) templates.push_back(crop(from, place(i)));
    return templates;
  }
  /// With noise of its own.
  static Bytes grained(Bytes image, unsigned seed, double deviation) {
    std::mt19937 random(seed);
    std::normal_distribution<double> noise(0, deviation);
    for (auto& value : image.data)
      value = static_cast<std::uint8_t>(std::lround(std::clamp(value + noise(random), 0.0, 255.0)));
    return image;
  }

  /// Frames one after the other with the same matcher, on the GPU and on the CPU.
  void expect_same(const std::vector<Bytes>& templates, const std::vector<Bytes>& frames,
                   double threshold = 0.5) {
    std::vector<MatrixView> views;
    for (const Bytes& t : templates) views.push_back(t.view());
    MatchSettings settings;
    settings.threshold = threshold;
    settings.max_peaks = 1;
    settings.subpixel = Subpixel::none;
    const auto prepared = [&](const Device& device) {
      auto matcher = Matcher::create(device);
      settings.kernel = device.backend == Backend::cuda ? kernel_ : "auto";
      EXPECT_TRUE(matcher.ok() && matcher.value().set_templates(views).ok() &&
                  matcher.value().prepare(ElementType::u8, frame_, settings).ok());
      return std::move(matcher.value());
    };
    Matcher by_gpu = prepared(gpu_), by_cpu = prepared(cpu_);
    for (std::size_t k = 0; k < frames.size(); ++k) {
      SCOPED_TRACE("frame " + std::to_string(k));
      std::vector<Peak> found, expected;
      ASSERT_TRUE(by_gpu.enqueue(frames[k].view()).ok());
      ASSERT_TRUE(by_gpu.collect(found).ok());
      ASSERT_TRUE(by_cpu.enqueue(frames[k].view()).ok());
      ASSERT_TRUE(by_cpu.collect(expected).ok());
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(found[i].template_index, expected[i].template_index);
        EXPECT_EQ(found[i].x, expected[i].x);
        EXPECT_EQ(found[i].y, expected[i].y);
        EXPECT_EQ(found[i].score, expected[i].score);
      }
    }
  }

  void SetUp() override {
    open(Backend::cpu, cpu_);
    open(Backend::cuda, gpu_);
    if (IsSkipped()) return;
    if (gpu_.compute_capability != 90) GTEST_SKIP() << "not on this device";
    kernel_ = GetParam().first;
    side_ = GetParam().second;
    if (gpu_.name == "GPU on a CPU") return;
    frame_ = {813, 601};
    count_ = 40;
  }

  Device cpu_, gpu_;
  Size frame_{151, 121}, side_;
  int count_ = 20;
  std::string kernel_;
};

TEST_P(BankTest, WhatIsThere) {
  const Bytes first = image(1);
  auto templates = cut(grained(first, 9, 4));
  // One that is not there, one that has no contrast, one that is there twice.
  templates[2] = crop(image(3), place(2));
  templates[3] = Bytes(side_, 77);
  Bytes twice = first;
  const Rect from = place(5);
  const int x = frame_.width - side_.width, y = 2;
  for (int v = 0; v < side_.height; ++v)
    for (int u = 0; u < side_.width; ++u) twice.at(x + u, y + v) = first.at(from.x + u, from.y + v);
  expect_same(templates, {first, grained(first, 2, 6), twice});
}

TEST_P(BankTest, Noise) {
  const Bytes noise = random_image<std::uint8_t>(frame_, 5), shown = image(1);
  auto templates = cut(noise);
  for (int i = 0; i < 3; ++i) templates[i] = crop(shown, place(i));
  expect_same(templates, {noise, shown, noise});
}

TEST_P(BankTest, FlatGround) {
  Bytes frame(frame_, 200);
  const Bytes shown = image(4);
  for (int i = 0; i < 3; ++i) {
    const auto [x, y, width, height] = place(i);
    for (int v = 0; v < height; ++v)
      for (int u = 0; u < width; ++u) frame.at(x + u, y + v) = shown.at(x + u, y + v);
  }
  expect_same(cut(shown), {frame, Bytes(frame_, 0), Bytes(frame_, 255)});
}

TEST_P(BankTest, LowThresholds) {
  const Bytes frame = image(2);
  for (const double threshold : {-1.0, 0.0, 0.02, 0.9})
    expect_same(cut(grained(frame, 3, 20)), {frame}, threshold);
}

INSTANTIATE_TEST_SUITE_P(, BankTest,
                         testing::Values(std::pair("tensor_bank_wgmma.p2t8", Size{16, 19}),
                                         std::pair("tensor_bank_wgmma.p2t8", Size{9, 4}),
                                         std::pair("tensor_bank_wgmma.k1t8", Size{32, 21}),
                                         std::pair("tensor_bank_wgmma.k2t8", Size{64, 64}),
                                         std::pair("tensor_bank_wgmma.k2t8", Size{37, 30})),
                         [](const auto& info) {
                           std::string name = std::string("cuda_") + info.param.first;
                           std::ranges::replace(name, '.', '_');
                           const Size side = info.param.second;
                           return name + "_" + std::to_string(side.width) + "x" +
                                  std::to_string(side.height);
                         });

}  // namespace
