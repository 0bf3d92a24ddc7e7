// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The separable filter by itself, through every variant, against literal values; and as the
// prefilter of matches, which find the same as in images smoothed beforehand.
#include <algorithm>
#include <cmath>
#include <limits>

#include "oracle/oracle.hpp"
#include "stages/image/filter.hpp"
#include "support.hpp"

namespace api {
namespace {

AxisWeights weights(std::initializer_list<double> values) {
  AxisWeights w{static_cast<int>(values.size() / 2), {}};
  std::copy(values.begin(), values.end(), w.values.begin());
  return w;
}

std::vector<Target> filters() {
  std::vector<Target> list;
  for (const auto* v : variants_of<stage::Filter>()) list.push_back({v->backend, v->name});
  return list;
}

class FilterTest : public TargetTest {
 protected:
  /// Empty where the variant does not support these weights.
  template <class T>
  std::vector<T> filter(const FilterProblem& problem, const std::vector<T>& images) {
    auto made = Filter::create(problem, device, kernel());
    if (!made.ok()) {
      EXPECT_EQ(made.status().code(), Code::unsupported) << made.status().message();
      return {};
    }
    Filter& plan = made.value();
    EXPECT_EQ(plan.kernel(), kernel());
    std::vector<T> out(static_cast<std::size_t>(problem.count * problem.region.size().area()));
    const std::size_t bytes = out.size() * sizeof(T);
    const Block from = upload(device, images.data(), images.size() * sizeof(T));
    const Block to = upload(device, out.data(), bytes);
    const Block workspace = std::move(Block::make(device.backend, plan.workspace_bytes()).value());
    EXPECT_TRUE(plan.run(from.data(), to.data(), workspace.data()).ok());
    const Runtime& run = runtime(device.backend);
    EXPECT_TRUE(
        run.copy(bytes_copy(out.data(), to.data(), bytes), Memory::device, Memory::host, {}).ok());
    EXPECT_TRUE(run.wait({}).ok());
    return out;
  }

