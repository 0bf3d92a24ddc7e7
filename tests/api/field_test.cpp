// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How exactly displacements are found.
#include "field_test.hpp"

namespace api {
namespace {

ON_EACH_BACKEND(FieldTest);

TEST_P(FieldTest, WholePixelsAreExact) {
  FieldSettings settings;
  settings.subpixel = FieldSubpixel::none;
  for (const auto& [dx, dy] : {std::pair{3, -2}, {0, 0}, {-15, 14}}) {
    const Shifted pair(dx, dy);
    int found = 0;
    for (const FieldVector& v : match(pair.first.view(), pair.second.view(), settings)) {
      if (v.x + dx < 16 || v.y + dy < 16 || v.x + dx > size.width - 17 ||
          v.y + dy > size.height - 17)
        continue;
      EXPECT_EQ(v.dx, dx);
      EXPECT_EQ(v.dy, dy);
      EXPECT_EQ(v.score, 1);
      EXPECT_GT(v.ratio, 2);
      EXPECT_EQ(v.status, FieldStatus::ok);
      ++found;
    }
    EXPECT_GT(found, 90);
  }
}

TEST_P(FieldTest, GridIsCentred) {
  FieldSettings settings;
  settings.windows = {16};
  settings.spacing = 30;
  settings.subpixel = FieldSubpixel::none;
  FieldMatcher matcher = make(settings, {100, 47});
  EXPECT_EQ(matcher.grid(), (Size{3, 2}));
  const Bytes image = random_image<std::uint8_t>({100, 47}, 1);
  std::vector<FieldVector> v;
  ASSERT_TRUE(matcher.match(image.view(), image.view(), v).ok());
  EXPECT_EQ(v[0].x, 12 + 7.5F);
  EXPECT_EQ(v[0].y, 0 + 7.5F);
  EXPECT_EQ(v[5].x, 72 + 7.5F);
  EXPECT_EQ(v[5].y, 30 + 7.5F);
  for (const FieldVector& one : v) EXPECT_EQ(one.dx, 0) << "at the image's edge, too";
}

TEST_P(FieldTest, PartsOfAPixel) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 1);
  FieldSettings settings;
  EXPECT_LT(errors(pair, settings).rms, 0.03);
  settings.subpixel = FieldSubpixel::quadratic;
  EXPECT_LT(errors(pair, settings).rms, 0.05);
  settings.subpixel = FieldSubpixel::none;
  EXPECT_GT(errors(pair, settings).rms, 0.3);
}

TEST_P(FieldTest, LeastSquaresOfParticles) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 2);
  const Errors moved = errors(pair, least_squares(0)), stretched = errors(pair, least_squares(1));
  EXPECT_LT(moved.rms, 0.013);
  EXPECT_LT(stretched.rms, 0.014);
  EXPECT_EQ(stretched.not_ok, 0);
}

/// What they say of their own errors: also of smoothed images, whose noise hangs together.
TEST_P(FieldTest, SigmaIsHowFarOffTheyAre) {
  FieldSettings settings = least_squares(1);
  for (const Pair& pair : {fields::particles(size, fields::uniform(3.4, -1.7), {}, 2),
                           fields::speckles(size, fields::uniform(3.4, -1.7), {}, 2)})
    for (const double prefilter_sigma : {0.0, 0.5, 0.7}) {
      settings.prefilter_sigma = prefilter_sigma;
      const Errors found = errors(pair, settings);
      EXPECT_GT(found.sigma, 0.8 * found.rms) << prefilter_sigma;
      EXPECT_LT(found.sigma, 2 * found.rms) << prefilter_sigma;
    }
}

TEST_P(FieldTest, NoPartOfAPixelIsPreferred) {
  for (const double part : {0.0, 0.25, 0.5, 0.75}) {
    const Pair pair = fields::particles(size, fields::uniform(2 + part, 1 - part), {}, 3);
    const Errors e = errors(pair, least_squares(0));
    EXPECT_NEAR(e.mean_x, 0, 0.005) << part;
    EXPECT_NEAR(e.mean_y, 0, 0.005) << part;
  }
}

