// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Whole matches by kernels of every family: the peaks are those of the definition, also in cases in
// which template matchers commonly fail.
#include <climits>
#include <cmath>
#include <memory>

#include <xcorr/image.hpp>

#include "definition.hpp"

namespace api {
namespace {

using Bytes = Image<std::uint8_t>;
using Floats = Image<float>;

class MatchTest : public TargetTest {
 protected:
  template <class T>
  void expect_defined_peaks(const Image<T>& frame, const Image<T>& pattern, const MatchSettings& s,
                            double relative) {
    const auto expected = defined_peaks(frame, pattern, s);
    const auto got = match(device, pattern, frame, s);
    ASSERT_EQ(got.size(), expected.size()) << info(s.method).name;
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].x, expected[i].x) << info(s.method).name << ", peak " << i;
      EXPECT_EQ(got[i].y, expected[i].y) << info(s.method).name << ", peak " << i;
      EXPECT_EQ(got[i].width, pattern.size.width);
      EXPECT_EQ(got[i].height, pattern.size.height);
      EXPECT_EQ(got[i].template_index, 0u);
      EXPECT_EQ(got[i].inverted, expected[i].inverted) << info(s.method).name << ", peak " << i;
      EXPECT_NEAR(got[i].score, expected[i].score, relative * std::abs(expected[i].score))
          << info(s.method).name << ", peak " << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kernels, MatchTest, testing::ValuesIn(targets()), name_of);

/// A frame with copies of a pattern, one of them spoiled, over noise of less contrast.
template <class T>
Image<T> scene(Size size, const Image<T>& pattern, std::span<const std::pair<int, int>> places) {
  Image<T> frame = random_image<T>(size, 11);
  for (T& v : frame.data) v = static_cast<T>(90 + v / 4);
  int spoiled = 0;
  for (const auto& [px, py] : places) {
    for (int y = 0; y < pattern.size.height; ++y)
      for (int x = 0; x < pattern.size.width; ++x) frame.at(px + x, py + y) = pattern.at(x, y);
    // Each copy is a little worse than the previous one, so that the order is unambiguous.
    for (int i = 0; i < spoiled; ++i) frame.at(px + i, py + 1) = static_cast<T>(128);
    spoiled += 2;
  }
  return frame;
}

constexpr std::pair<int, int> places[] = {{60, 11}, {3, 40}, {30, 20}, {71, 49}};

TEST_P(MatchTest, PeaksAreTheDefinitionsForBytes) {
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  const auto frame = scene<std::uint8_t>({90, 64}, pattern, places);
  for (const MethodInfo& method : methods()) {
    MatchSettings s = settings(method.method);
    s.max_peaks = 3;
    s.threshold = 0.4;
    expect_defined_peaks(frame, pattern, s, 0);
  }
}

/// Several in flight at once, which have not been read when enqueue() returns.
TEST_P(MatchTest, FramesInMemoryOfAllocateHost) {
  constexpr int frames = 3;
  const auto pattern = random_image<std::uint8_t>({14, 9}, 12);
  std::vector<Matcher> matchers;
  const auto release = [this](void* block) { release_host(device, block); };
  std::vector<std::unique_ptr<void, decltype(release)>> memory;
  for (int i = 0; i < frames; ++i) {
    const std::pair<int, int> place[] = {places[i]};
    const auto frame = scene<std::uint8_t>({90, 64}, pattern, place);
    MatrixView view = frame.view();
    const auto block = allocate_host(device, frame.data.size());
    ASSERT_TRUE(block.ok());
    std::copy(frame.data.begin(), frame.data.end(), static_cast<std::uint8_t*>(block.value()));
    view.data = memory.emplace_back(block.value(), release).get();

    Matcher& matcher = matchers.emplace_back(std::move(Matcher::create(device).value()));
    const MatrixView templates[] = {pattern.view()};
    ASSERT_TRUE(matcher.set_templates(templates).ok());
    ASSERT_TRUE(prepare(matcher, ElementType::u8, frame.size, settings()).ok());
    ASSERT_TRUE(matcher.enqueue(view).ok());
  }
  for (int i = 0; i < frames; ++i) {
    std::vector<Peak> peaks;
    ASSERT_TRUE(matchers[i].collect(peaks).ok());
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_EQ(peaks[0].x, places[i].first);
    EXPECT_EQ(peaks[0].y, places[i].second);
  }
}

TEST_P(MatchTest, PeaksAreTheDefinitionsForFloats) {
  const auto pattern = random_image<float>({14, 9}, 12);
  const auto frame = scene<float>({90, 64}, pattern, places);
  for (const MethodInfo& method : methods()) {
    MatchSettings s = settings(method.method);
    s.max_peaks = 3;
    s.threshold = 0.4;
    expect_defined_peaks(frame, pattern, s, 1e-9);
  }
}

TEST_P(MatchTest, ManyPeaksByDistance) {
  const auto pattern = random_image<std::uint8_t>({6, 7}, 13);
  const auto frame = random_image<std::uint8_t>({101, 83}, 14);
  for (const int distance : {1, 2, 5, 13, 200}) {
    MatchSettings s = settings();
    s.max_peaks = 50;
    s.threshold = 0.1;
    s.min_peak_distance = distance;
    expect_defined_peaks(frame, pattern, s, 0);
  }
}

/// Lamps nearer to each other than the distance, each a little weaker than the one before: the
/// second is suppressed by the first, but does not suppress the third.
TEST_P(MatchTest, SuppressedPeaksSuppressNone) {
  constexpr int lamps = 7, spacing = 16;
  const auto lamp = [](Bytes& image, double x, double y, int blank) {
    for (int v = 0; v < image.size.height; ++v)
      for (int u = 0; u < image.size.width; ++u)
        if (const double far = std::hypot(u - x, v - y); far < 6)
          image.at(u, v) = static_cast<std::uint8_t>(230 - 12 * far);
    // What makes it weaker.
    for (int i = 0; i < blank; ++i) image.at(int(x) - 3 + i, int(y)) = 90;
  };
  Bytes pattern({19, 19}, 40), frame({lamps * spacing + 20, 40}, 40);
  lamp(pattern, 9, 9, 0);
  for (int i = 0; i < lamps; ++i) lamp(frame, 16 + spacing * i, 20, i);
  MatchSettings s = settings();
  s.threshold = 0.6;
  s.max_peaks = 20;
  s.min_peak_distance = 2 * spacing - 4;
  const auto peaks = match(device, pattern, frame, s);
  ASSERT_EQ(peaks.size(), 4u);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(peaks[i].x, 16 + 2 * spacing * i - 9);
    EXPECT_EQ(peaks[i].y, 11);
  }
  expect_defined_peaks(frame, pattern, s, 0);
}

