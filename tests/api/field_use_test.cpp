// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of displacements that are not found, and how a FieldMatcher is used.
#include "field_test.hpp"

namespace api {
namespace {

// ---- what is not found ----------------------------------------------------------------------

TEST_P(FieldTest, OutliersAreReplaced) {
  Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 8);
  const Bytes noise = random_image<std::uint8_t>(size, 9);
  const auto is_spoilt = [](float x, float y) {
    return std::abs(x - 128) < 17 && std::abs(y - 96) < 17;
  };
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x)
      if (is_spoilt(x, y)) pair.second.pixels[std::size_t(y) * size.width + x] = noise.at(x, y);
  for (FieldSettings settings : {FieldSettings(), least_squares(0)}) {
    settings.min_score = 0.4;
    settings.spacing = 24;
    int replaced = 0;
    for (const FieldVector& v : match(pair, settings)) {
      if (!is_spoilt(v.x, v.y)) continue;
      replaced += v.status == FieldStatus::replaced;
      if (v.status == FieldStatus::replaced) {
        EXPECT_NEAR(v.dx, 3.4, 1.5);
        EXPECT_NEAR(v.dy, -1.7, 1.5);
      }
    }
    EXPECT_GE(replaced, 2);
  }
}

TEST_P(FieldTest, MedianTest) {
  // One window of its own way among others.
  Shifted pair(3, -2);
  FieldSettings settings;
  settings.spacing = 32;
  settings.subpixel = FieldSubpixel::none;
  for (int y = 96; y < 128; ++y)
    for (int x = 96; x < 128; ++x) pair.first.at(x, y) = pair.second.at(x - 6, y + 8);
  const auto of_window = [&](const FieldSettings& s) {
    for (const FieldVector& v : match(pair.first.view(), pair.second.view(), s))
      if (v.x == 111.5F && v.y == 111.5F) return v;
    return FieldVector();
  };
  const FieldVector tested = of_window(settings);
  EXPECT_EQ(tested.status, FieldStatus::replaced);
  EXPECT_EQ(tested.dx, 3);
  EXPECT_EQ(tested.dy, -2);
  settings.median_limit = 0;
  const FieldVector untested = of_window(settings);
  EXPECT_EQ(untested.status, FieldStatus::ok);
  EXPECT_EQ(untested.dx, -6);
  EXPECT_EQ(untested.dy, 8);
}

/// A right vector at an extremum is greater than all of its neighbours.
TEST_P(FieldTest, ExtremaAreKept) {
  const Pair pair = fields::particles(size, fields::vortices(4, 128), {.lost = 0.05}, 5);
  FieldSettings settings;
  settings.windows = {64, 32, 32};
  settings.deformation = true;
  const Errors kept = errors(pair, settings);
  EXPECT_EQ(kept.not_ok, 0);
  EXPECT_LT(kept.rms, 0.15);
}

/// Averages have less noise than each of what is averaged, also after least squares.
TEST_P(FieldTest, Smoothing) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {.noise = 8}, 11);
  for (FieldSettings settings : {FieldSettings(), least_squares(0)}) {
    settings.spacing = 32;  // windows beside each other have no noise in common
    const auto error = [&] {
      double sum = 0;
      int count = 0;
      for (const FieldVector& v : match(pair, settings)) {
        // Away from the rim, where windows leave the image.
        if (v.x > 190 || v.y < 70 || v.status != FieldStatus::ok) continue;
        sum += (v.dx - 3.4) * (v.dx - 3.4) + (v.dy + 1.7) * (v.dy + 1.7);
        ++count;
      }
      return std::sqrt(sum / count);
    };
    const double rough = error();
    settings.smoothing = 2;
    EXPECT_LT(error(), 0.75 * rough);
  }
}

/// As by hand, which every device does alike.
TEST_P(FieldTest, PrefilteredImages) {
  const Pair pair = fields::particles(size, fields::vortices(3, 200), {}, 4);
  FieldSettings settings = least_squares(1);
  settings.prefilter_sigma = 0.6;
  const auto found = match(pair, settings);

  const AxisWeights weights = gaussian_weights(settings.prefilter_sigma).value();
  const Device cpu = open_device(Backend::cpu).value();
  auto filter = Filter::create(dense_filter(ElementType::u8, size, weights), cpu);
  ASSERT_TRUE(filter.ok()) << filter.status().message();
  std::vector<std::byte> workspace(filter.value().workspace_bytes() + 1);
  const auto smoothed = [&](const GrayImage& image) {
    Bytes to(size);
    const Status s = filter.value().run(image.pixels.data(), to.data.data(), workspace.data(), {});
    EXPECT_TRUE(s.ok()) << s.message();
    return to;
  };
  const Bytes first = smoothed(pair.first), second = smoothed(pair.second);
  settings.prefilter_sigma = 0;
  const auto right = match(first.view(), second.view(), settings);
  const auto unfiltered = match(pair, settings);
  ASSERT_EQ(found.size(), right.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].dx, right[i].dx);
    EXPECT_EQ(found[i].dy, right[i].dy);
    EXPECT_EQ(found[i].score, right[i].score);
    EXPECT_NE(found[i].score, unfiltered[i].score);
  }
}