TEST_P(FieldTest, Stretched) {
  const Pair pair = fields::speckles(size, fields::stretch({128, 96}), {}, 4);
  const std::vector<FieldVector> vectors = match(pair, least_squares(1));
  EXPECT_LT(errors_of(vectors, pair.truth).rms, 0.011);
  EXPECT_GT(errors(pair, least_squares(0)).rms, 0.012) << "what order 1 is for";
  FieldSettings cubic = least_squares(1);
  cubic.spline_degree = 3;
  EXPECT_LT(errors(pair, cubic).rms, 0.012);
  FieldVector mean;
  for (const FieldVector& v : vectors) {
    const float share = 1 / static_cast<float>(vectors.size());
    mean.dx_by_x += share * v.dx_by_x;
    mean.dx_by_y += share * v.dx_by_y;
    mean.dy_by_x += share * v.dy_by_x;
    mean.dy_by_y += share * v.dy_by_y;
  }
  EXPECT_NEAR(mean.dx_by_x, 0.01, 5e-4);
  EXPECT_NEAR(mean.dx_by_y, 0.004, 5e-4);
  EXPECT_NEAR(mean.dy_by_x, 0.004, 5e-4);
  EXPECT_NEAR(mean.dy_by_y, -0.003, 5e-4);
}

TEST_P(FieldTest, Vortices) {
  const Pair pair = fields::particles(size, fields::vortices(4, 128), {.lost = 0.05}, 5);
  FieldSettings settings = least_squares(1);
  const double unweighted = errors(pair, settings).rms;
  settings.weight_sigma = 9;
  const Errors weighted = errors(pair, settings);
  EXPECT_LT(weighted.rms, 0.11);
  EXPECT_LT(weighted.rms, unweighted);
  EXPECT_EQ(weighted.not_ok, 0);
  settings.windows = {64, 33};
  EXPECT_LT(errors(pair, settings).rms, 0.11);
}

/// Where displacements change by two pixels within a window.
TEST_P(FieldTest, BentWindows) {
  const fields::Motion motion = fields::vortices(6, 128);
  const Pair pair = fields::particles(size, motion, {.lost = 0.05}, 5);
  FieldSettings settings = least_squares(2);
  settings.weight_sigma = 10;
  EXPECT_LT(errors(pair, settings).rms, 0.06);
  settings.symmetric = true;
  EXPECT_LT(errors_of(match(pair, settings), motion).rms, 0.06);
  settings.order = 1;
  EXPECT_GT(errors_of(match(pair, settings), motion).rms, 0.1) << "what order 2 is for";
}

TEST_P(FieldTest, LaterPassesBeginAtWhatWasFound) {
  const Pair pair = fields::particles(size, fields::uniform(21.3, -18.6), {}, 6);
  FieldSettings settings;
  settings.windows = {64, 24};
  settings.spacing = 12;
  settings.search_range = 24;
  settings.later_range = 2;
  EXPECT_LT(errors_of(match(pair, settings), pair.truth, 48).rms, 0.05);
  settings.windows = {24};
  settings.search_range = 2;
  EXPECT_GT(errors_of(match(pair, settings), pair.truth, 48).rms, 5);
}

TEST_P(FieldTest, TheMiddleOfTheWay) {
  // Displacements grow by a pixel in 16, so half the way is worth a third of a pixel.
  const fields::Motion motion = [](fields::Point p) { return fields::Point{p.x / 16 - 4, 2}; };
  const Pair pair = fields::particles(size, motion, {}, 7);
  FieldSettings settings = least_squares(1);
  EXPECT_LT(errors_of(match(pair, settings), pair.truth).rms, 0.05);
  EXPECT_GT(errors_of(match(pair, settings), motion).rms, 0.1);
  settings.symmetric = true;
  EXPECT_LT(errors_of(match(pair, settings), motion).rms, 0.05);
  settings.windows = {64, 33};
  EXPECT_LT(errors_of(match(pair, settings), motion).rms, 0.05);
}