/// Copies of a pattern side by side, and half of it between them: what matches half is no obstacle
/// to what matches wholly but less well.
TEST_P(MatchTest, ManyNearPeaksOfAnImage) {
  const auto pattern = random_image<std::uint8_t>({20, 18}, 12);
  const auto fine = random_image<std::uint8_t>({40, 30}, 5);
  Bytes frame({160, 120});
  for (int y = 0; y < frame.size.height; ++y)
    for (int x = 0; x < frame.size.width; ++x)
      frame.at(x, y) =
          static_cast<std::uint8_t>((fine.at(x / 4, y / 4) + pattern.at(x % 20, y % 18) +
                                     2 * pattern.at((x + 7) % 20, y % 18)) /
                                    4);
  for (const int distance : {8, 9, 12, 17, 30}) {
    MatchSettings s = settings();
    s.max_peaks = 200;
    s.threshold = 0.05;
    s.min_peak_distance = distance;
    expect_defined_peaks(frame, pattern, s, 0);
  }
}

TEST_P(MatchTest, DistancePastTheFrameIsTheFrame) {
  const auto pattern = random_image<std::uint8_t>({6, 7}, 13);
  const auto frame = random_image<std::uint8_t>({101, 83}, 14);
  MatchSettings s = settings();
  s.max_peaks = 50;
  s.threshold = 0.1;
  s.min_peak_distance = 101;
  const auto expected = match(device, pattern, frame, s);
  ASSERT_EQ(expected.size(), 1u);
  for (const int distance : {102, INT_MAX - 101, INT_MAX - 1, INT_MAX}) {
    s.min_peak_distance = distance;
    expect_same(match(device, pattern, frame, s), expected);
  }
}

