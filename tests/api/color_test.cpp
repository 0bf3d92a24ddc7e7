// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures in colour: scores against OpenCV's definition for three channels in plain loops, every
// layout of planes, and what only colour tells apart.
#include <xcorr/window_matcher.hpp>

#include "planes.hpp"

namespace api {
namespace {

MatchSettings in_color(Method method = Method::ccoeff_normed) {
  MatchSettings settings;
  settings.match_on = MatchOn::color;
  settings.method = method;
  settings.threshold = -1;
  return settings;
}

/// What OpenCV's matchTemplate says of three channels.
template <class T>
double defined_score(Method method, const Planes<T>& frame, const Planes<T>& pattern,
                     const Bytes& mask, int x, int y) {
  double product = 0, difference = 0, ff = 0, tt = 0, covariance = 0, left = 0, right = 0;
  const Size size = pattern[0].size;
  for (int c = 0; c < color_planes; ++c) {
    double n = 0, f_sum = 0, t_sum = 0;
    const auto each = [&](auto visit) {
      for (int j = 0; j < size.height; ++j)
        for (int i = 0; i < size.width; ++i)
          if (mask.at(i, j)) visit(double(frame[c].at(x + i, y + j)), double(pattern[c].at(i, j)));
    };
    each([&](double f, double t) {
      n += 1, f_sum += f, t_sum += t;
      product += f * t, difference += (f - t) * (f - t), ff += f * f, tt += t * t;
    });
    each([&](double f, double t) {
      f -= f_sum / n, t -= t_sum / n;
      covariance += f * t, left += f * f, right += t * t;
    });
  }
  switch (method) {
    case Method::sqdiff:
      return difference;
    case Method::sqdiff_normed:
      return difference / std::sqrt(ff * tt);
    case Method::ccorr:
      return product;
    case Method::ccorr_normed:
      return product / std::sqrt(ff * tt);
    case Method::ccoeff:
      return covariance;
    default:
      return covariance / std::sqrt(left * right);
  }
}

class ColorTest : public PosedTest {
 protected:
  Matcher matcher_of(const MatrixView& pattern, const MatrixView& mask = {}) {
    Matcher matcher = std::move(Matcher::create(device).value());
    EXPECT_TRUE(matcher.set_templates({&pattern, 1}, {&mask, 1}).ok());
    return matcher;
  }
  std::vector<Peak> match(const MatrixView& frame, const MatrixView& pattern,
                          const MatchSettings& settings) {
    Matcher matcher = matcher_of(pattern);
    const Status prepared = matcher.prepare(frame.type, frame.size, settings);
    EXPECT_TRUE(prepared.ok()) << prepared.message();
    std::vector<Peak> peaks;
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(matcher.enqueue(frame).ok());
      EXPECT_TRUE(matcher.collect(peaks).ok());
    }
    return peaks;
  }

