// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Displacement fields at places instead of a grid, of pairs whose truth is known.
#include <xcorr/field.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include "fields/neighbours.hpp"
#include "fields/pairs.hpp"
#include "support.hpp"

namespace api {
namespace {

using fields::Pair;
using Places = std::vector<FieldPlace>;

constexpr Size size{256, 192};

/// Anywhere, at least `margin` pixels from the edges.
Places random_places(int count, float margin, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> x(margin, float(size.width) - margin),
      y(margin, float(size.height) - margin);
  Places places;
  for (int i = 0; i < count; ++i) {
    const float across = x(random);
    places.push_back({across, y(random)});
  }
  return places;
}

class FieldPlacesTest : public BackendTest {
 protected:
  std::vector<FieldVector> match(const Pair& pair, const FieldSettings& settings,
                                 const Places& places = {}, const MatrixView& mask = {}) {
    auto made = FieldMatcher::make(device, size, settings, mask, places);
    EXPECT_TRUE(made.ok()) << made.status().message();
    std::vector<FieldVector> vectors;
    const Status status = made.value().match(pair.first.view(), pair.second.view(), vectors);
    EXPECT_TRUE(status.ok()) << status.message();
    const Size grid = made.value().grid();
    EXPECT_EQ(vectors.size(), std::size_t(grid.area()));
    if (!places.empty()) {
      EXPECT_EQ(grid, (Size{int(places.size()), 1}));
    }
    return vectors;
  }

