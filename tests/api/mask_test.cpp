// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Templates with masks: peaks and responses by the definition over the pixels that count, for all
// methods; windows and templates without variance under the mask; banks of several masks; errors.
#include <cmath>
#include <optional>

#include "definition.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;

constexpr Size frame_size{70, 52};
constexpr Rect places[] = {{20, 11, 15, 12}, {44, 30, 15, 12}, {3, 28, 9, 17}};

/// An ellipse, 200 where pixels count.
Bytes disc(Size size) {
  Bytes mask(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const double u = (2 * x + 1.0) / size.width - 1, v = (2 * y + 1.0) / size.height - 1;
      mask.at(x, y) = u * u + v * v <= 1 ? 200 : 0;
    }
  return mask;
}

/// Puts the pixels that count into other surroundings: noise everywhere else.
template <class T>
Image<T> in_clutter(const Image<T>& image, const Bytes& mask, unsigned seed) {
  Image<T> changed = random_image<T>(image.size, seed);
  for (std::size_t i = 0; i < image.data.size(); ++i)
    if (mask.data[i]) changed.data[i] = image.data[i];
  return changed;
}

class MaskTest : public TargetTest {
 protected:
  template <class T>
  std::vector<Peak> match(const Image<T>& frame, const std::vector<Image<T>>& patterns,
                          const std::vector<Bytes>& masks, const MatchSettings& settings) {
    std::vector<MatrixView> views, mask_views;
    for (const Image<T>& pattern : patterns) views.push_back(pattern.view());
    for (const Bytes& mask : masks)
      mask_views.push_back(mask.data.empty() ? MatrixView{} : mask.view());
    // Approximate products of bytes, as of an FFT, cannot be masked.
    return match_masked(device, views, mask_views, frame, settings,
                        kernel() == "auto" || kernel() == "direct");
  }

  template <class T>
  void expect_defined_peaks() {
    const Image<T> frame = random_image<T>(frame_size, 1);
    for (const auto& method : methods()) {
      MatchSettings s = settings(method.method);
      s.max_peaks = 3;
      s.threshold = 0.2;
      for (const Rect& place : places) {
        const Bytes mask = disc(place.size());
        const Image<T> pattern = in_clutter(crop(frame, place), mask, 2);
        const auto expected = defined_peaks(frame, pattern, s, mask_of(mask));
        const auto found = match<T>(frame, {pattern}, {mask}, s);
        ASSERT_EQ(found.size(), expected.size()) << method.name;
        for (std::size_t i = 0; i < found.size(); ++i) {
          EXPECT_EQ(found[i].x, expected[i].x) << method.name;
          EXPECT_EQ(found[i].y, expected[i].y) << method.name;
          const double tolerance = sizeof(T) == 1 ? 0 : 1e-9 * std::abs(expected[i].score) + 1e-9;
          EXPECT_NEAR(found[i].score, expected[i].score, tolerance) << method.name;
        }
      }
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, MaskTest, testing::ValuesIn(targets()), name_of);

TEST_P(MaskTest, PeaksOfBytesAreThoseOfTheDefinition) { expect_defined_peaks<std::uint8_t>(); }

TEST_P(MaskTest, PeaksOfFloatsAreThoseOfTheDefinition) { expect_defined_peaks<float>(); }

/// Whatever lies around the pixels that count, a copy scores 1 and lies where it does.
TEST_P(MaskTest, CopiesAreFoundInClutter) {
  Bytes frame = random_image<std::uint8_t>(frame_size, 3);
  const Bytes part = random_image<std::uint8_t>({16, 16}, 4), mask = disc(part.size);
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 16; ++x)
      if (mask.at(x, y)) frame.at(31 + x, 17 + y) = part.at(x, y);
  const auto peaks = match<std::uint8_t>(frame, {in_clutter(part, mask, 5)}, {mask}, settings());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 31);
  EXPECT_EQ(peaks[0].y, 17);
  EXPECT_EQ(peaks[0].score, 1);
  EXPECT_EQ(peaks[0].similarity, 1);
}

