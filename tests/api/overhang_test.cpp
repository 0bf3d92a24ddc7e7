// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Parts that lie across the frame's border: places, and scores equal to those of the part of the
// template that is inside; parts of which only what does not count sticks out; what is refused.
#include <cmath>

#include "posed_scene.hpp"

namespace api {
namespace {

template <class T>
void paste(Image<T>& frame, const Image<T>& part, int left, int top) {
  for (int y = 0; y < part.size.height; ++y)
    for (int x = 0; x < part.size.width; ++x)
      if (left + x >= 0 && top + y >= 0 && left + x < frame.size.width &&
          top + y < frame.size.height)
        frame.at(left + x, top + y) = part.at(x, y);
}

Bytes ellipse(Size size) { return Scene{.part = size, .round = true, .poses = {}}.disc(); }

class OverhangTest : public PosedTest {
 protected:
  static MatchSettings settings(double overhang, int max_peaks = 1) {
    MatchSettings s;
    s.overhang = overhang;
    s.max_peaks = max_peaks;
    s.threshold = 0.8;
    return s;
  }
  template <class T>
  std::vector<Peak> peaks_of(const Image<T>& frame, const Image<T>& pattern, const Bytes* mask,
                             const MatchSettings& settings) {
    const MatrixView view = pattern.view(), of_mask = mask ? mask->view() : MatrixView{};
    return match_masked<T>(device, {&view, 1}, {&of_mask, 1}, frame, settings, true);
  }