/// Of more sizes than are searched side by side.
TEST_P(MatchTest, BankEqualsSingleRuns) {
  const auto frame = random_image<std::uint8_t>({120, 90}, 15);
  std::vector<Bytes> bank;
  for (const Rect r : {Rect{5, 7, 16, 12}, Rect{50, 30, 16, 12}, Rect{80, 60, 9, 21},
                       Rect{0, 0, 120, 4}, Rect{99, 70, 16, 12}, Rect{33, 3, 9, 21},
                       Rect{60, 5, 8, 8}, Rect{20, 40, 33, 9}, Rect{70, 20, 12, 17}})
    bank.push_back(crop(frame, r));
  MatchSettings s = settings();
  s.max_peaks = 5;
  s.threshold = 0.15;
  s.subpixel = Subpixel::least_squares;
  const auto together = match<std::uint8_t>(device, bank, frame, s);
  std::vector<Peak> alone;
  for (std::uint32_t i = 0; i < bank.size(); ++i)
    for (Peak peak : match(device, bank[i], frame, s)) {
      peak.template_index = i;
      alone.push_back(peak);
    }
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(together[i].template_index, alone[i].template_index) << i;
    EXPECT_EQ(together[i].x, alone[i].x) << i;
    EXPECT_EQ(together[i].y, alone[i].y) << i;
    EXPECT_EQ(together[i].score, alone[i].score) << i;
    EXPECT_EQ(together[i].width, bank[alone[i].template_index].size.width) << i;
  }
}

TEST_P(MatchTest, BankOfOneSize) {
  const auto frame = random_image<std::uint8_t>({90, 70}, 32);
  std::vector<Bytes> bank;
  for (int i = 0; i < 7; ++i) bank.push_back(crop(frame, {11 * i, 8 * i, 12, 10}));
  const auto peaks = match<std::uint8_t>(device, bank, frame, settings());
  ASSERT_EQ(peaks.size(), bank.size());
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    EXPECT_EQ(peaks[i].template_index, i);
    EXPECT_EQ(peaks[i].x, 11.0 * double(i));
    EXPECT_EQ(peaks[i].y, 8.0 * double(i));
    EXPECT_EQ(peaks[i].score, 1.0);
  }
}

TEST_P(MatchTest, BankPastOneBatch) {
  // So many surfaces that they are computed in two batches.
  const auto frame = random_image<std::uint8_t>({640, 480}, 31);
  std::vector<Bytes> bank;
  for (int i = 0; i < 64; ++i) bank.push_back(crop(frame, {9 * i, 7 * i, 8, 8}));
  const auto peaks = match<std::uint8_t>(device, bank, frame, settings());
  ASSERT_EQ(peaks.size(), bank.size());
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    EXPECT_EQ(peaks[i].template_index, i);
    EXPECT_EQ(peaks[i].x, 9.0 * double(i));
    EXPECT_EQ(peaks[i].y, 7.0 * double(i));
    EXPECT_EQ(peaks[i].score, 1.0);
  }
}

TEST_P(MatchTest, EveryCopyOfATileIsFound) {
  const auto tile = random_image<std::uint8_t>({16, 16}, 16);
  Bytes frame({320, 240});
  for (int y = 0; y < 240; ++y)
    for (int x = 0; x < 320; ++x) frame.at(x, y) = tile.at(x % 16, y % 16);
  MatchSettings s = settings();
  s.max_peaks = 1000;
  const auto peaks = match(device, tile, frame, s);
  ASSERT_EQ(peaks.size(), 300u);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    // Equal scores are in raster order.
    EXPECT_EQ(peaks[i].x, 16.0 * double(i % 20));
    EXPECT_EQ(peaks[i].y, 16.0 * double(i / 20));
    EXPECT_EQ(peaks[i].score, 1.0);
  }
}