/// A window that is flat where pixels count matches nothing, whatever lies elsewhere.
TEST_P(MaskTest, FlatWindowsAreNoMatch) {
  const auto check = [&]<class T>(T gray) {
    const Size size{16, 16};
    const Bytes mask = disc(size);
    const Image<T> pattern = random_image<T>(size, 6);
    Image<T> frame(size, gray);
    for (std::size_t i = 0; i < frame.data.size(); ++i)
      if (!mask.data[i]) frame.data[i] = static_cast<T>(i);
    for (const Method method : {Method::ccoeff_normed, Method::ccoeff}) {
      MatchSettings s = settings(method);
      s.threshold = method == Method::ccoeff_normed ? -1 : 0;
      const auto peaks = match<T>(frame, {pattern}, {mask}, s);
      ASSERT_EQ(peaks.size(), 1u);
      EXPECT_EQ(peaks[0].score, 0);
    }
    MatchSettings s = settings(Method::sqdiff_normed);
    s.threshold = -1;
    const auto peaks = match<T>(Image<T>(size, T{0}), {pattern}, {mask}, s);
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_EQ(peaks[0].score, 1);
  };
  check(std::uint8_t{90});
  check(0.1F);
}

/// Templates of one size with different masks, with a shared one, and with none.
TEST_P(MaskTest, MasksDoNotMix) {
  const Bytes frame = random_image<std::uint8_t>(frame_size, 7);
  const Size size{14, 14};
  Bytes half(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width / 2; ++x) half.at(x, y) = 1;
  const std::vector<Bytes> masks = {disc(size), half, Bytes({0, 0}), disc(size)};
  const Rect corners[] = {{5, 5, 14, 14}, {40, 8, 14, 14}, {20, 30, 14, 14}, {50, 33, 14, 14}};
  std::vector<Bytes> patterns;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const Bytes copy = crop(frame, corners[i]);
    patterns.push_back(masks[i].data.empty() ? copy : in_clutter(copy, masks[i], 8));
  }
  const auto peaks = match<std::uint8_t>(frame, patterns, masks, settings());
  ASSERT_EQ(peaks.size(), masks.size());
  for (std::size_t i = 0; i < masks.size(); ++i) {
    EXPECT_EQ(peaks[i].template_index, i);
    EXPECT_EQ(peaks[i].x, corners[i].x);
    EXPECT_EQ(peaks[i].y, corners[i].y);
    EXPECT_EQ(peaks[i].score, 1);
  }
}

class MaskContract : public BackendTest {
 protected:
  void SetUp() override {
    BackendTest::SetUp();
    if (IsSkipped()) return;
    matcher.emplace(std::move(Matcher::create(device).value()));
  }
  Status set(const Bytes& pattern, const MatrixView& mask) {
    const MatrixView views[] = {pattern.view()}, masks[] = {mask};
    return matcher->set_templates(views, masks);
  }
  template <class T>
  std::vector<Peak> find(const Image<T>& frame, const MatchSettings& settings) {
    std::vector<Peak> peaks;
    EXPECT_TRUE(matcher->prepare(frame.view().type, frame.size, settings).ok());
    EXPECT_TRUE(matcher->enqueue(frame.view()).ok());
    EXPECT_TRUE(matcher->collect(peaks).ok());
    return peaks;
  }

  /// Upright and turned.
  void expect_first_place(const Image<float>& floats) {
    for (const double extent : {0.0, 20.0}) {
      MatchSettings settings;
      settings.poses.angle_extent = extent;
      const auto peaks = find(floats, settings);
      ASSERT_EQ(peaks.size(), 1u);
      EXPECT_NEAR(peaks[0].x, places[0].x, 0.1);
      EXPECT_NEAR(peaks[0].score, 1, 1e-6);
    }
  }

  std::optional<Matcher> matcher;
  const Bytes frame = random_image<std::uint8_t>(frame_size, 9);
  const Bytes pattern = crop(frame, places[0]);
};

