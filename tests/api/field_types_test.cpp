// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields of images of 16 bits and of floats: what images of bytes have, and what
// these could not hold.
#include <limits>

#include "field_test.hpp"

namespace api {
namespace {

class FieldTypesTest : public FieldTest {
 protected:
  /// The same image in another type: pixels times a factor, and something added.
  template <class T>
  static Image<T> as(const GrayImage& from, double factor, double offset) {
    Image<T> image(from.size);
    for (int y = 0; y < from.size.height; ++y)
      for (int x = 0; x < from.size.width; ++x)
        image.at(x, y) =
            static_cast<T>(offset + factor * from.pixels[std::size_t(y) * from.size.width + x]);
    return image;
  }

  /// Vectors of the pair in another type are those of bytes.
  template <class T>
  void expect_as_bytes(const Pair& pair, FieldSettings settings, double factor, double offset,
                       const MatrixView& mask = {}) {
    const auto right = match(pair.first.view(), pair.second.view(), settings, mask);
    settings.type = element_type<T>;
    const Image<T> first = as<T>(pair.first, factor, offset);
    const Image<T> second = as<T>(pair.second, factor, offset);
    const auto made = match(first.view(), second.view(), settings, mask);
    ASSERT_EQ(right.size(), made.size());
    // Deformed images of bytes are rounded more.
    const double bound = settings.deformation ? 0.05 : 2e-3;
    int differ = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i].status != made[i].status || std::abs(right[i].dx - made[i].dx) > bound ||
          std::abs(right[i].dy - made[i].dy) > bound ||
          std::abs(right[i].score - made[i].score) > bound)
        ++differ;
    }
    EXPECT_LE(differ, settings.deformation ? static_cast<int>(right.size() / 20) : 0)
        << name_of(settings.type) << " of " << right.size();
  }
  /// Random pixels around 30000 that differ by less than a step of 8 bits, (dx, dy) apart.
  template <class T>
  static Image<T> faint(int dx, int dy) {
    const Bytes all = random_image<std::uint8_t>({size.width + 40, size.height + 40}, 3);
    Image<T> image(size);
    for (int y = 0; y < size.height; ++y)
      for (int x = 0; x < size.width; ++x)
        image.at(x, y) = static_cast<T>(30000 + all.at(x + 20 - dx, y + 20 - dy) / 4);
    return image;
  }
};

TEST_P(FieldTypesTest, AsBytes) {
  const Pair pair = fields::particles(size, fields::vortices(3, 200), {}, 4);
  FieldSettings passes;
  passes.windows = {48, 32};
  passes.symmetric = true;
  passes.subpixel = FieldSubpixel::quadratic;
  FieldSettings deformed = passes;
  deformed.deformation = true;
  FieldSettings weighted = least_squares(2);
  weighted.weight_sigma = 10;
  for (const FieldSettings& settings :
       {FieldSettings(), passes, deformed, least_squares(0), least_squares(1), weighted}) {
    expect_as_bytes<std::uint16_t>(pair, settings, 257, 0);
    expect_as_bytes<float>(pair, settings, 1.0 / 1024, -0.1);
    expect_as_bytes<float>(pair, settings, 1e6, 0);
    expect_as_bytes<float>(pair, settings, 1e-6, 0);
  }
}

TEST_P(FieldTypesTest, Masked) {
  const Pair pair = fields::particles(size, fields::uniform(2.4, -1.3), {}, 5);
  Bytes mask(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) mask.at(x, y) = x > 60 && (x + 3 * y) % 7 != 0;
  for (const FieldSettings& settings : {FieldSettings(), least_squares(1)}) {
    expect_as_bytes<std::uint16_t>(pair, settings, 257, 0, mask.view());
    expect_as_bytes<float>(pair, settings, 0.01, 3, mask.view());
  }
}

TEST_P(FieldTypesTest, LessThanAStepOfBytes) {
  const auto check = [&](auto first, auto second, ElementType type) {
    FieldSettings settings;
    settings.type = type;
    settings.subpixel = FieldSubpixel::none;
    int count = 0;
    for (const FieldVector& v : match(first.view(), second.view(), settings)) {
      if (v.x < 28 || v.y < 28 || v.x > size.width - 28 || v.y > size.height - 28) continue;
      ++count;
      EXPECT_EQ(v.dx, 5);
      EXPECT_EQ(v.dy, -3);
      EXPECT_GT(v.score, 0.999999F);
      if (type == ElementType::u16) {
        EXPECT_EQ(v.score, 1);
      }
    }
    EXPECT_GT(count, 50);
  };
  check(faint<std::uint16_t>(0, 0), faint<std::uint16_t>(5, -3), ElementType::u16);
  check(faint<float>(0, 0), faint<float>(5, -3), ElementType::f32);
}