TEST_P(MatchTest, CopiesScoreExactlyOne) {
  const auto frame = random_image<std::uint8_t>({97, 61}, 17);
  const auto pattern = crop(frame, {31, 17, 23, 19});
  for (const Method method : {Method::ccorr_normed, Method::ccoeff_normed}) {
    MatchSettings s = settings(method);
    s.threshold = 1;
    const auto peaks = match(device, pattern, frame, s);
    ASSERT_EQ(peaks.size(), 1u) << info(method).name;
    EXPECT_EQ(peaks[0].score, 1.0);
    EXPECT_EQ(peaks[0].x, 31);
    EXPECT_EQ(peaks[0].y, 17);
  }
  for (const Method method : {Method::sqdiff, Method::sqdiff_normed}) {
    MatchSettings s = settings(method);
    s.threshold = 1;
    const auto peaks = match(device, pattern, frame, s);
    ASSERT_EQ(peaks.size(), 1u) << info(method).name;
    EXPECT_EQ(peaks[0].score, 0.0);
  }
}

TEST_P(MatchTest, WithoutVarianceNothingMatches) {
  const auto noise = random_image<std::uint8_t>({48, 40}, 18);
  const Bytes flat_frame({48, 40}, 77), flat_pattern({8, 8}, 77);
  const auto pattern = crop(noise, {4, 4, 8, 8});
  EXPECT_TRUE(is_flat(flat_pattern.view()));
  EXPECT_FALSE(is_flat(pattern.view()));
  for (const Method method : {Method::ccoeff, Method::ccoeff_normed}) {
    SCOPED_TRACE(info(method).name);
    const MatchSettings s = settings(method);
    EXPECT_TRUE(match(device, pattern, flat_frame, s).empty());
    EXPECT_TRUE(match(device, flat_pattern, noise, s).empty());
    EXPECT_TRUE(match(device, flat_pattern, flat_frame, s).empty());
  }
}

TEST_P(MatchTest, WithoutVarianceNoFloatsMatch) {
  const Floats flat_frame({48, 40}, 0.1f), flat_pattern({8, 8}, 0.1f);
  const auto pattern = random_image<float>({8, 8}, 19);
  for (const Method method : {Method::ccoeff, Method::ccoeff_normed}) {
    SCOPED_TRACE(info(method).name);
    EXPECT_TRUE(match(device, pattern, flat_frame, settings(method)).empty());
    EXPECT_TRUE(match(device, flat_pattern, flat_frame, settings(method)).empty());
  }
}

TEST_P(MatchTest, ConstantImagesAreEqual) {
  const Bytes white({50, 40}, 255), white_pattern({12, 10}, 255);
  for (const Method method : {Method::sqdiff, Method::sqdiff_normed, Method::ccorr_normed}) {
    const auto peaks = match(device, white_pattern, white, settings(method));
    ASSERT_EQ(peaks.size(), 1u) << info(method).name;
    EXPECT_EQ(peaks[0].score, info(method).minimum ? 0.0 : 1.0) << info(method).name;
    if (!is_exact()) continue;  // the rounding of approximate products decides between equal scores
    EXPECT_EQ(peaks[0].x, 0);
    EXPECT_EQ(peaks[0].y, 0);
  }
  const Bytes black({50, 40}, 0), black_pattern({12, 10}, 0);
  for (const Method method : {Method::sqdiff, Method::sqdiff_normed}) {
    const auto peaks = match(device, black_pattern, black, settings(method));
    ASSERT_EQ(peaks.size(), 1u) << info(method).name;
    EXPECT_EQ(peaks[0].score, 0.0);
  }
}

TEST_P(MatchTest, NearFlatNoiseGivesScoresInRange) {
  std::mt19937 random(20);
  std::normal_distribution<double> normal;
  for (const double noise : {1e-9, 1e-7, 1e-5}) {
    Floats frame({64, 48});
    for (float& v : frame.data) v = static_cast<float>(0.5 + noise * normal(random));
    Floats pattern = crop(frame, {9, 8, 12, 11});
    for (const Method method :
         {Method::sqdiff_normed, Method::ccorr_normed, Method::ccoeff_normed}) {
      MatchSettings s = settings(method);
      s.threshold = -1;
      s.max_peaks = 1024;
      s.min_peak_distance = 1;
      s.subpixel = Subpixel::quadratic;
      const auto peaks = match(device, pattern, frame, s);
      EXPECT_FALSE(peaks.empty());
      for (const Peak& peak : peaks) {
        ASSERT_TRUE(peak.score >= -1 && peak.score <= 1) << peak.score;
        ASSERT_TRUE(std::isfinite(peak.x) && std::isfinite(peak.y));
      }
    }
  }
}