  template <class T>
  void expect_filtered(Size size, const AxisWeights& across, const AxisWeights& down,
                       const std::vector<T>& image, const std::vector<T>& expected) {
    FilterProblem problem = dense_filter(element_type<T>, size, across);
    problem.down = down;
    const auto got = filter(problem, image);
    if (got.empty()) return;
    EXPECT_EQ(got, expected);
  }
};

INSTANTIATE_TEST_SUITE_P(Filters, FilterTest, testing::ValuesIn(filters()), name_of);

TEST_P(FilterTest, ConvolvesAcrossWithTheEdgesRepeated) {
  const AxisWeights w = weights({1, 2, 3}), one = weights({1});
  // At x: 1 f(x + 1) + 2 f(x) + 3 f(x - 1).
  expect_filtered<float>({4, 1}, w, one, {1, 2, 4, 8}, {7, 11, 22, 36});
  expect_filtered<double>({4, 1}, w, one, {1, 2, 4, 8}, {7, 11, 22, 36});
  expect_filtered<std::uint8_t>({4, 1}, w, one, {1, 2, 4, 8}, {7, 11, 22, 36});
  expect_filtered<float>({1, 1}, w, one, {5}, {30});
}

TEST_P(FilterTest, ConvolvesDown) {
  const AxisWeights w = weights({1, 2, 3}), one = weights({1});
  expect_filtered<float>({1, 4}, one, w, {1, 2, 4, 8}, {7, 11, 22, 36});
  expect_filtered<std::uint8_t>({2, 3}, one, weights({1, 0, 0}), {1, 2, 3, 4, 5, 6},
                                {3, 4, 5, 6, 5, 6});
}

TEST_P(FilterTest, ConvolvesBothWays) {
  // A single pixel reproduces the weights in order.
  std::vector<float> dot(25), expected(25);
  dot[12] = 1;
  const double across[] = {1, 2, 4}, down[] = {1, 10, 100};
  for (int y = 0; y < 3; ++y)
    for (int x = 0; x < 3; ++x)
      expected[(y + 1) * 5 + x + 1] = static_cast<float>(down[y] * across[x]);
  expect_filtered<float>({5, 5}, weights({1, 2, 4}), weights({1, 10, 100}), dot, expected);
}

TEST_P(FilterTest, BytesAreRoundedAndClamped) {
  const AxisWeights one = weights({1}), half = weights({0.25, 0.5, 0.25});
  expect_filtered<std::uint8_t>({5, 1}, half, one, {0, 0, 255, 0, 1}, {0, 64, 128, 64, 1});
  expect_filtered<std::uint8_t>({4, 1}, weights({-1, 3, -1}), one, {0, 255, 0, 100},
                                {0, 255, 0, 200});
  expect_filtered<std::uint8_t>({3, 1}, weights({40}), weights({-1}), {0, 1, 255}, {0, 0, 0});
}

TEST_P(FilterTest, WhatIsFlatStaysSo) {
  for (const double sigma : {0.3, 1.0, 1.7, 2.0, 5.0, 10.0}) {
    const FilterProblem problem =
        dense_filter(ElementType::u8, {70, 40}, gaussian_weights(sigma).value());
    const auto got = filter(problem, std::vector<std::uint8_t>(2800, 255));
    for (const std::uint8_t v : got) ASSERT_EQ(v, 255) << sigma;
  }
}

TEST_P(FilterTest, APartIsThatPartOfTheWhole) {
  const auto image = random_image<std::uint8_t>({90, 70}, 3);
  FilterProblem problem = dense_filter(ElementType::u8, image.size, gaussian_weights(2).value());
  const auto whole = filter(problem, image.data);
  if (whole.empty()) return;
  for (const Rect part : {Rect{0, 0, 9, 11}, Rect{40, 5, 50, 65}, Rect{89, 69, 1, 1}}) {
    problem.region = part;
    const auto got = filter(problem, image.data);
    const Image<std::uint8_t> filtered(image.size, whole);
    EXPECT_EQ(got, crop(filtered, part).data);
  }
}

TEST_P(FilterTest, SumsInDoubleLoseNothing) {
  FilterProblem problem = dense_filter(ElementType::f32, {3, 1}, weights({1, 1, 1}));
  problem.down = weights({1});
  problem.sums = ElementType::f64;
  const auto got = filter<float>(problem, {1e9f, 1, -1e9f});
  if (got.empty()) return;
  EXPECT_EQ(got[1], 1.0f);
}

TEST(GaussianWeights, AreTheDefinitions) {
  const AxisWeights w = gaussian_weights(1).value();
  ASSERT_EQ(w.radius, 3);
  const double expected[] = {0.00443305, 0.05400558, 0.24203623, 0.39905028,
                             0.24203623, 0.05400558, 0.00443305};
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(w.values[i], expected[i], 1e-8);
  EXPECT_EQ(gaussian_weights(0).value(), AxisWeights());
  EXPECT_EQ(gaussian_weights(0.1).value().radius, 1);
  EXPECT_EQ(gaussian_weights(2).value().radius, 6);
  EXPECT_EQ(gaussian_weights(10).value().radius, 30);
  for (const double bad : {-1.0, 11.0, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(gaussian_weights(bad).status().code(), Code::invalid_argument) << bad;
}

TEST(Filter, MalformedProblemsAreRefused) {
  const Device cpu = open_device(Backend::cpu).value();
  const FilterProblem good = dense_filter(ElementType::u8, {8, 6}, weights({1, 1, 1}));
  ASSERT_TRUE(Filter::create(good, cpu).ok());
  const auto refused = [&](auto spoil, Code code = Code::invalid_argument) {
    FilterProblem p = good;
    spoil(p);
    EXPECT_EQ(Filter::create(p, cpu).status().code(), code);
  };
  refused([](FilterProblem& p) { p.type = ElementType::i32; });
  refused([](FilterProblem& p) { p.size.width = 0; });
  refused([](FilterProblem& p) { p.count = 0; });
  refused([](FilterProblem& p) { p.pitch = 7; });
  refused([](FilterProblem& p) { p.region = {}; });
  refused([](FilterProblem& p) { p.region.x = 1; });
  refused([](FilterProblem& p) { p.region.x = std::numeric_limits<int>::max(); });
  refused([](FilterProblem& p) { p.across.radius = max_filter_radius + 1; });
  refused([](FilterProblem& p) { p.down.radius = -1; });
  refused([](FilterProblem& p) { p.down.values[1] = HUGE_VAL; });
  refused([](FilterProblem& p) { p.down.values[1] = 1e9; });
  refused([](FilterProblem& p) {
    p.type = ElementType::f32;
    p.pitch = 32;
    p.sums = ElementType::u8;
  });
  EXPECT_EQ(Filter::create(good, cpu, "no_such").status().code(), Code::unsupported);
  Filter filter = std::move(Filter::create(good, cpu).value());
  EXPECT_EQ(filter.run(nullptr, nullptr, nullptr).code(), Code::invalid_argument);
}

// ---- as a prefilter -------------------------------------------------------------------------

/// The image smoothed by the oracle.
template <class T>
Image<T> smooth(const Image<T>& image, double sigma) {
  Image<T> out(image.size);
  const FilterProblem p =
      dense_filter(element_type<T>, image.size, gaussian_weights(sigma).value());
  const FilterWeights weights = filter_weights(p.type, p.across, p.down, p.sums).value();
  const stage::Filter::Problem problem{p.type,   p.size, p.region, p.count, p.pitch,
                                       p.stride, 0,      0,        &weights};
  const stage::Filter::Buffers buffers{{}, image.data.data(), out.data.data()};
  const auto oracle = oracle::variant_for<stage::Filter>(problem);
  EXPECT_TRUE(oracle.value()->launch(problem, Device(), buffers, nullptr).ok());
  return out;
}

class PrefilterTest : public TargetTest {};
INSTANTIATE_TEST_SUITE_P(Kernels, PrefilterTest, testing::ValuesIn(targets()), name_of);

TEST_P(PrefilterTest, MatchesSmoothedImages) {
  const auto frame = random_image<std::uint8_t>({110, 80}, 21);
  const std::vector bank{crop(frame, {20, 10, 16, 12}), crop(frame, {60, 40, 9, 15})};
  for (const double sigma : {0.5, 1.0, 2.0}) {
    const std::vector smoothed{smooth(bank[0], sigma), smooth(bank[1], sigma)};
    MatchSettings plain = settings();
    plain.subpixel = Subpixel::quadratic;
    plain.max_peaks = 3;
    plain.threshold = 0.1;
    for (const Rect region : {Rect{}, Rect{17, 8, 70, 60}, Rect{2, 0, 108, 79}}) {
      plain.search_region = region;
      MatchSettings filtered = plain;
      filtered.prefilter_sigma = sigma;
      expect_same(match<std::uint8_t>(device, bank, frame, filtered),
                  match<std::uint8_t>(device, smoothed, smooth(frame, sigma), plain));
    }
  }
}

TEST_P(PrefilterTest, MatchesSmoothedFloats) {
  const auto frame = random_image<float>({90, 60}, 22);
  const auto pattern = crop(frame, {20, 10, 16, 12});
  MatchSettings plain = settings(), filtered = plain;
  filtered.prefilter_sigma = 1.5;
  filtered.subpixel = plain.subpixel = Subpixel::none;
  expect_same(match(device, pattern, frame, filtered),
              match(device, smooth(pattern, 1.5), smooth(frame, 1.5), plain), 1e-5);
}

TEST_P(PrefilterTest, FindsWhatNoiseHides) {
  // Broad blobs under noise of each pixel.
  Image<std::uint8_t> clean = smooth(random_image<std::uint8_t>({120, 90}, 22), 3);
  for (std::uint8_t& v : clean.data)
    v = static_cast<std::uint8_t>(std::clamp(128 + 4 * (v - 128), 64, 191));
  const auto noise = random_image<std::uint8_t>(clean.size, 23);
  Image<std::uint8_t> frame = clean;
  for (std::size_t i = 0; i < frame.data.size(); ++i)
    frame.data[i] = static_cast<std::uint8_t>(frame.data[i] + (noise.data[i] - 128) / 2);
  const auto pattern = crop(clean, {50, 30, 32, 24});
  MatchSettings s = settings();
  s.threshold = 0.85;
  EXPECT_TRUE(match(device, pattern, frame, s).empty());
  s.prefilter_sigma = 2;
  const auto peaks = match(device, pattern, frame, s);
  ASSERT_EQ(peaks.size(), 1u);
  EXPECT_NEAR(peaks[0].x, 50, 1);
  EXPECT_NEAR(peaks[0].y, 30, 1);
}

TEST_P(PrefilterTest, TheRegionAndSigmaMayChange) {
  const auto frame = random_image<std::uint8_t>({110, 80}, 24);
  const auto pattern = crop(frame, {40, 30, 16, 12});
  auto matcher = Matcher::create(device);
  ASSERT_TRUE(matcher.ok());
  const MatrixView view = pattern.view();
  ASSERT_TRUE(matcher.value().set_templates(std::span(&view, 1)).ok());
  MatchSettings s = settings();
  const std::pair<Rect, double> steps[] = {{{30, 20, 50, 40}, 1}, {{0, 0, 50, 50}, 1},
                                           {{10, 15, 50, 50}, 1}, {{60, 30, 50, 50}, 1},
                                           {{10, 15, 50, 50}, 0}, {{10, 15, 50, 50}, 2}};
  for (const auto& [region, sigma] : steps) {
    s.search_region = region;
    s.prefilter_sigma = sigma;
    ASSERT_TRUE(prepare(matcher.value(), ElementType::u8, frame.size, s).ok());
    const std::vector<Peak> peaks = peaks_in(matcher.value(), frame.view());
    expect_same(peaks, match(device, pattern, frame, s));
  }
}

/// Three pixels under a Gaussian of ten are a slope, which scores 1 wherever there is another.
TEST(Prefilter, SmallTemplatesUnderWideOnesAreRefused) {
  const auto frame = random_image<std::uint8_t>({120, 90}, 25);
  const auto prepared = [&](Size size, double sigma) {
    const auto pattern = crop(frame, {40, 30, size.width, size.height});
    const MatrixView view = pattern.view();
    auto matcher = Matcher::create(open_device(Backend::cpu).value());
    EXPECT_TRUE(matcher.value().set_templates({&view, 1}).ok());
    MatchSettings s;
    s.prefilter_sigma = sigma;
    return matcher.value().prepare(ElementType::u8, frame.size, s);
  };
  for (const auto& [size, sigma] :
       {std::pair(Size{3, 3}, 10.0), {Size{3, 3}, 2.0}, {Size{20, 20}, 10.0}, {Size{60, 4}, 3.0}}) {
    const Status status = prepared(size, sigma);
    EXPECT_EQ(status.code(), Code::invalid_argument) << size.width;
    EXPECT_NE(status.message().find("is flat after smoothing"), std::string::npos);
  }
  for (const auto& [size, sigma] :
       {std::pair(Size{3, 3}, 1.0), {Size{22, 22}, 10.0}, {Size{60, 5}, 3.0}})
    EXPECT_TRUE(prepared(size, sigma).ok()) << size.width;
}

TEST(Prefilter, SigmaOutOfRangeIsRefused) {
  auto matcher = Matcher::create(open_device(Backend::cpu).value());
  MatchSettings s;
  for (const double bad : {-0.1, 10.1, std::numeric_limits<double>::quiet_NaN()}) {
    s.prefilter_sigma = bad;
    const Status status = matcher.value().prepare(ElementType::u8, {64, 64}, s);
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("prefilter_sigma"), std::string::npos);
  }
}

}  // namespace
}  // namespace api