  /// All scores of all methods, with and without a mask.
  template <class T>
  void expect_defined_scores(double tolerance) {
    const auto frame = random_planes<T>({41, 33}, 7), pattern = random_planes<T>({9, 6}, 70);
    Bytes all({9, 6}, 1), disc = Scene{.part = {9, 6}, .round = true}.disc();
    for (const Bytes* mask : {&all, &disc})
      for (const MethodInfo& method : methods()) {
        Matcher matcher = matcher_of(planar(pattern), mask->view());
        const Status prepared = matcher.prepare(element_type<T>, {41, 33}, in_color(method.method));
        ASSERT_TRUE(prepared.ok()) << prepared.message();
        Image<float> scores({33, 28});
        ASSERT_TRUE(matcher.score(planar(frame), 0, {scores.data.data(), 33 * 4}).ok());
        for (int y = 0; y < 28; ++y)
          for (int x = 0; x < 33; ++x) {
            const double expected = defined_score(method.method, frame, pattern, *mask, x, y);
            // Products of floats are rounded to single precision before they are added.
            const double least = method.normed || element_type<T> == ElementType::u8 ? 1.0 : 1e5;
            ASSERT_NEAR(scores.at(x, y), expected, tolerance * std::max(least, std::abs(expected)))
                << method.name << " at " << x << ", " << y;
          }
      }
  }
};

TEST_P(ColorTest, ScoresAreTheDefinitions) { expect_defined_scores<std::uint8_t>(1e-6); }

TEST_P(ColorTest, ScoresOfFloatsAreTheDefinitions) {
  if (GetParam() == Backend::cuda) GTEST_SKIP() << "floats in colour are for the CPU";
  expect_defined_scores<float>(1e-5);
}

/// The same peaks, whether planes are packed or not, with gaps between, or from the last row up.
TEST_P(ColorTest, LayoutsAreAlike) {
  const auto planes = random_planes<std::uint8_t>({61, 47}, 3);
  const auto cut = crop_planes(planes, {21, 12, 16, 13});
  const Packed pattern(cut, 3, 0, 1, 2);
  const Packed frames[] = {
      {planes, 3, 0, 1, 2}, {planes, 3, 2, 1, 0}, {planes, 4, 1, 2, 3}, {planes, 4, 2, 1, 0}};
  const auto expect_copy = [&](MatrixView frame) {
    for (const Rect region : {Rect{}, Rect{3, 5, 51, 40}}) {
      MatchSettings settings = in_color();
      settings.search_region = region;
      const auto peaks = match(frame, pattern.view, settings);
      ASSERT_EQ(peaks.size(), 1U);
      EXPECT_EQ(peaks[0].score, 1);
      EXPECT_NEAR(peaks[0].x, 21, 1e-3);
      EXPECT_NEAR(peaks[0].y, 12, 1e-3);
    }
  };
  expect_copy(planar(planes));
  for (const Packed& frame : frames) expect_copy(frame.view);
  // Upside down in memory.
  Planes<std::uint8_t> turned = planes;
  for (int c = 0; c < color_planes; ++c)
    for (int y = 0; y < 47; ++y)
      for (int x = 0; x < 61; ++x) turned[c].at(x, y) = planes[c].at(x, 46 - y);
  MatrixView view = planar(turned);
  view.data = turned[0].data.data() + 46 * view.pitch;
  view.pitch = -view.pitch;
  for (int c = 0; c < color_planes; ++c)
    view.color[c] = {turned[c].data.data() + 46 * -view.pitch, view.pitch};
  expect_copy(view);
}

/// A copy scores exactly 1 wherever it was cut out, at odd places of chroma, too.
TEST_P(ColorTest, CopiesOfSubsampledFrames) {
  const Size size{63, 49};
  const Bytes luma = random_image<std::uint8_t>(size, 1);
  Bytes both({64, 25});  // of NV12: U and V by turns
  both = random_image<std::uint8_t>({64, 25}, 2);
  MatrixView frame = luma.view();
  frame.color[0] = {luma.data.data(), 63};
  frame.color[1] = {both.data.data(), 64, 2, 0, 1, 1};
  frame.color[2] = {both.data.data(), 64, 2, 1, 1, 1};
  Planes<std::uint8_t> whole{luma, Bytes(size), Bytes(size)};
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      for (int c = 1; c < color_planes; ++c) whole[c].at(x, y) = both.at(x / 2 * 2 + c - 1, y / 2);
  for (const Rect place :
       {Rect{20, 14, 17, 12}, {21, 14, 16, 12}, {20, 15, 16, 13}, {21, 15, 9, 9}})
    for (const Rect region : {Rect{}, {5, 3, 50, 40}, {4, 3, 51, 41}}) {
      MatchSettings settings = in_color();
      settings.search_region = region;
      MatrixView cut = frame;  // as it lies in the frame, where its pixels begin alike
      const auto pattern = crop_planes(whole, place);
      const auto peaks = match(frame, planar(pattern), settings);
      ASSERT_EQ(peaks.size(), 1U);
      EXPECT_EQ(peaks[0].score, 1);
      EXPECT_NEAR(peaks[0].x, place.x, 1e-3);
      EXPECT_NEAR(peaks[0].y, place.y, 1e-3);
      if (place.x % 2 || place.y % 2) continue;
      cut.size = place.size();
      cut.data = &luma.data[place.y * 63 + place.x];
      cut.color[0].data = cut.data;
      for (int c = 1; c < color_planes; ++c)
        cut.color[c].data = &both.data[place.y / 2 * 64 + place.x];
      const auto same = match(frame, cut, settings);
      ASSERT_EQ(same.size(), 1U);
      EXPECT_EQ(same[0].score, 1);
    }
}

TEST_P(ColorTest, TellsApartWhatHasEqualLuma) {
  // Two discs on gray.
  Bytes red({120, 60}, 128);
  for (int y = -12; y <= 12; ++y)
    for (int x = -12; x <= 12; ++x)
      if (x * x + y * y <= 144) red.at(30 + x, 30 + y) = 218, red.at(90 + x, 30 + y) = 38;
  const auto planes = of_equal_luma(red);
  const Packed frame(planes, 3, 0, 1, 2),
      pattern(crop_planes(planes, {15, 15, 31, 31}), 3, 0, 1, 2);
  MatchSettings settings = in_color();
  settings.max_peaks = 2;
  settings.threshold = 0.9;
  const auto peaks = match(frame.view, pattern.view, settings);
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(peaks[0].score, 1);
  EXPECT_NEAR(peaks[0].x, 15, 0.01);
  settings.match_on = MatchOn::luma;  // in which nothing is left of them
  for (const Peak& peak : match(frame.view, pattern.view, settings)) EXPECT_LT(peak.score, 0.9);
  settings.match_on = MatchOn::color;
  settings.polarity = Polarity::either;
  EXPECT_EQ(match(frame.view, pattern.view, settings).size(), 2U);
}

/// Each pair is a shape in two colours that its luma does not tell apart.
TEST_P(ColorTest, TellsPairsOfShapesApart) {
  constexpr Size size{96, 48}, part{32, 32};
  constexpr int pairs = 64, top = 8, lefts[] = {8, 56};
  for (int pair = 0; pair < pairs; ++pair) {
    const Texture outline(pair + 1, 12, 24);
    const int tint = 20 + pair % 32;
    Bytes red(size, 128), inside(size, 0);
    for (int which = 0; which < 2; ++which)
      for (int y = 4; y < part.height - 4; ++y)
        for (int x = 4; x < part.width - 4; ++x) {
          if (outline(x, y) < 128) continue;
          const int u = lefts[which] + x, v = top + y;
          red.at(u, v) = static_cast<std::uint8_t>(which == 0 ? 128 + tint : 128 - tint);
          inside.at(u, v) = 1;
        }
    auto planes = of_equal_luma(red);
    for (Bytes& plane : planes)  // the shapes are brighter than their ground
      for (std::size_t i = 0; i < plane.data.size(); ++i)
        plane.data[i] = static_cast<std::uint8_t>(plane.data[i] + (inside.data[i] ? 22 : -38));
    const int asked = pair % 2, left = lefts[asked];
    const Packed frame(planes, 3, 0, 1, 2),
        pattern(crop_planes(planes, {left, top, part.width, part.height}), 3, 0, 1, 2);
    MatchSettings settings = in_color();
    settings.max_peaks = 2;
    settings.threshold = 0.5;
    const auto peaks = match(frame.view, pattern.view, settings);
    ASSERT_GE(peaks.size(), 1U) << pair;
    EXPECT_NEAR(peaks[0].x, left, 0.01) << pair;
    EXPECT_EQ(peaks[0].score, 1) << pair;
    if (peaks.size() > 1) {
      EXPECT_LT(peaks[1].score, 0.97) << pair;
    }
    settings.match_on = MatchOn::luma;
    const auto alike = match(frame.view, pattern.view, settings);
    ASSERT_EQ(alike.size(), 2U) << pair;
    EXPECT_GT(alike[1].score, 0.99) << pair;
  }
}

/// Several templates in large frames: what bounds leave out, and how often they are asked, is not
/// seen. Each by itself is searched without bounds.
TEST_P(ColorTest, ManyTemplatesAsEachAlone) {
  constexpr Size size{801, 700}, part{16, 8};
  const auto scene = random_planes<std::uint8_t>(size, 3),
             elsewhere = random_planes<std::uint8_t>(size, 5);
  std::vector<Planes<std::uint8_t>> parts;
  std::vector<MatrixView> views;
  for (int i = 0; i < 5; ++i)
    parts.push_back(crop_planes(scene, {17 + 141 * i, 600 - 133 * i, part.width, part.height}));
  for (const auto& pattern : parts) views.push_back(planar(pattern));
  const MatchSettings settings = in_color();
  Matcher together = std::move(Matcher::create(device).value());
  ASSERT_TRUE(together.set_templates(views).ok());
  std::vector<Peak> alone[2], peaks;
  // By a method that knows no bounds first: the memory that they take comes with the method.
  for (const Method method : {Method::ccorr_normed, settings.method}) {
    ASSERT_TRUE(together.prepare(ElementType::u8, size, in_color(method)).ok());
    ASSERT_TRUE(together.enqueue(planar(scene)).ok());
    ASSERT_TRUE(together.collect(peaks).ok());
  }
  for (int there = 0; there < 2; ++there)
    for (std::size_t i = 0; i < views.size(); ++i) {
      alone[there].push_back(match(planar(there ? scene : elsewhere), views[i], settings).front());
      alone[there].back().template_index = static_cast<std::uint32_t>(i);
    }
  // They come after more frames than a GPU goes without bounds once these have left all open.
  const int frames = GetParam() == Backend::cuda ? 40 : 2;
  for (int frame = 0; frame < frames; ++frame) {
    const bool there = frame >= frames / 2;
    ASSERT_TRUE(together.enqueue(planar(there ? scene : elsewhere)).ok());
    ASSERT_TRUE(together.collect(peaks).ok());
    ASSERT_EQ(peaks.size(), views.size());
    for (const Peak& peak : peaks) {
      const Peak& expected = alone[there][peak.template_index];
      EXPECT_EQ(peak.score, expected.score) << frame;
      EXPECT_EQ(peak.x, expected.x) << frame;
      EXPECT_EQ(peak.y, expected.y) << frame;
      if (there) {
        EXPECT_EQ(peak.score, 1);
      }
    }
  }
}

/// Between pixels, with the brightness of each plane moved by another amount.
TEST_P(ColorTest, PlacesBetweenPixels) {
  const Scene scene{.poses = {{60.3, 50.7}, {160.75, 60.5}}};
  auto planes = of_equal_luma(scene.frame({240, 120}));
  const auto pattern = of_equal_luma(scene.pattern());
  for (int c = 0; c < color_planes; ++c)
    for (std::uint8_t& v : planes[c].data) v = static_cast<std::uint8_t>(20 + 8 * c + v * 0.8);
  MatchSettings settings = in_color();
  settings.max_peaks = 2;
  settings.threshold = 0.7;
  expect_parts(match(planar(planes), planar(pattern), settings), scene, 0.06, 0.1, 0.7);
}

/// A live template learns colour, and tracks' windows search for it.
TEST_P(ColorTest, LiveTemplatesAndWindows) {
  const auto planes = random_planes<std::uint8_t>({80, 60}, 4);
  const Packed frame(planes, 4, 2, 1, 0), first(crop_planes(planes, {3, 4, 14, 12}), 3, 0, 1, 2);
  auto live = LiveTemplate::create(device, first.view);
  ASSERT_TRUE(live.ok()) << live.status().message();
  ASSERT_TRUE(live.value()->blend(frame.view, 41, 27, 1).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  EXPECT_EQ(live.value()->blend(planes[0].view(), 0, 0, 1).message(),
            "the frame is gray, the template has colour");
  WindowMatcher matcher = std::move(WindowMatcher::create(device).value());
  const std::shared_ptr<const LiveTemplate> shared = live.value();
  ASSERT_TRUE(matcher.set_templates({&shared, 1}).ok());
  ASSERT_TRUE(matcher.prepare(ElementType::u8, {80, 60}, in_color()).ok());
  const SearchWindow windows[] = {{0, {30, 20, 40, 30}}, {0, {0, 0, 30, 30}}};
  const Status status = matcher.enqueue(frame.view, windows);
  ASSERT_TRUE(status.ok()) << status.message();
  std::vector<std::vector<Peak>> found;
  ASSERT_TRUE(matcher.collect(found).ok());
  ASSERT_EQ(found.size(), 2U);
  ASSERT_EQ(found[0].size(), 1U);
  EXPECT_EQ(found[0][0].score, 1);
  EXPECT_NEAR(found[0][0].x, 41, 1e-3);
  ASSERT_EQ(found[1].size(), 1U);
  EXPECT_LT(found[1][0].score, 0.6);
  // Cut at a pose, which is that place.
  const auto cut = live.value()->cut(frame.view, {41 + 6.5, 27 + 5.5, 0, 1, 0, 0});
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_TRUE(cut.value().has_color());
  ASSERT_TRUE(live.value()->blend(cut.value(), 0, 0, 1).ok());
  ASSERT_TRUE(live.value()->wait().ok());
  ASSERT_TRUE(matcher.enqueue(frame.view, windows).ok());
  ASSERT_TRUE(matcher.collect(found).ok());
  EXPECT_EQ(found[0][0].score, 1);
}

TEST_P(ColorTest, GrayTemplatesAreGrayInAllPlanes) {
  const Bytes gray = random_image<std::uint8_t>({60, 40}, 5);
  const Planes<std::uint8_t> planes{gray, gray, gray};
  const auto peaks = match(planar(planes), crop(gray, {20, 11, 12, 12}).view(), in_color());
  ASSERT_EQ(peaks.size(), 1U);
  EXPECT_EQ(peaks[0].score, 1);
}

TEST_P(ColorTest, Refused) {
  const auto planes = random_planes<std::uint8_t>({40, 30}, 5);
  const auto cut = crop_planes(planes, {4, 5, 8, 8});
  Matcher matcher = matcher_of(planar(cut));
  ASSERT_TRUE(matcher.prepare(ElementType::u8, {40, 30}, in_color()).ok());
  const auto message = [&](const MatrixView& frame) { return matcher.enqueue(frame).message(); };
  EXPECT_EQ(message(planes[0].view()), "the frame is gray: it has no colour to match on");
  MatrixView bad = planar(planes);
  bad.color[1].data = nullptr;
  EXPECT_EQ(message(bad), "the frame has planes of colour that cannot be");
  bad = planar(planes);
  bad.color[2].pitch = 39;
  EXPECT_EQ(message(bad), "the frame has a plane with a pitch shorter than its rows");
  peaks_in(matcher, planar(planes));
}

/// Smoothed, and by every way to get the products.
TEST_P(ColorTest, KernelsAndPrefilterAgree) {
  const auto planes = random_planes<std::uint8_t>({90, 70}, 8);
  const auto pattern = crop_planes(planes, {31, 22, 24, 20});
  const auto by = [&](const std::string& kernel, double sigma) {
    MatchSettings settings = in_color();
    settings.kernel = kernel;
    settings.prefilter_sigma = sigma;
    settings.max_peaks = 5;
    settings.threshold = 0.05;
    return match(planar(planes), planar(pattern), settings);
  };
  for (const double sigma : {0.0, 1.0}) {
    const bool cpu = GetParam() == Backend::cpu;
    const auto expected = by(cpu ? "direct" : "overlap_wise", sigma),
               got = by(cpu ? "fft" : "auto", sigma);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(expected[i].score, got[i].score);
      EXPECT_EQ(expected[i].x, got[i].x);
    }
    EXPECT_NEAR(expected[0].x, 31, 0.2);
  }
}

ON_EACH_BACKEND(ColorTest);

}  // namespace
}  // namespace api
