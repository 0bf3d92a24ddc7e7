// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What a frame costs is known, and refused, before it is searched.
#include <chrono>
#include <limits>
#include <string>

#include <xcorr/field.hpp>
#include <xcorr/tracker.hpp>

#include "support.hpp"

namespace api {
namespace {

class BudgetTest : public BackendTest {
 protected:
  /// Prepares for frames of that size. Details of eight pixels can be halved.
  Status prepare(Size templ, const MatchSettings& settings, Size frame = {1920, 1080},
                 std::span<const MatrixView> masks = {}) {
    const auto squares = random_image<std::uint8_t>({templ.width / 8 + 1, templ.height / 8 + 1}, 1);
    Image<std::uint8_t> image(templ);
    for (int y = 0; y < templ.height; ++y)
      for (int x = 0; x < templ.width; ++x) image.at(x, y) = squares.at(x / 8, y / 8);
    const MatrixView view = image.view();
    auto matcher = Matcher::create(device);
    if (Status s = matcher.value().set_templates({&view, 1}, masks); !s.ok()) return s;
    Status status = matcher.value().prepare(ElementType::u8, frame, settings);
    cost = matcher.value().cost();
    return status;
  }

  Cost cost;
};

TEST_P(BudgetTest, OfMemory) {
  MatchSettings settings;
  ASSERT_TRUE(prepare({100, 80}, settings).ok());
  const std::size_t bytes = cost.bytes;
  ASSERT_GT(bytes, 100U * 80U);
  settings.budget.max_memory = 2 * bytes;
  EXPECT_TRUE(prepare({100, 80}, settings).ok());
  settings.budget.max_memory = bytes / 2;
  const Status refused = prepare({100, 80}, settings);
  EXPECT_EQ(refused.code(), Code::over_budget);
  EXPECT_NE(refused.message().find("of max-memory"), std::string::npos) << refused.message();
  EXPECT_EQ(cost.bytes, 0U);
  settings.budget.max_memory = 0;
  EXPECT_TRUE(prepare({100, 80}, settings).ok());
}

TEST_P(BudgetTest, OfWork) {
  MatchSettings settings;
  ASSERT_TRUE(prepare({100, 80}, settings).ok());
  const double seconds = cost.seconds;
  ASSERT_GT(seconds, 0);
  settings.budget.max_work = 2 * seconds;
  EXPECT_TRUE(prepare({100, 80}, settings).ok());
  settings.budget.max_work = seconds / 2;
  const Status refused = prepare({100, 80}, settings);
  EXPECT_EQ(refused.code(), Code::over_budget);
  EXPECT_NE(refused.message().find("s of max-work"), std::string::npos) << refused.message();
  settings.budget.max_work = 0;
  EXPECT_TRUE(prepare({100, 80}, settings).ok());
  ASSERT_TRUE(prepare({100, 80}, settings, {480, 270}).ok());
  EXPECT_LT(cost.seconds, seconds);
}

/// How often a pixel counts makes no more products, nor do many runs of pixels more sums.
TEST_P(BudgetTest, OfMasks) {
  const Size size{100, 80};
  MatchSettings settings;
  ASSERT_TRUE(prepare(size, settings).ok());
  const double plain = cost.seconds;
  const auto weights = random_image<std::uint8_t>(size, 3);
  const MatrixView mask[] = {weights.view()};
  for (const bool weighted : {false, true}) {
    settings.weights = weighted;
    ASSERT_TRUE(prepare(size, settings, {1920, 1080}, mask).ok());
    EXPECT_GT(cost.seconds, plain);
    EXPECT_LT(cost.seconds, 8 * plain);
  }
}

/// A thin template's images are as large as it is long, turned.
TEST_P(BudgetTest, ThinTemplatesAtAnyAngle) {
  MatchSettings settings;
  settings.poses.angle_extent = 360;
  const auto begin = std::chrono::steady_clock::now();
  const Status refused = prepare({1000, 4}, settings);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(refused.code(), Code::over_budget);
  EXPECT_NE(refused.message().find("poses of up to 10"), std::string::npos) << refused.message();
}

TEST_P(BudgetTest, PosesAtFullSize) {
  MatchSettings settings;
  settings.poses.angle_extent = 360;
  ASSERT_TRUE(prepare({64, 64}, settings, {320, 240}).ok());
  settings.budget.max_work = cost.seconds * 3;
  settings.poses.pyramid_levels = 0;
  EXPECT_EQ(prepare({64, 64}, settings, {320, 240}).code(), Code::over_budget);
}

TEST_P(BudgetTest, OfFields) {
  FieldSettings settings;
  settings.spacing = 8;
  const auto make = [&] { return FieldMatcher::make(device, {320, 240}, settings); };
  auto made = make();
  ASSERT_TRUE(made.ok());
  const Cost few = made.value().cost();
  EXPECT_GT(few.seconds, 0);
  EXPECT_GT(few.bytes, 320U * 240U);
  settings.spacing = 1;
  settings.budget = {0, 0};
  settings.budget.max_memory = make().value().cost().bytes - 1;
  EXPECT_EQ(make().status().code(), Code::over_budget);
  settings.budget = {few.seconds, 0};
  const Status refused = make().status();
  EXPECT_EQ(refused.code(), Code::over_budget);
  EXPECT_NE(refused.message().find("windows of 32x32"), std::string::npos) << refused.message();
  settings.budget = {0, 0};
  EXPECT_TRUE(make().ok());
}

TEST_P(BudgetTest, OfFilters) {
  const auto made = Tracker::create(device);
  ASSERT_TRUE(made.ok());
  const Tracker& filters = made.value();
  EXPECT_EQ(filters.most_targets({-1, 0}), std::numeric_limits<int>::max());
  const double seconds = filters.seconds(1);
  EXPECT_EQ(filters.most_targets({10.5 * seconds, 0}), 10);
  EXPECT_EQ(filters.most_targets({0.5 * seconds, 0}), 0);
  const int in_memory = filters.most_targets({-1, 150'000'000});
  EXPECT_GE(in_memory, 50);  // of two megabytes or so each
  EXPECT_LE(in_memory, 150);
  EXPECT_EQ(filters.most_targets({in_memory * seconds, 15'000'000}), in_memory / 10);
}

ON_EACH_BACKEND(BudgetTest);

}  // namespace
}  // namespace api