  /// A copy across each border and corner is where it is, with the score that what is inside of
  /// the template has alone, and not found with less overhang than that.
  template <class T>
  void expect_copies(const Bytes* mask) {
    const Size frame_size{90, 70}, size{24, 18};
    const Image<T> pattern = random_image<T>(size, 1);
    struct {
      int x, y;
      double least, most;  ///< of what is outside, of a rectangle and of an ellipse in it
    } const places[] = {{-8, 20, 0.2, 0.34}, {74, 30, 0.2, 0.34}, {40, -5, 0.15, 0.28},
                        {33, 58, 0.2, 0.34}, {-4, -3, 0.1, 0.31}, {71, 56, 0.2, 0.39},
                        {-12, 40, 0.49, 0.5}};
    for (const auto& [x, y, least, most] : places) {
      SCOPED_TRACE(testing::Message() << x << ", " << y << (mask ? " masked" : ""));
      Image<T> frame = random_image<T>(frame_size, 7);
      paste(frame, pattern, x, y);
      frame.at(std::clamp(x + 11, 0, 89), std::clamp(y + 8, 0, 69)) += 9;  // no perfect copy
      const auto peaks = peaks_of(frame, pattern, mask, settings(most));
      ASSERT_EQ(peaks.size(), 1u);
      EXPECT_NEAR(peaks[0].x, x, 0.1);
      EXPECT_NEAR(peaks[0].y, y, 0.1);
      EXPECT_EQ(peaks[0].width, size.width);
      EXPECT_EQ(peaks_of(frame, pattern, mask, settings(least - 0.05)).size(), 0u);
      const Rect inside{std::max(-x, 0), std::max(-y, 0),
                        std::min(size.width, frame_size.width - x) - std::max(-x, 0),
                        std::min(size.height, frame_size.height - y) - std::max(-y, 0)};
      const Bytes part = mask ? crop(*mask, inside) : Bytes({1, 1});
      MatchSettings there = settings(0);
      there.search_region = {std::max(x, 0), std::max(y, 0), inside.width, inside.height};
      const auto alone = peaks_of(frame, crop(pattern, inside), mask ? &part : nullptr, there);
      ASSERT_EQ(alone.size(), 1u);
      EXPECT_NEAR(peaks[0].score, alone[0].score, sizeof(T) == 4 ? 1e-9 : 0);
    }
  }
};

TEST_P(OverhangTest, CopiesAcrossTheBorder) {
  const Bytes mask = ellipse({24, 18});
  for (const Bytes* used : {static_cast<const Bytes*>(nullptr), &mask}) {
    expect_copies<std::uint8_t>(used);
    expect_copies<std::uint16_t>(used);
    expect_copies<float>(used);
  }
}

/// Between pixels, with each normed method, with the contrast inverted, beside others inside.
TEST_P(OverhangTest, PlacesToAFraction) {
  const Scene scene{.poses = {{5.3, 60.7}, {150.4, 30.6}, {90.7, 123.3}, {80.25, 60.75}}};
  const Bytes frame = scene.frame({160, 130}), pattern = scene.pattern();
  Bytes negative = frame;
  for (auto& pixel : negative.data) pixel = static_cast<std::uint8_t>(255 - pixel);
  for (const Method method : {Method::ccoeff_normed, Method::ccorr_normed, Method::sqdiff_normed})
    for (const bool inverted : {false, true}) {
      if (inverted && method != Method::ccoeff_normed) continue;
      MatchSettings s = settings(0.45, 4);
      s.method = method;
      s.polarity = inverted ? Polarity::either : Polarity::same;
      s.min_contrast = inverted ? 5 : 0;
      const auto peaks = match(inverted ? negative : frame, pattern, s);
      ASSERT_EQ(peaks.size(), 4u);
      for (const Pose& part : scene.poses)
        EXPECT_TRUE(std::ranges::any_of(peaks,
                                        [&](const Peak& peak) {
                                          return std::hypot(peak.pose.center_x - part.center_x,
                                                            peak.pose.center_y - part.center_y) <
                                                 0.1;
                                        }))
            << part.center_x << " " << info(method).name << inverted;
    }
}

/// Nothing past a border of the searched part that is none of the frame's.
TEST_P(OverhangTest, BordersOfTheSearchedPart) {
  const Bytes pattern = random_image<std::uint8_t>({20, 20}, 1);
  Bytes frame = random_image<std::uint8_t>({100, 80}, 2);
  paste(frame, pattern, -6, 30);
  MatchSettings s = settings(0.4);
  s.search_region = {0, 10, 60, 60};
  EXPECT_EQ(match(frame, pattern, s).size(), 1u);
  paste(frame, pattern, 40, 30);
  frame.at(0, 40) ^= 128;             // of the two the other is better
  s.search_region = {6, 10, 48, 60};  // cuts it, past which the frame goes on
  EXPECT_EQ(match(frame, pattern, s).size(), 0u);
}

/// The region is extended for the largest of them, so that small ones lie wholly outside at places.
TEST_P(OverhangTest, SmallTemplatesBesideLargeOnes) {
  const Bytes frame = random_image<std::uint8_t>({90, 70}, 1);
  const Bytes large = crop(frame, {0, 4, 40, 38}), small = crop(frame, {60, 0, 6, 5});
  Bytes cut = frame;
  paste(cut, large, -14, 20);
  paste(cut, small, 70, -2);
  const MatrixView views[] = {large.view(), small.view()}, masks[2] = {};
  const auto peaks = match(device, cut, views, masks, settings(0.45));
  ASSERT_EQ(peaks.size(), 2u);
  EXPECT_EQ(peaks[0].score, 1);
  EXPECT_NEAR(peaks[0].x, -14, 0.1);
  EXPECT_EQ(peaks[1].score, 1);
}

/// Rows and columns in which nothing counts may lie outside whatever is set.
TEST_P(OverhangTest, MarginsThatDoNotCount) {
  const Bytes pattern = random_image<std::uint8_t>({24, 20}, 1);
  Bytes mask({24, 20});
  for (int y = 5; y < 18; ++y)
    for (int x = 3; x < 16; ++x) mask.at(x, y) = 1;
  for (const auto& [x, y] : {std::pair(-3, -5), {44, 32}, {-3, 32}, {44, -5}}) {
    Bytes frame = random_image<std::uint8_t>({60, 50}, 2);
    paste(frame, pattern, x, y);
    MatchSettings s;
    s.threshold = 0.9;
    const auto peaks = match(frame, pattern, s, &mask);
    ASSERT_EQ(peaks.size(), 1u) << x;
    EXPECT_EQ(peaks[0].score, 1);
    EXPECT_NEAR(peaks[0].x, x, 0.1);
    EXPECT_NEAR(peaks[0].y, y, 0.1);
  }
}

// ---- poses ----------------------------------------------------------------------------------

class OverhangPosesTest : public OverhangTest {};

/// Turned and scaled parts across the border.
TEST_P(OverhangPosesTest, PosesAcrossTheBorder) {
  const Scene scene{.poses = {{8.4, 60.3, 30},
                              {120.6, 9.2, -100, 1.1},
                              {249.3, 110.4, 165},
                              {130.2, 193.6, 75, 0.9},
                              {130.4, 100.7, 20}}};
  const Bytes frame = scene.frame({256, 200}), pattern = scene.pattern();
  MatchSettings s = all_round(8);
  s.poses.scale_min = 0.85;
  s.poses.scale_max = 1.2;
  const auto found = [&] { return match(frame, pattern, s); };
  s.overhang = 0.45;
  expect_parts(found(), scene, 0.2, 0.5);
  s.overhang = 0;
  EXPECT_EQ(found().size(), 1u);
}

/// Of masks all on one side of a rectangle, that is where it does not count.
TEST_P(OverhangPosesTest, PartsWhoseRectangleSticksOut) {
  const Size size{48, 48};
  for (const bool triangle : {false, true}) {
    Bytes mask(size);
    for (int y = 0; y < 48; ++y)
      for (int x = 0; x < 48; ++x)
        mask.at(x, y) = triangle ? x + y < 46 : std::hypot(x - 23.5, y - 23.5) < 23 && x < 24;
    for (const double angle : {0.0, 45.0, -90.0}) {
      // So near the left border that some 2 pixels beside what counts are left.
      const double c = std::cos(angle * degree), s = std::sin(angle * degree);
      double farthest = 0;
      for (int y = 0; y < 48; ++y)
        for (int x = 0; x < 48; ++x)
          if (mask.at(x, y)) farthest = std::min(farthest, c * (x - 23.5) + s * (y - 23.5));
      const Scene scene{.part = size, .poses = {{2.3 - farthest, 60.4, angle}}};
      SCOPED_TRACE(testing::Message() << triangle << " " << angle);
      expect_parts(match(scene.frame({120, 120}), scene.pattern(), all_round(2), &mask), scene, 0.1,
                   0.3);
    }
  }
}

// ---- settings -------------------------------------------------------------------------------

TEST_P(OverhangTest, WhatIsRefused) {
  Matcher matcher = std::move(Matcher::create(device).value());
  const auto refusal = [&](double overhang, Method method) {
    MatchSettings s;
    s.overhang = overhang;
    s.method = method;
    return matcher.prepare(ElementType::u8, {64, 48}, s).message();
  };
  for (const double overhang : {-0.1, 0.6, std::nan("")})
    EXPECT_EQ(refusal(overhang, Method::ccoeff_normed), "overhang must be in [0, 0.5]");
  EXPECT_EQ(refusal(0.2, Method::ccorr),
            "overhang: scores by ccorr grow with the pixels; those of normed methods do not");
  EXPECT_EQ(refusal(0.2, Method::ccoeff_normed), "");
  MatchSettings turned = all_round(1);
  turned.overhang = 0.2;
  EXPECT_EQ(matcher.prepare(ElementType::u8, {64, 48}, turned).message(),
            device.backend == Backend::cuda
                ? "poses that stick out of the frame are searched by the CPU only"
                : "");
}

INSTANTIATE_TEST_SUITE_P(, OverhangTest, testing::Values(Backend::cpu, Backend::cuda),
                         [](const auto& info) { return xcorr::name_of(info.param); });
INSTANTIATE_TEST_SUITE_P(, OverhangPosesTest, testing::Values(Backend::cpu),
                         [](const auto& info) { return xcorr::name_of(info.param); });

}  // namespace
}  // namespace api