// ---- extents --------------------------------------------------------------------------------

TEST_P(MatchTest, TemplateAsLargeAsTheFrame) {
  const auto frame = random_image<std::uint8_t>({37, 23}, 21);
  MatchSettings s = settings();
  s.max_peaks = 10;
  s.subpixel = Subpixel::least_squares;
  const auto peaks = match(device, frame, frame, s);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 0);
  EXPECT_EQ(peaks[0].y, 0);
  EXPECT_EQ(peaks[0].score, 1.0);
}

TEST_P(MatchTest, TemplatePastSixteenBitsOfPixels) {
  const auto frame = random_image<std::uint8_t>({300, 290}, 22);
  const auto peaks = match(device, crop(frame, {13, 19, 270, 260}), frame, settings());
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_EQ(peaks[0].x, 13);
  EXPECT_EQ(peaks[0].y, 19);
  EXPECT_EQ(peaks[0].score, 1.0);
}

TEST_P(MatchTest, SearchRegionBoundsTheMatch) {
  const auto frame = random_image<std::uint8_t>({80, 60}, 23);
  const auto pattern = crop(frame, {40, 30, 11, 9});
  const auto found = [&](Rect region) {
    MatchSettings s = settings();
    s.search_region = region;
    return match(device, pattern, frame, s);
  };
  for (const Rect region :
       {Rect{40, 30, 11, 9}, Rect{35, 20, 30, 30}, Rect{-10, -10, 200, 200}, Rect{}}) {
    const auto peaks = found(region);
    ASSERT_EQ(peaks.size(), 1u);
    EXPECT_EQ(peaks[0].x, 40);
    EXPECT_EQ(peaks[0].y, 30);
    EXPECT_EQ(peaks[0].score, 1.0);
  }
  // One column or row short of it; smaller than the template; outside the frame.
  for (const Rect region : {Rect{41, 20, 39, 40}, Rect{0, 0, 50, 60}, Rect{0, 31, 80, 29},
                            Rect{0, 0, 80, 38}, Rect{40, 30, 10, 9}, Rect{500, 0, 20, 20}})
    EXPECT_TRUE(found(region).empty());
}

TEST_P(MatchTest, PaddedFramesOneAfterAnother) {
  const auto pattern = random_image<std::uint8_t>({13, 11}, 24);
  auto matcher = Matcher::create(device);
  ASSERT_TRUE(matcher.ok());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.value().set_templates({&view, 1}).ok());
  ASSERT_TRUE(prepare(matcher.value(), ElementType::u8, {70, 50}, settings()).ok());
  for (int i = 0; i < 4; ++i) {
    auto padded = random_image<std::uint8_t>({70 + 3 * i, 50}, 25 + unsigned(i));
    for (int y = 0; y < 11; ++y)
      for (int x = 0; x < 13; ++x) padded.at(5 * i + x, 7 * i + y) = pattern.at(x, y);
    MatrixView frame = padded.view();
    frame.size = {70, 50};
    const std::vector<Peak> peaks = peaks_in(matcher.value(), frame);
    ASSERT_EQ(peaks.size(), 1u) << i;
    EXPECT_EQ(peaks[0].x, 5 * i);
    EXPECT_EQ(peaks[0].y, 7 * i);
  }
  EXPECT_TRUE(kernel() == "auto" || matcher.value().kernel() == kernel());
}

TEST(TallTemplates, ColumnsWhoseSquaresNeedMoreThan32Bits) {
  auto frame = random_image<std::uint8_t>({3, 70004}, 26);
  for (std::uint8_t& v : frame.data) v = v < 4 ? v : 255;
  const auto pattern = crop(frame, {1, 3, 2, 70000});
  MatchSettings settings;
  settings.subpixel = Subpixel::none;
  const auto expected = defined_peaks(frame, pattern, settings);
  const auto got = match(open_device(Backend::cpu).value(), pattern, frame, settings);
  ASSERT_EQ(got.size(), 1u);
  ASSERT_EQ(expected.size(), 1u);
  EXPECT_EQ(got[0].x, 1);
  EXPECT_EQ(got[0].y, 3);
  EXPECT_EQ(got[0].score, expected[0].score);
}

}  // namespace
}  // namespace api