TEST_P(FieldTest, LimitsOfScoreAndRatio) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {.lost = 0.6}, 10);
  FieldSettings settings;
  const auto least = [&](auto member) {
    float value = 100;
    for (const FieldVector& v : match(pair, settings))
      if (v.status == FieldStatus::ok) value = std::min(value, v.*member);
    return value;
  };
  EXPECT_LT(least(&FieldVector::score), 0.5F);
  settings.min_score = 0.5;
  EXPECT_GE(least(&FieldVector::score), 0.5F);
  settings.min_score = 0;
  EXPECT_LT(least(&FieldVector::ratio), 1.5F);
  settings.min_ratio = 1.5;
  EXPECT_GE(least(&FieldVector::ratio), 1.5F);
}

TEST_P(FieldTest, FlatWindows) {
  Shifted pair(3, -2);
  for (int y = 60; y < 130; ++y)
    for (int x = 60; x < 130; ++x) pair.first.at(x, y) = 77;
  for (const FieldSettings& settings : {FieldSettings(), least_squares(1)}) {
    int flat = 0;
    for (const FieldVector& v : match(pair.first.view(), pair.second.view(), settings)) {
      const bool inside = std::abs(v.x - 95) < 18 && std::abs(v.y - 95) < 18;
      if (inside) {
        EXPECT_EQ(v.status, FieldStatus::flat);
      }
      flat += v.status == FieldStatus::flat;
    }
    EXPECT_GT(flat, 3);
    const Bytes grey(size, 9);
    for (const MatrixView& reference : {grey.view(), pair.first.view()})
      for (const FieldVector& v : match(reference, grey.view(), settings)) {
        EXPECT_EQ(v.status, FieldStatus::flat);
        EXPECT_EQ(v.dx, 0);
        EXPECT_EQ(v.score, 0);
      }
  }
}

TEST_P(FieldTest, TooFar) {
  const Shifted pair(9, 0);
  FieldSettings settings;
  settings.search_range = 9;
  int out = 0, all = 0;
  for (const FieldVector& v : match(pair.first.view(), pair.second.view(), settings)) {
    if (v.x > size.width - 40) continue;
    out += v.status == FieldStatus::out_of_range;
    ++all;
  }
  EXPECT_EQ(out, all);
}

TEST_P(FieldTest, Masks) {
  // A bright bar that does not move with what is behind it.
  Shifted pair(4, 3);
  Bytes mask(size, 255);
  for (int y = 0; y < size.height; ++y)
    for (int x = 100; x < 120; ++x) {
      pair.first.at(x, y) = pair.second.at(x, y) = static_cast<std::uint8_t>(235 + (x + y) % 20);
      mask.at(x, y) = 0;
    }
  for (FieldSettings settings : {FieldSettings(), least_squares(0, 32)}) {
    settings.median_limit = 0;
    settings.min_counted = 0.45;
    int masked = 0, beside = 0;
    for (const FieldVector& v :
         match(pair.first.view(), pair.second.view(), settings, mask.view())) {
      const bool above = v.y > 20 && v.y < size.height - 20;
      if (v.status == FieldStatus::masked) {
        ++masked;
        EXPECT_NEAR(v.x, 110, 12);
      } else if (above && v.x > 70 && v.x < 97) {  // it moves behind the bar in part
        EXPECT_EQ(v.status, FieldStatus::ok);
        EXPECT_NEAR(v.dx, 4, 0.2);
        EXPECT_NEAR(v.dy, 3, 0.2);
        ++beside;
      }
    }
    EXPECT_GT(masked, 5);
    EXPECT_GT(beside, 10);
  }
}

// ---- how it is used -------------------------------------------------------------------------

TEST_P(FieldTest, OneFrameAfterAnother) {
  const Bytes all = random_image<std::uint8_t>({size.width + 30, size.height}, 11);
  const auto frame = [&](int i) { return crop(all, {3 * i, 0, size.width, size.height}); };
  FieldSettings settings;
  settings.subpixel = FieldSubpixel::none;
  FieldMatcher matcher = make(settings);
  std::vector<FieldVector> vectors;
  ASSERT_TRUE(matcher.set_reference(frame(0).view()).ok());
  const auto middle = [&] { return vectors[vectors.size() / 2 + 7].dx; };
  for (int i = 1; i <= 2; ++i) {
    ASSERT_TRUE(matcher.enqueue(frame(i).view()).ok());
    ASSERT_TRUE(matcher.collect(vectors).ok());
    EXPECT_EQ(middle(), -3 * i) << "from the first";
  }
  ASSERT_TRUE(matcher.advance().ok());
  for (int i = 3; i <= 5; ++i) {
    ASSERT_TRUE(matcher.enqueue(frame(i).view()).ok());
    ASSERT_TRUE(matcher.advance().ok()) << "before it was compared";
    ASSERT_TRUE(matcher.collect(vectors).ok());
    EXPECT_EQ(middle(), -3) << "from the one before";
  }
}