  /// Root of the mean square of a component's error.
  static double error(const std::vector<FieldVector>& vectors, const Pair& pair) {
    double sum = 0;
    for (const FieldVector& v : vectors) {
      const fields::Point right = pair.truth({v.x, v.y});
      sum += std::pow(v.dx - right.x, 2) + std::pow(v.dy - right.y, 2);
    }
    return std::sqrt(sum / (2.0 * double(vectors.size())));
  }
};

ON_EACH_BACKEND(FieldPlacesTest);

TEST_P(FieldPlacesTest, VectorsAreOfTheirPlaces) {
  const Pair pair = fields::particles(size, fields::uniform(3, -2), {.noise = 0}, 1);
  FieldSettings settings;
  settings.windows = {32};
  const Places places = random_places(40, 40, 2);
  const std::vector<FieldVector> even = match(pair, settings, places);
  settings.windows = {33};
  const std::vector<FieldVector> odd = match(pair, settings, places);
  for (std::size_t i = 0; i < places.size(); ++i) {
    EXPECT_LE(std::abs(even[i].x - places[i].x), 0.5F);
    EXPECT_LE(std::abs(even[i].y - places[i].y), 0.5F);
    EXPECT_EQ(even[i].x - std::floor(even[i].x), 0.5F) << "the middle of an even number of pixels";
    EXPECT_EQ(odd[i].x, std::floor(places[i].x + 0.5F));
    EXPECT_EQ(odd[i].y, std::floor(places[i].y + 0.5F));
    EXPECT_NEAR(odd[i].dx, 3, 0.1);
    EXPECT_NEAR(odd[i].dy, -2, 0.1);
    EXPECT_EQ(odd[i].status, FieldStatus::ok);
  }
}

TEST_P(FieldPlacesTest, ThoseOfAGridGiveWhatTheGridDoes) {
  const Pair pair = fields::particles(size, fields::vortices(4, 128), {.lost = 0.05}, 3);
  FieldSettings settings;
  settings.spacing = 16;
  auto of_grid = FieldMatcher::make(device, size, settings);
  ASSERT_TRUE(of_grid.ok());
  const Size grid = of_grid.value().grid();
  const std::vector<FieldVector> expected = match(pair, settings);
  Places places;
  for (const FieldVector& v : expected) places.push_back({v.x, v.y});
  const std::vector<FieldVector> got = match(pair, settings, places);
  int replaced = 0;
  for (int i = 0; i < grid.area(); ++i) {
    const int column = i % grid.width, row = i / grid.width;
    // At the grid's border a list has other neighbours.
    if (column == 0 || row == 0 || column == grid.width - 1 || row == grid.height - 1) continue;
    replaced += got[i].status == FieldStatus::replaced;
    // It has no lines along which its vectors could continue.
    if (got[i].status == FieldStatus::replaced && expected[i].status == FieldStatus::ok) continue;
    EXPECT_EQ(got[i].dx, expected[i].dx);
    EXPECT_EQ(got[i].dy, expected[i].dy);
    EXPECT_EQ(got[i].status, expected[i].status);
  }
  EXPECT_GT(replaced, 0) << "the median test has eight neighbours to judge by";
}

TEST_P(FieldPlacesTest, PassesAndLeastSquares) {
  const Pair pair = fields::speckles(size, fields::stretch({128, 96}), {}, 4);
  FieldSettings settings;
  settings.windows = {64, 33};
  settings.later_range = 2;
  settings.subpixel = FieldSubpixel::least_squares;
  // Nearer to the edges than windows of the first pass may lie.
  const std::vector<FieldVector> vectors = match(pair, settings, random_places(60, 20, 5));
  EXPECT_LT(error(vectors, pair), 0.012);
  for (const FieldVector& v : vectors) EXPECT_EQ(v.status, FieldStatus::ok);
  settings.symmetric = true;
  for (const FieldVector& v : match(pair, settings, random_places(60, 40, 5)))
    EXPECT_EQ(v.status, FieldStatus::ok);
}

TEST_P(FieldPlacesTest, OutliersGetTheirNeighboursMedian) {
  Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 8);
  const auto noise = random_image<std::uint8_t>(size, 9);
  for (int y = 70; y < 110; ++y)
    for (int x = 100; x < 140; ++x)
      pair.second.pixels[std::size_t(y) * size.width + x] = noise.at(x, y);
  FieldSettings settings;
  settings.min_score = 0.5;
  Places places = random_places(30, 40, 10);
  std::erase_if(places, [](const FieldPlace& p) {
    return std::abs(p.x - 120) < 40 && std::abs(p.y - 90) < 40;
  });
  ASSERT_GE(places.size(), 8U);
  places.push_back({120, 90});
  const FieldVector spoilt = match(pair, settings, places).back();
  EXPECT_NE(spoilt.status, FieldStatus::ok);
  EXPECT_NEAR(spoilt.dx, 3.4, 0.1);
  EXPECT_NEAR(spoilt.dy, -1.7, 0.1);
}

TEST_P(FieldPlacesTest, FewAndEqualOnes) {
  const Pair pair = fields::particles(size, fields::uniform(3.4, -1.7), {}, 11);
  FieldSettings settings;
  settings.subpixel = FieldSubpixel::least_squares;
  settings.windows = {48, 32};
  const Places one = {{100, 80}}, line = {{60, 80}, {100, 80}, {140, 80}, {180, 80}};
  const Places equal(20, FieldPlace{100, 80});
  for (const Places& places : {one, line, equal})
    for (const FieldVector& v : match(pair, settings, places)) {
      EXPECT_NEAR(v.dx, 3.4, 0.05);
      EXPECT_NEAR(v.dy, -1.7, 0.05);
      EXPECT_EQ(v.status, FieldStatus::ok);
    }
}

TEST_P(FieldPlacesTest, Masks) {
  const Pair pair = fields::particles(size, fields::uniform(3, -2), {}, 12);
  Image<std::uint8_t> mask(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 128; x < size.width; ++x) mask.at(x, y) = 1;
  const std::vector<FieldVector> vectors = match(pair, {}, {{50, 90}, {200, 90}}, mask.view());
  EXPECT_EQ(vectors[0].status, FieldStatus::masked);
  EXPECT_EQ(vectors[1].status, FieldStatus::ok);
}

TEST_P(FieldPlacesTest, PlacesThatCannotBe) {
  const auto said = [&](const FieldPlace& place) {
    const Places places = {{100, 100}, place};
    const auto made = FieldMatcher::make(device, size, {}, {}, places);
    return made.ok() ? "" : made.status().message();
  };
  EXPECT_EQ(said({15.5F, 175.5F}), "");
  EXPECT_EQ(said({14, 100}), "the window at 14.000000, 100.000000 is not inside the image");
  EXPECT_NE(said({100, 177}), "");
  EXPECT_NE(said({std::numeric_limits<float>::quiet_NaN(), 100}), "");
  EXPECT_NE(said({100, -std::numeric_limits<float>::infinity()}), "");
  EXPECT_NE(said({1e30F, 100}), "");
  FieldSettings settings;
  settings.deformation = true;
  const auto made = FieldMatcher::make(device, size, settings, {}, Places{{100, 100}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.status().message(), "deformation takes a grid, not windows at places");
}

// ---- neighbours -----------------------------------------------------------------------------

TEST(FieldNeighbours, AreToTheNearestAndGiveThePlanesSlopes) {
  for (const bool tall : {false, true}) {
    std::mt19937 random(13);
    std::vector<InterrogationWindow> windows;
    for (int i = 0; i < 200; ++i) {
      const int a = static_cast<int>(random() % 900), b = static_cast<int>(random() % 300);
      windows.push_back(tall ? InterrogationWindow{b, a} : InterrogationWindow{a, b});
    }
    const auto distance = [&](int i, int k) {
      return std::hypot(windows[i].x - windows[k].x, windows[i].y - windows[k].y);
    };
    const auto neighbours = std::move(neighbours_between(windows).value());
    for (int i = 0; i < 200; ++i) {
      std::vector<double> nearest;
      for (int k = 0; k < 200; ++k)
        if (k != i) nearest.push_back(distance(i, k));
      std::ranges::sort(nearest);
      double by_x = 0, by_y = 0;
      for (int k = 0; k < FieldNeighbours::most; ++k) {
        const int node = neighbours[i].node[k];
        ASSERT_GE(node, 0);
        EXPECT_EQ(distance(i, node), nearest[k]);
        const double change = 0.3 * (windows[node].x - windows[i].x) -  //
                              0.7 * (windows[node].y - windows[i].y);
        by_x += neighbours[i].by_x[k] * change;
        by_y += neighbours[i].by_y[k] * change;
      }
      EXPECT_NEAR(by_x, 0.3, 1e-4);
      EXPECT_NEAR(by_y, -0.7, 1e-4);
    }
  }
}

TEST(FieldNeighbours, OfFewWindows) {
  const std::vector<InterrogationWindow> one = {{5, 5}}, line = {{10, 10}, {20, 10}, {30, 10}};
  const FieldNeighbours alone = neighbours_between(one).value()[0];
  for (const int node : alone.node) EXPECT_EQ(node, -1);
  const FieldNeighbours middle = neighbours_between(line).value()[1];
  EXPECT_EQ(middle.node[0] + middle.node[1], 2);
  EXPECT_EQ(middle.node[2], -1);
  for (const float weight : middle.by_x) EXPECT_EQ(weight, 0) << "nothing is known across";
}

/// Of equally near ones those with lower numbers, as by a list of all that is sorted.
TEST(FieldNeighbours, OfHeapsAndLinesAreThoseOfTheDefinition) {
  std::mt19937 random(17);
  for (const int across : {1, 3, 12}) {  // few places have many windows each
    std::vector<InterrogationWindow> windows;
    for (int i = 0; i < 150; ++i)
      windows.push_back({static_cast<int>(random() % across), static_cast<int>(random() % 12)});
    windows.push_back({1000, 0});
    const auto neighbours = std::move(neighbours_between(windows).value());
    const int count = static_cast<int>(windows.size());
    for (int i = 0; i < count; ++i) {
      std::vector<std::pair<int, int>> others;
      for (int k = 0; k < count; ++k) {
        const int x = windows[k].x - windows[i].x, y = windows[k].y - windows[i].y;
        if (k != i) others.push_back({x * x + y * y, k});
      }
      std::ranges::sort(others);
      for (int k = 0; k < FieldNeighbours::most; ++k)
        EXPECT_EQ(neighbours[i].node[k], others[k].second);
    }
  }
}

/// On a line, with one far off beside it: each compared with all on the line would be minutes.
TEST(FieldNeighbours, OfAnyPlacesTakeEquallyLong) {
  std::vector<InterrogationWindow> windows;
  for (int i = 0; i < 100000; ++i) windows.push_back({0, i});
  windows.push_back({200000, 0});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(neighbours_between(windows).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

}  // namespace
}  // namespace api