TEST_P(FieldTest, DeformedImagesComeCloser) {
  const Pair pair = fields::particles(size, fields::vortices(4, 256), {.lost = 0.05}, 3);
  FieldSettings settings;
  settings.windows = {64, 32, 32};
  const double moved = errors(pair, settings).rms;
  settings.deformation = true;
  const Errors deformed = errors(pair, settings);
  EXPECT_LT(deformed.rms, 0.06);
  EXPECT_LT(deformed.rms, 0.5 * moved);
  // More passes do not add up noise.
  settings.windows = {64, 32, 32, 32, 32, 32};
  EXPECT_LT(errors(pair, settings).rms, 1.1 * deformed.rms);
  settings.spline_degree = 3;
  EXPECT_LT(errors(pair, settings).rms, 0.06);
}

TEST_P(FieldTest, SmoothedImagesPreferPartsOfAPixelLess) {
  FieldSettings settings = least_squares(0);
  settings.spline_degree = 3;
  double rough = 0, smooth = 0;
  for (const auto& [dx, dy, seed] : {std::tuple{3.3, -1.7, 3u}, {3.5, -1.2, 5u}, {3.7, -1.8, 7u}}) {
    const Pair pair = fields::particles(size, fields::uniform(dx, dy), {}, seed);
    settings.prefilter_sigma = 0;
    rough = std::max(rough, errors(pair, settings).greatest_mean());
    settings.prefilter_sigma = 0.7;
    smooth = std::max(smooth, errors(pair, settings).greatest_mean());
  }
  EXPECT_GT(rough, 0.007);
  EXPECT_LT(smooth, 0.7 * rough);
}

TEST_P(FieldTest, DeformedImagesPreferNoPartOfAPixel) {
  FieldSettings settings;
  settings.windows = {32, 32};
  double moved = 0, deformed = 0;
  for (const auto& [dx, dy, seed] : {std::tuple{3.3, -1.7, 3u}, {3.5, -1.1, 5u}, {3.7, -1.5, 7u}}) {
    const Pair pair = fields::speckles(size, fields::uniform(dx, dy), {}, seed);
    settings.deformation = false;
    moved = std::max(moved, errors(pair, settings).greatest_mean());
    settings.deformation = true;
    deformed = std::max(deformed, errors(pair, settings).greatest_mean());
  }
  EXPECT_GT(moved, 0.02);
  EXPECT_LT(deformed, 0.007);
}

TEST_P(FieldTest, DeformedImagesUnderAMask) {
  Pair pair = fields::particles(size, fields::vortices(3, 256), {}, 9);
  const Bytes noise = random_image<std::uint8_t>(size, 4);
  Bytes mask(size);
  const auto counts = [](float x, float y) { return std::hypot(x - 120, y - 90) > 20; };
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      mask.at(x, y) = counts(static_cast<float>(x), static_cast<float>(y));
      // Dirt that stays where it is.
      for (GrayImage* image : {&pair.first, &pair.second})
        if (!mask.at(x, y)) image->pixels[std::size_t(y) * size.width + x] = noise.at(x, y);
    }
  FieldSettings settings;
  settings.windows = {32, 32, 32};
  settings.deformation = true;
  const auto vectors = match(pair.first.view(), pair.second.view(), settings, mask.view());
  int masked = 0;
  for (const FieldVector& v : vectors) masked += v.status == FieldStatus::masked;
  EXPECT_GT(masked, 2);
  EXPECT_LT(masked, 20);
  std::vector<FieldVector> counted;
  for (const FieldVector& v : vectors)
    if (v.status != FieldStatus::masked) counted.push_back(v);
  EXPECT_LT(errors_of(counted, pair.truth).rms, 0.08);
  EXPECT_GT(errors(pair, settings).rms, 0.5) << "what the mask is for";
}

TEST_P(FieldTest, WhatLeavesADeformedImageIsNotFound) {
  const Pair pair = fields::particles(size, fields::uniform(24, 0), {}, 3);
  FieldSettings settings;
  settings.windows = {32, 16, 16};
  settings.spacing = 8;
  settings.search_range = 32;
  settings.deformation = true;
  int gone = 0;
  for (const FieldVector& v : match(pair, settings)) {
    if (v.x + 24 < size.width) continue;
    ++gone;
    EXPECT_NE(v.status, FieldStatus::ok) << v.x << ' ' << v.y;
  }
  EXPECT_GT(gone, 20);
}