ON_EACH_BACKEND(MaskContract);

TEST_P(MaskContract, WhatIsNoMaskIsRefused) {
  ASSERT_TRUE(set(pattern, disc(pattern.size).view()).ok());
  const auto expect_refused = [&](const MatrixView& mask, const std::string& text) {
    const Status status = set(pattern, mask);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_EQ(status.message(), text);
  };
  expect_refused(disc({15, 13}).view(),
                 "the mask of template 0 has 15x13 pixels, the template 15x12");
  expect_refused(Bytes(pattern.size, 0).view(), "the mask of template 0 leaves no pixel");
  const Image<float> floats(pattern.size, 1);
  expect_refused(floats.view(), "the mask of template 0 has elements of type f32; masks are of u8");
  const MatrixView views[] = {pattern.view()};
  const MatrixView two[2] = {};
  EXPECT_EQ(matcher->set_templates(views, two).message(), "2 masks for 1 templates");
  EXPECT_EQ(find(frame, {}).size(), 1u) << "the bank before is kept";
}

/// Of floats what is not finite does not count, or the template is refused.
TEST_P(MaskContract, WhatIsNotFiniteDoesNotCount) {
  Image<float> floats(frame.size), part(pattern.size);
  std::ranges::copy(frame.data, floats.data.begin());
  std::ranges::copy(pattern.data, part.data.begin());
  Bytes mask(pattern.size, 1);
  mask.at(3, 4) = 0;
  const auto set_floats = [&](const MatrixView& counted) {
    const MatrixView views[] = {part.view()}, masks[] = {counted};
    return matcher->set_templates(views, masks);
  };
  for (const float pixel : {NAN, INFINITY}) {
    part.at(3, 4) = pixel;
    EXPECT_EQ(set_floats({}).message(),
              "template 0 has pixels that are not finite: masks may leave them out");
    ASSERT_TRUE(set_floats(mask.view()).ok());
    expect_first_place(floats);
  }
}

/// Floats of other magnitudes are found as well, or the template is refused.
TEST_P(MaskContract, FloatsOfAnyMagnitudeOrRefused) {
  for (const float unit : {1e-20F, 1e-17F, 1e-12F, 1e12F, 1e14F, 1e18F, 1e30F}) {
    Image<float> floats(frame.size), part(pattern.size);
    const auto scale = [&](std::uint8_t pixel) { return unit / 255 * pixel; };
    std::ranges::transform(frame.data, floats.data.begin(), scale);
    std::ranges::transform(pattern.data, part.data.begin(), scale);
    const MatrixView views[] = {part.view()};
    const Status given = matcher->set_templates(views, {});
    if (unit < 1e-18F || unit > 1e16F) {
      EXPECT_NE(given.message().find("floats are matched from 1e-18 to 1e+15"), std::string::npos)
          << given.message();
      continue;
    }
    ASSERT_TRUE(given.ok()) << given.message();
    expect_first_place(floats);
  }
}

TEST_P(MaskContract, AMaskOfOnesIsNone) {
  ASSERT_TRUE(set(pattern, Bytes(pattern.size, 255).view()).ok());
  const auto masked = find(frame, {});
  ASSERT_TRUE(set(pattern, {}).ok());
  const auto plain = find(frame, {});
  ASSERT_EQ(masked.size(), 1u);
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_EQ(masked[0].x, plain[0].x);
  EXPECT_EQ(masked[0].score, plain[0].score);
}

/// Sub-pixel places come from scores under the mask.
TEST_P(MaskContract, SubpixelIgnoresWhatIsMaskedOut) {
  const Bytes mask = disc(pattern.size);
  ASSERT_TRUE(set(in_clutter(pattern, mask, 10), mask.view()).ok());
  const auto first = find(frame, {});
  ASSERT_TRUE(set(in_clutter(pattern, mask, 11), mask.view()).ok());
  const auto second = find(frame, {});
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(second.size(), 1u);
  EXPECT_EQ(first[0].x, second[0].x);
  EXPECT_EQ(first[0].y, second[0].y);
}