TEST_P(FieldTypesTest, LargestPixels) {
  // Sums of windows, of pixels that are 0 or 65535.
  Image<std::uint16_t> first(size), second(size);
  const Bytes all = random_image<std::uint8_t>({size.width + 8, size.height}, 6);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      first.at(x, y) = all.at(x, y) % 4 ? 65535 : 0;
      second.at(x, y) = all.at(x + 2, y) % 4 ? 65535 : 0;
    }
  FieldSettings settings;
  settings.type = ElementType::u16;
  settings.subpixel = FieldSubpixel::none;
  // The largest ones of each way to search.
  for (const auto& [window, range] : {std::pair{184, 3}, {64, 3}, {64, 16}, {40, 16}}) {
    settings.windows = {window};
    settings.search_range = range;
    int exact = 0;
    for (const FieldVector& v : match(first.view(), second.view(), settings))
      exact += v.score == 1 && v.dx == -2 && v.dy == 0;
    EXPECT_GT(exact, 0) << window << ' ' << range;
  }
}

TEST_P(FieldTypesTest, WhatIsNotFiniteCountsAsZero) {
  const Pair pair = fields::particles(size, fields::uniform(2.4, -1.3), {}, 7);
  Image<float> first = as<float>(pair.first, 1, 0), second = as<float>(pair.second, 1, 0);
  Image<float> first_zero = first, second_zero = second;
  const float wrong[] = {std::numeric_limits<float>::quiet_NaN(),
                         std::numeric_limits<float>::infinity(),
                         -std::numeric_limits<float>::infinity()};
  for (int i = 0; i < 60; ++i) {
    const int x = 96 + i * 7 % 40, y = 70 + i * 11 % 30;
    first.at(x, y) = wrong[i % 3];
    first_zero.at(x, y) = 0;
    second.at(x + 3, y) = wrong[(i + 1) % 3];
    second_zero.at(x + 3, y) = 0;
  }
  FieldSettings passes;
  passes.windows = {48, 32};
  passes.deformation = true;
  for (FieldSettings settings : {FieldSettings(), passes, least_squares(1)}) {
    settings.type = ElementType::f32;
    const auto made = match(first.view(), second.view(), settings);
    const auto right = match(first_zero.view(), second_zero.view(), settings);
    for (std::size_t i = 0; i < made.size(); ++i) {
      EXPECT_EQ(made[i].dx, right[i].dx);
      EXPECT_EQ(made[i].score, right[i].score);
      EXPECT_EQ(made[i].status, right[i].status);
    }
  }
}

TEST_P(FieldTypesTest, NothingFinite) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), 0.1F, 3e38F}) {
    Image<float> same(size);
    for (float& pixel : same.data) pixel = value;
    for (FieldSettings settings : {FieldSettings(), least_squares(1)}) {
      settings.type = ElementType::f32;
      for (const FieldVector& v : match(same.view(), same.view(), settings))
        EXPECT_EQ(v.status, FieldStatus::flat);
    }
  }
  // So large that squares of single precision overflow: found by the search, not fitted.
  const Image<float> huge =
      as<float>(fields::speckles(size, fields::uniform(0, 0), {}, 2).first, 1e36, 0);
  FieldSettings settings = least_squares(1);
  settings.type = ElementType::f32;
  match(huge.view(), huge.view(), settings);  // which expects finite vectors
}

TEST_P(FieldTypesTest, Ensemble) {
  const Pair pair = fields::particles(size, fields::uniform(2.4, -1.3), {}, 8);
  const auto of = [&](auto first, auto second, ElementType type) {
    FieldSettings settings;
    settings.type = type;
    FieldMatcher matcher = make(settings);
    const FieldPair pairs[] = {{first.view(), second.view()}, {first.view(), second.view()}};
    std::vector<FieldVector> vectors;
    const Status status = matcher.match_ensemble(pairs, vectors);
    EXPECT_TRUE(status.ok()) << status.message();
    return errors_of(vectors, pair.truth);
  };
  EXPECT_LT(of(as<std::uint16_t>(pair.first, 200, 9), as<std::uint16_t>(pair.second, 200, 9),
               ElementType::u16)
                .rms,
            0.05);
  EXPECT_LT(of(as<float>(pair.first, 1, 0.5), as<float>(pair.second, 1, 0.5), ElementType::f32).rms,
            0.05);
}

TEST_P(FieldTypesTest, OtherTypesAreRefused) {
  FieldSettings settings;
  settings.type = ElementType::i32;
  const auto refused = FieldMatcher::make(device, size, settings);
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  settings.type = ElementType::u16;
  FieldMatcher matcher = make(settings);
  EXPECT_EQ(matcher.set_reference(Bytes(size).view()).code(), Code::unsupported);
  EXPECT_TRUE(matcher.set_reference(Image<std::uint16_t>(size).view()).ok());
  EXPECT_EQ(matcher.enqueue(Image<float>(size).view()).code(), Code::unsupported);
}

ON_EACH_BACKEND(FieldTypesTest);

}  // namespace
}  // namespace api