TEST_P(FieldTest, DeformedImagesShowTheMiddleOfTheWay) {
  const fields::Motion motion = [](fields::Point p) { return fields::Point{p.x / 16 - 4, 2}; };
  const Pair pair = fields::particles(size, motion, {}, 7);
  FieldSettings settings;
  settings.windows = {64, 32, 32};
  settings.deformation = true;
  EXPECT_LT(errors(pair, settings).rms, 0.06);
  EXPECT_GT(errors_of(match(pair, settings), motion).rms, 0.1);
  settings.symmetric = true;
  EXPECT_LT(errors_of(match(pair, settings), motion).rms, 0.06);
}

/// Few particles, small windows, much noise: what a single pair does not tell.
std::vector<Pair> weak_pairs(const fields::Motion& motion, unsigned count) {
  std::vector<Pair> pairs;
  for (unsigned i = 0; i < count; ++i)
    pairs.push_back(
        fields::particles(size, motion, {.lost = 0.3, .per_pixel = 0.01, .noise = 25}, 100 + i));
  return pairs;
}

TEST_P(FieldTest, Ensembles) {
  const std::vector<Pair> pairs = weak_pairs(fields::uniform(3.4, -1.7), 16);
  std::vector<FieldPair> views;
  for (const Pair& pair : pairs) views.push_back({pair.first.view(), pair.second.view()});
  FieldSettings settings;
  settings.windows = {16};
  settings.search_range = 8;
  settings.median_limit = 0;
  std::vector<FieldVector> vectors;
  for (const bool deforms : {false, true}) {
    settings.deformation = deforms;
    if (deforms) settings.windows = {32, 16, 16};
    FieldMatcher matcher = make(settings);
    ASSERT_TRUE(matcher.match_ensemble(std::span(views).first(1), vectors).ok());
    if (!deforms) {
      EXPECT_GT(errors_of(vectors, pairs[0].truth).rms, 1);
    }
    const Status status = matcher.match_ensemble(views, vectors);
    ASSERT_TRUE(status.ok()) << status.message();
    for (const FieldVector& v : vectors) expect_finite(v);
    EXPECT_LT(errors_of(vectors, pairs[0].truth).rms, 0.15);
    EXPECT_EQ(errors_of(vectors, pairs[0].truth).not_ok, 0);
  }
}

TEST_P(FieldTest, AnEnsembleOfOnePairIsThatPair) {
  const Pair pair = fields::particles(size, fields::vortices(3, 256), {}, 2);
  FieldSettings settings;
  settings.windows = {32, 24};
  settings.deformation = true;
  settings.smoothing = 0.7;
  const auto alone = match(pair, settings);
  FieldMatcher matcher = make(settings);
  std::vector<FieldVector> vectors;
  const FieldPair one{pair.first.view(), pair.second.view()}, twice[] = {one, one};
  ASSERT_TRUE(matcher.match_ensemble({&one, 1}, vectors).ok());
  ASSERT_EQ(vectors.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(vectors[i].dx, alone[i].dx);
    EXPECT_EQ(vectors[i].score, alone[i].score);
  }
  ASSERT_TRUE(matcher.match_ensemble(twice, vectors).ok());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(vectors[i].dx, alone[i].dx, 1e-3);
  // Then pairs by themselves again.
  EXPECT_FALSE(matcher.enqueue(pair.second.view()).ok()) << "there is no reference";
  ASSERT_TRUE(matcher.match(pair.first.view(), pair.second.view(), vectors).ok());
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_EQ(vectors[i].dx, alone[i].dx);
}

TEST_P(FieldTest, EnsemblesThatCannotBe) {
  const Pair pair = fields::particles(size, fields::uniform(1, 1), {}, 2);
  const Bytes small({64, 64});
  const FieldPair right{pair.first.view(), pair.second.view()};
  std::vector<FieldVector> vectors;
  const auto said = [&](const FieldSettings& settings, std::initializer_list<FieldPair> pairs) {
    return make(settings).match_ensemble(pairs, vectors).message();
  };
  EXPECT_EQ(said({}, {}), "an ensemble has at least one pair");
  EXPECT_EQ(said(least_squares(1), {right}),
            "least squares fit single pairs; an ensemble takes another sub-pixel method");
  EXPECT_EQ(said({}, {right, {small.view(), small.view()}}),
            "the reference is of 64x64, but was prepared for 256x192");
}

}  // namespace
}  // namespace api
