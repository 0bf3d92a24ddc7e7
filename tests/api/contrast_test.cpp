// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Which contrast a match must have: its sign against the template's, and how much of it. Peaks are
// those of the definition for every kernel, with masks and without; refused values and poses are in
// matcher_test.cpp and poses_test.cpp.
#include <cmath>

#include "definition.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

constexpr Size frame_size{90, 64};

template <class T>
void paste(Image<T>& frame, const Image<T>& pattern, int left, int top, double gain) {
  for (int y = 0; y < pattern.size.height; ++y)
    for (int x = 0; x < pattern.size.width; ++x)
      frame.at(left + x, top + y) = static_cast<T>(128 + gain * (pattern.at(x, y) - 128));
}

Bytes every_third_left_out(Size size) {
  Bytes mask(size);
  for (std::size_t i = 0; i < mask.data.size(); ++i) mask.data[i] = i % 3 != 1;
  return mask;
}

class ContrastTest : public TargetTest {
 protected:
  template <class T>
  std::vector<Peak> match(const Image<T>& frame, const Image<T>& pattern, const MatchSettings& s,
                          const Bytes* mask = nullptr) {
    const MatrixView view = pattern.view(), mask_view = mask ? mask->view() : MatrixView{};
    return match_masked(device, {&view, 1}, {&mask_view, 1}, frame, s,
                        mask ? kernel() == "auto" : is_general(kernel()));
  }

  template <class T>
  void expect_defined_peaks(const Image<T>& frame, const Image<T>& pattern, const MatchSettings& s,
                            const Bytes* mask = nullptr) {
    const auto expected = defined_peaks(frame, pattern, s, mask ? mask_of(*mask) : Mask());
    const auto got = match(frame, pattern, s, mask);
    ASSERT_EQ(got.size(), expected.size()) << info(s.method).name;
    ASSERT_GT(got.size(), 0u);
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].x, expected[i].x) << info(s.method).name << ", peak " << i;
      EXPECT_EQ(got[i].y, expected[i].y) << info(s.method).name << ", peak " << i;
      EXPECT_EQ(got[i].inverted, expected[i].inverted) << info(s.method).name << ", peak " << i;
      const double tolerance = sizeof(T) == 1 ? 0 : 1e-9 * std::abs(expected[i].score) + 1e-9;
      EXPECT_NEAR(got[i].score, expected[i].score, tolerance) << info(s.method).name;
    }
  }
  template <class T>
  void expect_either_sign() {
    const auto pattern = random_image<T>({14, 9}, 12);
    auto frame = random_image<T>(frame_size, 11);
    paste(frame, pattern, 20, 11, 0.5);
    paste(frame, pattern, 60, 40, -0.5);
    const Bytes mask = every_third_left_out(pattern.size);
    for (const Method method : {Method::ccoeff, Method::ccoeff_normed})
      for (const Polarity polarity : {Polarity::inverted, Polarity::either}) {
        MatchSettings s = settings(method);
        s.polarity = polarity;
        s.threshold = 0.1;
        s.max_peaks = 12;
        expect_defined_peaks(frame, pattern, s);
        expect_defined_peaks(frame, pattern, s, &mask);
      }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, ContrastTest, testing::ValuesIn(targets()), name_of);

TEST_P(ContrastTest, PeaksOfEitherSignInBytes) { expect_either_sign<std::uint8_t>(); }

TEST_P(ContrastTest, PeaksOfEitherSignInFloats) { expect_either_sign<float>(); }

/// They lie where an inverted copy lies, and score as that of the template does.
TEST_P(ContrastTest, InvertedCopies) {
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  auto negative = pattern;
  for (std::uint8_t& pixel : negative.data) pixel = static_cast<std::uint8_t>(255 - pixel);
  Bytes frame = random_image<std::uint8_t>(frame_size, 11);
  paste(frame, pattern, 20, 11, 1);
  paste(frame, negative, 60, 40, 1);
  for (const Subpixel subpixel : {Subpixel::none, Subpixel::quadratic, Subpixel::least_squares}) {
    MatchSettings s = settings();
    s.subpixel = subpixel;
    s.threshold = 0.9;
    s.max_peaks = 3;
    const auto found = [&](Polarity polarity) {
      s.polarity = polarity;
      return match(frame, pattern, s);
    };
    for (const auto& [polarity, x, y, inverted] : {std::tuple(Polarity::same, 20, 11, false),
                                                   std::tuple(Polarity::inverted, 60, 40, true)}) {
      const auto peaks = found(polarity);
      ASSERT_EQ(peaks.size(), 1u);
      EXPECT_NEAR(peaks[0].x, x, subpixel == Subpixel::quadratic ? 0.3 : 0.01);
      EXPECT_NEAR(peaks[0].y, y, subpixel == Subpixel::quadratic ? 0.3 : 0.01);
      EXPECT_EQ(peaks[0].score, 1);
      EXPECT_EQ(peaks[0].similarity, 1);
      EXPECT_EQ(peaks[0].inverted, inverted);
    }
    const auto both = found(Polarity::either);
    ASSERT_EQ(both.size(), 2u);
    EXPECT_FALSE(both[0].inverted);
    EXPECT_TRUE(both[1].inverted);
    // The quadratic of an inverted one is that of the negative's own.
    s.polarity = Polarity::same;
    const auto own = match(frame, negative, s);
    ASSERT_EQ(own.size(), 1u);
    EXPECT_NEAR(both[1].x, own[0].x, 1e-6);
    EXPECT_NEAR(both[1].y, own[0].y, 1e-6);
  }
}