TEST_P(FieldTest, Layouts) {
  const Shifted pair(3, -2);
  const std::vector<FieldVector> expected = match(pair.first.view(), pair.second.view(), {});
  std::vector<std::uint8_t> packed;
  for (const std::uint8_t p : pair.second.data) packed.insert(packed.end(), {1, 2, p, 3});
  const std::vector<FieldVector> got = match(
      pair.first.view(),
      {packed.data(), ElementType::u8, size, 4 * size.width, Memory::host, packed_luma(4, 2)}, {});
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].dx, expected[i].dx);
}

TEST_P(FieldTest, SettingsThatCannotBe) {
  const auto refused = [&](auto change, Code code, const std::string& said) {
    FieldSettings settings;
    change(settings);
    const auto made = FieldMatcher::make(device, size, settings);
    ASSERT_FALSE(made.ok()) << said;
    EXPECT_EQ(made.status().code(), code);
    EXPECT_NE(made.status().message().find(said), std::string::npos) << made.status().message();
  };
  using S = FieldSettings;
  const Code bad = Code::invalid_argument;
  refused([](S& s) { s.windows = {}; }, bad, "window");
  refused([](S& s) { s.windows = {3}; }, bad, "4 to 256 pixels along a side, not 3");
  refused([](S& s) { s.windows = {257}; }, bad, "not 257");
  refused([](S& s) { s.windows = {32, 64}; }, bad, "must not grow from pass to pass: 64 after 32");
  refused([](S& s) { s.windows = {200}; }, bad, "larger than the image of 256x192");
  refused([](S& s) { s.spacing = 0; }, bad, "spacing");
  refused([](S& s) { s.search_range = 0; }, bad, "search_range");
  refused([](S& s) { s.later_range = 65; }, bad, "later_range");
  refused([](S& s) { s.order = 3; }, bad, "order");
  refused([](S& s) { s.spline_degree = 4; }, bad, "degree");
  refused([](S& s) { s.weight_sigma = NAN; }, bad, "weight_sigma");
  refused([](S& s) { s.median_limit = -1; }, bad, "median_limit");
  refused([](S& s) { s.median_noise = 0; }, bad, "median_noise");
  refused([](S& s) { s.min_score = 2; }, bad, "min_score");
  refused([](S& s) { s.min_ratio = 0; }, bad, "min_ratio");
  refused([](S& s) { s.smoothing = 2.5; }, bad, "smoothing");
  refused([](S& s) { s.prefilter_sigma = 11; }, bad, "prefilter_sigma");
  refused([](S& s) { s.min_counted = 0; }, bad, "min_counted");
  EXPECT_FALSE(FieldMatcher::make(device, {0, 5}, {}).ok());
  const Bytes mask({size.width, size.height - 1});
  EXPECT_FALSE(FieldMatcher::make(device, size, {}, mask.view()).ok());
  const Image<float> floats(size);
  EXPECT_FALSE(FieldMatcher::make(device, size, {}, floats.view()).ok());
}

TEST_P(FieldTest, ImagesThatCannotBe) {
  FieldMatcher matcher = make({});
  const Bytes right(size, 1), smaller({size.width - 1, size.height}, 1);
  const Image<float> floats(size);
  std::vector<FieldVector> vectors;
  EXPECT_FALSE(matcher.enqueue(right.view()).ok()) << "without a reference";
  EXPECT_FALSE(matcher.advance().ok());
  EXPECT_FALSE(matcher.collect(vectors).ok());
  EXPECT_EQ(matcher.set_reference(floats.view()).code(), Code::unsupported);
  const Status other = matcher.set_reference(smaller.view());
  EXPECT_EQ(other.message(), "the reference is of 255x192, but was prepared for 256x192");
  MatrixView none = right.view();
  none.data = nullptr;
  EXPECT_FALSE(matcher.set_reference(none).ok());
  ASSERT_TRUE(matcher.set_reference(right.view()).ok());
  EXPECT_FALSE(matcher.enqueue(smaller.view()).ok());
  ASSERT_TRUE(matcher.enqueue(right.view()).ok());
  EXPECT_FALSE(matcher.enqueue(right.view()).ok()) << "before collect()";
  EXPECT_FALSE(matcher.set_reference(right.view()).ok()) << "before collect()";
  EXPECT_TRUE(matcher.collect(vectors).ok());
}

}  // namespace
}  // namespace api