TEST_P(MaskContract, RespondsUnderTheMask) {
  const Bytes mask = disc(pattern.size), cluttered = in_clutter(pattern, mask, 12);
  ASSERT_TRUE(set(cluttered, mask.view()).ok());
  ASSERT_TRUE(matcher->prepare(ElementType::u8, frame.size, {}).ok());
  Response response;
  ASSERT_TRUE(matcher->respond(frame.view(), 0, response).ok());
  ASSERT_EQ(response.places.size(), valid_shifts(frame.size, pattern.size).size());
  std::size_t i = 0;
  for (int y = 0; y < response.places.height; ++y)
    for (int x = 0; x < response.places.width; ++x, ++i)
      EXPECT_EQ(response.values[i],
                static_cast<float>(
                    defined_score(Method::ccoeff_normed, frame, x, y, cluttered, mask_of(mask))));
}

/// Rows and columns in which nothing counts cost nothing, also where what is left needs no mask,
/// and change neither places nor what peaks suppress.
TEST_P(MaskContract, RimsInWhichNothingCountsAreCutOff) {
  constexpr Rect inner{7, 2, 11, 9};
  const Bytes small = crop(frame, {31, 20, inner.width, inner.height});
  Bytes whole = random_image<std::uint8_t>({26, 15}, 14), mask(whole.size, 0);
  for (const bool is_full : {true, false}) {
    const Bytes counted = is_full ? Bytes(small.size, 1) : disc(small.size);
    for (int y = 0; y < inner.height; ++y)
      for (int x = 0; x < inner.width; ++x) {
        whole.at(inner.x + x, inner.y + y) = small.at(x, y);
        mask.at(inner.x + x, inner.y + y) = counted.at(x, y);
      }
    MatchSettings settings;
    settings.max_peaks = 6;
    settings.threshold = 0;
    settings.min_peak_distance = 9;
    ASSERT_TRUE(set(small, counted.view()).ok());
    const auto expected = find(frame, settings);
    const Cost least = matcher->cost();
    ASSERT_TRUE(set(whole, mask.view()).ok());
    const auto found = find(frame, settings);
    EXPECT_EQ(matcher->cost().seconds, least.seconds);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_NEAR(found[i].x, expected[i].x - inner.x, 1e-9);
      EXPECT_NEAR(found[i].y, expected[i].y - inner.y, 1e-9);
      EXPECT_EQ(found[i].width, whole.size.width);
      EXPECT_EQ(found[i].height, whole.size.height);
      EXPECT_EQ(found[i].pose.center_x, found[i].x + 12.5);
      EXPECT_EQ(found[i].score, expected[i].score);
    }
    settings.min_peak_distance = 0;  // half the whole template
    for (const Peak& a : find(frame, settings))
      for (const Peak& b : find(frame, settings))
        EXPECT_TRUE((a.x == b.x && a.y == b.y) || std::abs(a.x - b.x) >= 11 ||
                    std::abs(a.y - b.y) >= 5);
  }
}

/// A live template keeps its mask, and what is blended outside it changes nothing.
TEST_P(MaskContract, LiveTemplatesHaveMasks) {
  const Bytes mask = disc(pattern.size);
  auto live = LiveTemplate::create(device, in_clutter(pattern, mask, 13).view());
  ASSERT_TRUE(live.ok());
  const std::shared_ptr<const LiveTemplate> bank[] = {live.value()};
  const MatrixView masks[] = {mask.view()};
  ASSERT_TRUE(matcher->set_templates(bank, masks).ok());
  const auto before = find(frame, {});
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].score, 1);
  ASSERT_TRUE(live.value()->blend(frame.view(), places[0].x, places[0].y, 0.5).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  const auto after = find(frame, {});
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].score, 1);
}

}  // namespace
}  // namespace api
