// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Masks of weights: peaks by the definition in which a pixel counts as often as its byte says, in
// luma and in colour, for all methods that take them; soft copies; what is refused.
#include <xcorr/window_matcher.hpp>

#include "definition.hpp"
#include "planes.hpp"

namespace api {
namespace {

constexpr Size frame_size{90, 64};

/// 255 in the middle, less and less towards the corners, where it is 0.
Bytes soft_disc(Size size) {
  Bytes weights(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double u = (2 * x + 1.0) / size.width - 1, v = (2 * y + 1.0) / size.height - 1;
      weights.at(x, y) =
          static_cast<std::uint8_t>(std::clamp(400 * (1.1 - u * u - v * v), 0.0, 255.0));
    }
  return weights;
}

Mask weights_of(const Bytes& image) { return {image.data.data(), image.size.width, true}; }

MatchSettings weighted(Method method = Method::ccoeff_normed) {
  MatchSettings settings;
  settings.method = method;
  settings.weights = true;
  settings.subpixel = Subpixel::none;
  settings.max_peaks = 3;
  settings.threshold = 0.2;
  return settings;
}

constexpr Method normed[] = {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed};

class WeightsTest : public PosedTest {
 protected:
  void expect_defined(const Bytes& frame, const Bytes& pattern, const Bytes& weights,
                      const MatchSettings& settings) {
    const auto expected = defined_peaks(frame, pattern, settings, weights_of(weights));
    const auto found = match(frame, pattern, settings, &weights);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].x, expected[i].x);
      EXPECT_EQ(found[i].y, expected[i].y);
      EXPECT_EQ(found[i].score, expected[i].score);
    }
  }
};

ON_EACH_BACKEND(WeightsTest);

TEST_P(WeightsTest, PeaksAreThoseOfTheDefinition) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 1);
  for (const Method method : normed)
    for (const Rect& place : {Rect{20, 11, 15, 12}, Rect{51, 30, 33, 31}, Rect{3, 28, 9, 17}})
      expect_defined(frame, crop(frame, place), soft_disc(place.size()), weighted(method));
}

/// Weights of noise, which have as many runs as pixels, and few pixels beside zeros.
TEST_P(WeightsTest, OfAnyKind) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 2);
  const Rect place{40, 22, 24, 24};
  const Bytes pattern = crop(frame, place), noise = random_image<std::uint8_t>(place.size(), 3);
  expect_defined(frame, pattern, noise, weighted());
  Bytes few(place.size());
  for (int i = 0; i < 9; ++i) few.at(2 * i + 3, 5 * i % 23) = static_cast<std::uint8_t>(1 + 30 * i);
  expect_defined(frame, pattern, few, weighted());
  MatchSettings either = weighted();
  either.polarity = Polarity::either;
  either.min_contrast = 70;
  expect_defined(frame, pattern, noise, either);
}

/// A copy under the weights scores exactly 1, whatever is where they are 0.
TEST_P(WeightsTest, CopiesScoreOne) {
  Bytes frame = random_image<std::uint8_t>(frame_size, 4);
  const Bytes pattern = random_image<std::uint8_t>({17, 15}, 5), weights = soft_disc(pattern.size);
  for (int y = 0; y < 15; ++y)
    for (int x = 0; x < 17; ++x)
      if (weights.at(x, y)) frame.at(33 + x, 27 + y) = pattern.at(x, y);
  MatchSettings settings = weighted();
  settings.subpixel = Subpixel::least_squares;
  settings.max_peaks = 1;
  const auto peaks = match(frame, pattern, settings, &weights);
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(peaks[0].score, 1);
  EXPECT_NEAR(peaks[0].x, 33, 0.3);
  EXPECT_NEAR(peaks[0].y, 27, 0.3);
}

/// Weights that are all alike where they are not 0 are a mask.
TEST_P(WeightsTest, EqualOnesAreAMask) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 6),
              pattern = crop(frame, {30, 20, 12, 14});
  Bytes mask = soft_disc(pattern.size);
  for (std::uint8_t& weight : mask.data) weight = weight > 200 ? 77 : 0;
  MatchSettings plain = weighted();
  plain.weights = false;
  const auto expected = match(frame, pattern, plain, &mask),
             found = match(frame, pattern, weighted(), &mask);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].x, expected[i].x);
    EXPECT_EQ(found[i].score, expected[i].score);
  }
}

