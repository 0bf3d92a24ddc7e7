// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames and templates of 16 bits: exact by every kernel that takes them, down to the last bit of a
// pixel, and refused by name where 8 bits are needed.
#include <cmath>

#include <xcorr/field.hpp>
#include <xcorr/live_template.hpp>
#include <xcorr/tracker.hpp>

#include "definition.hpp"

namespace api {
namespace {

using Words = Image<std::uint16_t>;

/// Of a camera of so many bits, whose pixels are `step` apart.
Words noise(Size size, unsigned seed, int bits = 16, int step = 1) {
  std::mt19937 random(seed);
  Words image(size);
  for (auto& v : image.data) v = static_cast<std::uint16_t>((random() >> (32 - bits)) * step);
  return image;
}

/// All but CUDA's `fft`, whose products are floats.
std::vector<Target> exact_targets() {
  auto exact = targets();
  std::erase_if(exact, [](const Target& target) {
    const auto* variant = find_variant<stage::Correlate>(target.backend, target.kernel);
    return variant && !variant->exact;
  });
  return exact;
}

class U16Test : public TargetTest {};
INSTANTIATE_TEST_SUITE_P(Kernels, U16Test, testing::ValuesIn(exact_targets()), name_of);

TEST_P(U16Test, PeaksAreTheDefinitions) {
  for (const int bits : {10, 12, 16}) {
    const Words frame = noise({90, 70}, 21, bits);
    const Words pattern = crop(frame, {40, 31, 14, 9});
    for (const MethodInfo& method : methods()) {
      MatchSettings s = settings(method.method);
      s.max_peaks = 5;
      s.threshold = 0.2;
      const auto expected = defined_peaks(frame, pattern, s);
      const auto got = match(device, pattern, frame, s);
      ASSERT_EQ(got.size(), expected.size()) << method.name;
      for (std::size_t i = 0; i < got.size(); ++i) {
        EXPECT_EQ(got[i].x, expected[i].x) << method.name << ", peak " << i;
        EXPECT_EQ(got[i].y, expected[i].y) << method.name << ", peak " << i;
        EXPECT_EQ(got[i].score, expected[i].score) << method.name << ", peak " << i;
      }
    }
  }
}

/// By ccorr-normed, too, whose scores all round to 1 where contrast is little beside brightness.
TEST_P(U16Test, CopiesAreToldFromNearCopies) {
  const auto expect_copy = [&]<class T>(T brightness, T step) {
    const Words levels = noise({80, 60}, 24, 7);
    Image<T> frame(levels.size);
    for (std::size_t i = 0; i < frame.data.size(); ++i)
      frame.data[i] = static_cast<T>(brightness + step * static_cast<T>(levels.data[i]));
    const Image<T> pattern = crop(frame, {41, 37, 16, 13});
    for (int y = 0; y < 13; ++y)
      for (int x = 0; x < 16; ++x) frame.at(3 + x, 2 + y) = pattern.at(x, y);
    frame.at(9, 8) = static_cast<T>(frame.at(9, 8) + step);
    for (const Method method :
         {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed}) {
      const auto peaks = match(device, pattern, frame, settings(method));
      ASSERT_EQ(peaks.size(), 1u) << info(method).name;
      EXPECT_EQ(peaks[0].x, 41) << info(method).name;
      EXPECT_EQ(peaks[0].y, 37) << info(method).name;
      EXPECT_EQ(peaks[0].similarity, 1.0) << info(method).name;
    }
  };
  expect_copy.operator()<std::uint16_t>(60000, 1);
  expect_copy.operator()<float>(3000, 0.25f);
}

/// Both parts have the same high bytes.
TEST_P(U16Test, LowBytesDecide) {
  Words frame({64, 48}, 0x5a00);
  const Words low = noise({64, 48}, 22, 8);
  for (std::size_t i = 0; i < frame.data.size(); ++i) frame.data[i] |= low.data[i];
  const auto peaks = match(device, crop(frame, {33, 17, 12, 11}), frame, settings());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 33);
  EXPECT_EQ(peaks[0].y, 17);
  EXPECT_EQ(peaks[0].score, 1.0);
}

TEST_P(U16Test, ProductsAreExact) {
  const Words left({80, 70}, 65535), right({61, 53}, 65535);
  const Problem p = dense_problem(ElementType::u16, Form::one_to_one, left.size, right.size, 1, 1,
                                  valid_shifts(left.size, right.size));
  EXPECT_EQ(p.output_type(), ElementType::u64);
  for (const double sum : correlate(p, device, kernel(), left.data.data(), right.data.data()))
    ASSERT_EQ(sum, 61.0 * 53 * 65535 * 65535);
}

/// One level of 65,536 in one pixel of a large template.
TEST_P(U16Test, OnePixelOffByOneIsNoCopy) {
  const Words frame = noise({120, 100}, 23);
  Words pattern = crop(frame, {10, 20, 80, 70});
  EXPECT_EQ(match(device, pattern, frame, settings(Method::sqdiff)).at(0).score, 0.0);
  pattern.at(40, 30) ^= 1;
  EXPECT_EQ(match(device, pattern, frame, settings(Method::sqdiff)).at(0).score, 1.0);
}

class U16OnDeviceTest : public TargetTest {
 protected:
  Matcher matcher() { return std::move(Matcher::create(device).value()); }
};
INSTANTIATE_TEST_SUITE_P(Auto, U16OnDeviceTest,
                         testing::Values(Target{Backend::cpu, "auto"},
                                         Target{Backend::cuda, "auto"}),
                         name_of);

TEST_P(U16OnDeviceTest, ScoresAreOpenCVs) {
  const Words frame = noise({70, 50}, 24, 12), pattern = crop(frame, {30, 21, 13, 8});
  Matcher made = matcher();
  ASSERT_TRUE(made.set_templates(std::vector{pattern.view()}).ok());
  for (const MethodInfo& method : methods()) {
    ASSERT_TRUE(made.prepare(ElementType::u16, frame.size, settings(method.method)).ok());
    Image<float> scores({58, 43});
    ASSERT_TRUE(made.score(frame.view(), 0, {scores.data.data(), 58 * sizeof(float)}).ok());
    for (int y = 0; y < 43; ++y)
      for (int x = 0; x < 58; ++x)
        ASSERT_EQ(scores.at(x, y),
                  static_cast<float>(defined_score(method.method, frame, x, y, pattern)))
            << method.name << " at " << x << "," << y;
  }
}

TEST_P(U16OnDeviceTest, MasksCount) {
  const Words frame = noise({70, 50}, 25);
  Words pattern = crop(frame, {30, 21, 13, 8});
  Image<std::uint8_t> mask(pattern.size, 1);
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 5; ++x) {
      mask.at(x + y / 2, y) = 0;
      pattern.at(x + y / 2, y) ^= 0x8080;
    }
  Matcher made = matcher();
  ASSERT_TRUE(made.set_templates(std::vector{pattern.view()}, std::vector{mask.view()}).ok());
  ASSERT_TRUE(made.prepare(ElementType::u16, frame.size, settings()).ok());
  const std::vector<Peak> peaks = peaks_in(made, frame.view());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 30);
  EXPECT_EQ(peaks[0].y, 21);
  EXPECT_EQ(peaks[0].score, 1.0);
}