/// A copy of any contrast scores 1; one of less than is asked for is none.
TEST_P(ContrastTest, LittleContrast) {
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  Bytes frame(frame_size, 128);
  paste(frame, pattern, 20, 11, 0.5);
  paste(frame, pattern, 60, 40, 0.125);
  const double most = deviation(frame, 20, 11, pattern.size),
               least = deviation(frame, 60, 40, pattern.size);
  MatchSettings s = settings();
  s.threshold = 0.9;
  s.max_peaks = 2;
  for (const auto& [contrast, count] :
       {std::pair(0.0, 2u), std::pair(0.999 * least, 2u), std::pair(1.001 * least, 1u),
        std::pair(0.999 * most, 1u), std::pair(1.001 * most, 0u)}) {
    s.min_contrast = contrast;
    const auto peaks = match(frame, pattern, s);
    ASSERT_EQ(peaks.size(), count) << contrast;
    if (count > 0) {
      EXPECT_EQ(peaks[0].x, 20);
    }
  }
}

/// For all methods, of both types, also where only some pixels count.
TEST_P(ContrastTest, PeaksAmongWindowsOfContrast) {
  const auto check = [&]<class T>(const Image<T>& pattern, Image<T> frame) {
    for (int y = 0; y < frame_size.height; ++y)
      for (int x = 0; x < frame_size.width; ++x)
        frame.at(x, y) = static_cast<T>(128 + (frame.at(x, y) - 128) * x / frame_size.width);
    const Bytes mask = every_third_left_out(pattern.size);
    for (const MethodInfo& method : methods()) {
      MatchSettings s = settings(method.method);
      s.threshold = -1;
      s.max_peaks = 12;
      s.min_contrast = 45;
      expect_defined_peaks(frame, pattern, s);
      expect_defined_peaks(frame, pattern, s, &mask);
    }
  };
  check(random_image<std::uint8_t>({9, 7}, 12), random_image<std::uint8_t>(frame_size, 11));
  check(random_image<float>({9, 7}, 12), random_image<float>(frame_size, 11));
}

class ContrastContract : public BackendTest {};

ON_EACH_BACKEND(ContrastContract);

/// Scores are OpenCV's, but how close one is depends on what is looked for.
TEST_P(ContrastContract, ResponsesAreByPolarity) {
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  const Bytes frame = random_image<std::uint8_t>(frame_size, 11);
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  std::vector<float> plain;
  for (const Polarity polarity : {Polarity::same, Polarity::inverted, Polarity::either}) {
    MatchSettings s;
    s.polarity = polarity;
    s.min_contrast = 80;
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame.size, s).ok());
    Response response;
    ASSERT_TRUE(matcher.respond(frame.view(), 0, response).ok());
    if (plain.empty()) plain = response.values;
    for (std::size_t i = 0; i < plain.size(); ++i)
      ASSERT_EQ(response.values[i], polarity == Polarity::same       ? plain[i]
                                    : polarity == Polarity::inverted ? -plain[i]
                                                                     : std::abs(plain[i]));
    std::vector<float> scores(plain.size());
    const ScoreMap map{scores.data(), response.places.width * std::ptrdiff_t{sizeof(float)}};
    ASSERT_TRUE(matcher.score(frame.view(), 0, map).ok());
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(scores[i], plain[i]);
  }
}

/// Settings that change between frames.
TEST_P(ContrastContract, ChangesBetweenFrames) {
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  Bytes frame = random_image<std::uint8_t>(frame_size, 11);
  paste(frame, pattern, 20, 11, -0.5);
  Matcher matcher = std::move(Matcher::create(device).value());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.set_templates({&view, 1}).ok());
  const auto count = [&](Polarity polarity, double contrast) {
    MatchSettings s;
    s.threshold = 0.9;
    s.polarity = polarity;
    s.min_contrast = contrast;
    EXPECT_TRUE(matcher.prepare(ElementType::u8, frame.size, s).ok());
    const std::vector<Peak> peaks = peaks_in(matcher, frame.view());
    return peaks.size();
  };
  EXPECT_EQ(count(Polarity::same, 0), 0u);
  EXPECT_EQ(count(Polarity::either, 0), 1u);
  EXPECT_EQ(count(Polarity::either, 60), 0u);
  EXPECT_EQ(count(Polarity::inverted, 20), 1u);
  EXPECT_EQ(count(Polarity::same, 20), 0u);
}

}  // namespace
}  // namespace api