/// Of one size with weights, with others, and with none; the responses, too.
TEST_P(WeightsTest, TemplatesDoNotMix) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 7);
  const Rect places[] = {{5, 5, 14, 14}, {40, 8, 14, 14}, {20, 30, 14, 14}};
  const Bytes weights[] = {soft_disc({14, 14}), random_image<std::uint8_t>({14, 14}, 8)};
  std::vector<Bytes> patterns;
  for (const Rect& place : places) patterns.push_back(crop(frame, place));
  const std::vector<MatrixView> views{patterns[0].view(), patterns[1].view(), patterns[2].view()},
      masks{weights[0].view(), weights[1].view(), {}};
  MatchSettings settings = weighted();
  settings.max_peaks = 1;
  const auto peaks = match(device, frame, views, masks, settings);
  ASSERT_EQ(peaks.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(peaks[i].x, places[i].x);
    EXPECT_EQ(peaks[i].y, places[i].y);
    EXPECT_EQ(peaks[i].score, 1);
  }

  Matcher matcher = std::move(Matcher::create(device).value());
  ASSERT_TRUE(matcher.set_templates(views, masks).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, settings).ok());
  Image<float> scores({frame.size.width - 13, frame.size.height - 13});
  const Status scored = matcher.score(frame.view(), 1, {scores.data.data(), scores.view().pitch});
  ASSERT_TRUE(scored.ok()) << scored.message();
  for (const auto& [x, y] : {std::pair(40, 8), std::pair(0, 0), std::pair(76, 50)})
    EXPECT_NEAR(scores.at(x, y),
                defined_score(settings.method, frame, x, y, patterns[1], weights_of(weights[1])),
                1e-6);
}

/// A colour's planes have the same weights.
TEST_P(WeightsTest, OfColor) {
  const Planes<std::uint8_t> frame = random_planes<std::uint8_t>(frame_size, 9);
  const Rect place{33, 21, 20, 18};
  const Planes<std::uint8_t> pattern = crop_planes(frame, place);
  const Bytes weights = soft_disc(place.size());
  MatchSettings settings = weighted();
  settings.match_on = MatchOn::color;
  settings.max_peaks = 2;
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = planar(pattern), mask = weights.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}, {&mask, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame_size, settings).ok());
  const Packed packed(frame, 4, 2, 1, 0);
  for (const MatrixView& picture : {planar(frame), packed.view}) {
    std::vector<Peak> peaks;
    ASSERT_TRUE(matcher.enqueue(picture).ok());
    ASSERT_TRUE(matcher.collect(peaks).ok());
    ASSERT_FALSE(peaks.empty());
    EXPECT_EQ(peaks[0].x, place.x);
    EXPECT_EQ(peaks[0].y, place.y);
    EXPECT_EQ(peaks[0].score, 1);
    if (peaks.size() > 1) {
      EXPECT_LT(peaks[1].score, 0.5);
    }
  }
}

TEST_P(WeightsTest, OfWindows) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 10);
  const Rect place{41, 19, 16, 16};
  const Bytes pattern = crop(frame, place), weights = soft_disc(place.size());
  WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
  const MatrixView view = pattern.view(), mask = weights.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}, {&mask, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, frame_size, weighted()).ok());
  const SearchWindow windows[] = {{0, {36, 12, 30, 30}}, {0, {38, 16, 24, 22}}};
  std::vector<std::vector<Peak>> peaks;
  ASSERT_TRUE(matcher.enqueue(frame.view(), windows).ok());
  ASSERT_TRUE(matcher.collect(peaks).ok());
  ASSERT_EQ(peaks.size(), 2U);
  for (const auto& found : peaks) {
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].x, place.x);
    EXPECT_EQ(found[0].y, place.y);
    EXPECT_EQ(found[0].score, 1);
  }
}

TEST_P(WeightsTest, WhatTheyAreNotFor) {
  const Bytes pattern = random_image<std::uint8_t>({16, 16}, 11), weights = soft_disc({16, 16});
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view(), mask = weights.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}, {&mask, 1}).ok());
  const auto refused = [&](auto change) {
    MatchSettings settings = weighted();
    change(settings);
    const Status status = matcher.prepare(ElementType::u8, frame_size, settings);
    EXPECT_NE(status.message().find("weights"), std::string::npos) << status.message();
    return status.code() == Code::unsupported;
  };
  EXPECT_TRUE(refused([](MatchSettings& s) { s.method = Method::sqdiff; }));
  EXPECT_TRUE(refused([](MatchSettings& s) { s.match_on = MatchOn::edges; }));
  EXPECT_TRUE(refused([](MatchSettings& s) { s.overhang = 0.2; }));
  EXPECT_TRUE(refused([](MatchSettings& s) { s.confirm_threshold = 5; }));
  // Of 16 bits the products would have 24.
  const Image<float> floats = random_image<float>({16, 16}, 12);
  const MatrixView float_view = floats.view();
  ASSERT_TRUE(matcher.set_templates({&float_view, 1}, {&mask, 1}).ok());
  EXPECT_EQ(matcher.prepare(ElementType::f32, frame_size, weighted()).code(),
            Code::invalid_argument);
}

}  // namespace
}  // namespace api