TEST_P(U16OnDeviceTest, PlacesHaveFractions) {
  const auto hill = [](double x, double y) {
    x -= 43, y -= 32;
    return static_cast<std::uint16_t>(
        std::lround(30000 + 20000 * std::exp(-x * x / 60 - y * y / 40 - x * y / 90)));
  };
  Words frame({90, 70}), pattern({24, 20});
  for (int y = 0; y < 70; ++y)
    for (int x = 0; x < 90; ++x) frame.at(x, y) = hill(x, y);
  for (int y = 0; y < 20; ++y)
    for (int x = 0; x < 24; ++x) pattern.at(x, y) = hill(x + 31.3, y + 22.4);
  MatchSettings s = settings();
  s.subpixel = Subpixel::least_squares;
  s.threshold = 0.9;
  const auto peaks = match(device, pattern, frame, s);
  ASSERT_FALSE(peaks.empty());
  EXPECT_NEAR(peaks[0].x, 31.3, 0.005);
  EXPECT_NEAR(peaks[0].y, 22.4, 0.005);
}

TEST_P(U16OnDeviceTest, SmoothingHidesNoise) {
  Words frame({100, 80});
  const Words blocks = noise({13, 10}, 32, 11);
  const Words speckle = noise(frame.size, 26, 10), other = noise(frame.size, 27, 10);
  for (int y = 0; y < 80; ++y)
    for (int x = 0; x < 100; ++x)
      frame.at(x, y) = static_cast<std::uint16_t>(30000 + blocks.at(x / 8, y / 8));
  Words pattern = crop(frame, {40, 30, 30, 24});
  for (int y = 0; y < 24; ++y)
    for (int x = 0; x < 30; ++x) pattern.at(x, y) += other.at(x, y);
  for (std::size_t i = 0; i < frame.data.size(); ++i) frame.data[i] += speckle.data[i];
  MatchSettings s = settings();
  s.threshold = 0;
  const double rough = match(device, pattern, frame, s).at(0).score;
  s.prefilter_sigma = 2;
  const auto smooth = match(device, pattern, frame, s);
  ASSERT_FALSE(smooth.empty());
  EXPECT_EQ(smooth[0].x, 40);
  EXPECT_EQ(smooth[0].y, 30);
  EXPECT_GT(smooth[0].score, rough + 0.1);
}

TEST_P(U16OnDeviceTest, TemplatesCanBeBlended) {
  const Words frame = noise({40, 30}, 28), other = noise({40, 30}, 29);
  auto live = LiveTemplate::create(device, crop(frame, {5, 6, 9, 8}).view());
  ASSERT_TRUE(live.ok()) << live.status().message();
  ASSERT_TRUE(live.value()->blend(other.view(), 11, 12, 1).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  Words now({9, 8});
  ASSERT_TRUE(live.value()->read(now.data.data()).ok());
  EXPECT_EQ(now.data, crop(other, {11, 12, 9, 8}).data);
}

TEST_P(U16OnDeviceTest, WhatNeedsBytesSaysSo) {
  const Words frame = noise({60, 40}, 30), pattern = crop(frame, {5, 6, 9, 8});
  const auto bytes = random_image<std::uint8_t>({9, 8}, 31);
  Matcher made = matcher();
  ASSERT_EQ(made.set_templates(std::vector{pattern.view(), bytes.view()}).message(),
            "templates of different element types");
  ASSERT_TRUE(made.set_templates(std::vector{pattern.view()}).ok());
  EXPECT_EQ(made.prepare(ElementType::u8, frame.size, settings()).message(),
            "frames of u8, templates of u16");
  const Words large({2048, 1025});
  EXPECT_EQ(made.set_templates(std::vector{large.view()}).message(),
            "template 0 of u16 has more than 2097152 pixels: larger ones are matched as f32");

  auto tracker = std::move(Tracker::create(device).value());
  const TargetBox target{1, {5, 6, 9, 8}};
  EXPECT_NE(tracker.train(frame.view(), {&target, 1}).message().find("u16"), std::string::npos);
  auto field = std::move(FieldMatcher::make(device, frame.size, {}).value());
  EXPECT_NE(field.set_reference(frame.view()).message().find("u16"), std::string::npos);
}

}  // namespace
}  // namespace api
