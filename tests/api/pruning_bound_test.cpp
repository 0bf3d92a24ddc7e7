// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Searches of which only the best places of all templates are needed (stage::Search::PruningBound):
// what matters is the same, bit for bit, and the rest is left out only where it may be.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "match/plan.hpp"
#include "support.hpp"

namespace {

using namespace xcorr;

constexpr int side = 20, angles = 14;
constexpr double step = 0.07;  // of a circle's radius of 10 pixels: less than a pixel
constexpr Size frame_size{150, 90};

/// Gray levels about a part's middle; a part is round.
double part_at(double u, double v) {
  return 120 + 45 * std::sin(0.55 * u + 0.2 * v) + 40 * std::cos(0.5 * v - 0.24 * u) + 2 * u;
}
double turned_part_at(double u, double v, double angle) {
  const double c = std::cos(angle), s = std::sin(angle);
  return part_at(c * u + s * v, c * v - s * u);
}

struct Place {
  int x, y;
  double angle;
  double contrast = 1;
};

std::vector<std::uint8_t> frame_with(const std::vector<Place>& places) {
  std::vector<std::uint8_t> frame;
  unsigned state = 1;
  for (int y = 0; y < frame_size.height; ++y)
    for (int x = 0; x < frame_size.width; ++x) {
      state = state * 1664525 + 1013904223;
      const double noise = static_cast<double>(state >> 24) / 255 - 0.5;
      double gray = 120 + 60 * std::sin(0.31 * x + 0.02 * x * y) * std::cos(0.4 * y) + 90 * noise;
      for (const Place& p : places)
        if (std::hypot(x - p.x, y - p.y) <= side / 2.0 + 1)
          gray = 120 + p.contrast * (turned_part_at(x - p.x, y - p.y, p.angle) - 120) + 16 * noise;
      frame.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(gray, 0.0, 255.0))));
    }
  return frame;
}

std::vector<BankTemplate> turned_templates() {
  std::vector<BankTemplate> bank;
  for (int i = 0; i < angles; ++i) {
    std::vector<std::uint8_t> pixels, mask;
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const double u = x - side / 2.0, v = y - side / 2.0;
        const bool counts = std::hypot(u + 0.5, v + 0.5) <= side / 2.0;
        mask.push_back(counts);
        pixels.push_back(
            static_cast<std::uint8_t>(counts ? std::lround(turned_part_at(u, v, step * i)) : 0));
      }
    const MatrixView view{pixels.data(), ElementType::u8, {side, side}, side};
    bank.push_back({view.type, view.size, host_pixels(view), std::move(mask)});
  }
  return bank;
}

class PruningBoundTest : public testing::TestWithParam<const char*> {
 protected:
  std::vector<Peak> match(const std::vector<Place>& places,
                          const stage::Search::PruningBound& pruning_bound) {
    std::vector<Peak> peaks;
    const Status status = match(places, pruning_bound, peaks);
    EXPECT_TRUE(status.ok()) << status.message();
    return peaks;
  }

  /// All peaks from `least` on are among those found, as they are.
  static void expect_same_from(double least, const std::vector<Peak>& all,
                               const std::vector<Peak>& found) {
    std::size_t i = 0;
    for (const Peak& peak : all) {
      if (peak.score < least) continue;
      while (i < found.size() && found[i].score < least) ++i;
      ASSERT_LT(i, found.size());
      EXPECT_EQ(found[i].template_index, peak.template_index);
      EXPECT_EQ(found[i].x, peak.x);
      EXPECT_EQ(found[i].y, peak.y);
      EXPECT_EQ(found[i].score, peak.score);
      ++i;
    }
  }

  MatchSettings settings_;

 private:
  Status match(const std::vector<Place>& places, const stage::Search::PruningBound& pruning_bound,
               std::vector<Peak>& peaks) {
    auto device = open_device(Backend::cuda);
    if (!device.ok()) return device.status();
    if (Status s = make_current(device.value()); !s.ok()) return s;
    auto plan = MatchPlan::make(device.value(), turned_templates(), ElementType::u8, frame_size,
                                settings_, {}, {}, Memory::host, false, pruning_bound);
    if (!plan.ok()) return plan.status();
    const auto frame = frame_with(places);
    if (Status s =
            plan.value().enqueue({frame.data(), ElementType::u8, frame_size, frame_size.width}, {});
        !s.ok())
      return s;
    if (Status s = runtime(Backend::cuda).wait({}); !s.ok()) return s;
    plan.value().collect(peaks);
    return {};
  }

  void SetUp() override {
    const auto device = open_device(Backend::cuda);
    if (!device.ok()) GTEST_SKIP() << device.status().message();
    if (std::string(GetParam()).find("wgmma") != std::string::npos &&
        device.value().compute_capability != 90)
      GTEST_SKIP() << "not on this device";
    settings_.kernel = GetParam();
    settings_.threshold = 0.3;
    settings_.max_peaks = 12;
    settings_.min_peak_distance = 9;
    settings_.subpixel = Subpixel::none;
  }
};

constexpr Place first{32, 40, 5.3 * step}, second{115, 48, 9.1 * step, 0.6};
constexpr float margin = 0.05F;

double best_near(const std::vector<Peak>& peaks, const Place& place) {
  double best = -1;
  for (const Peak& p : peaks)
    if (std::abs(p.x + side / 2.0 - place.x) < 4 && std::abs(p.y + side / 2.0 - place.y) < 4)
      best = std::max(best, p.score);
  return best;
}

TEST_P(PruningBoundTest, WhatMattersIsTheSame) {
  const std::vector<Place> places{first, second};
  const auto all = match(places, {});
  for (const int wanted : {1, 2}) {
    const auto found = match(places, {wanted, 60, margin});
    const double least = best_near(all, wanted == 1 ? first : second) - margin;
    ASSERT_GT(least, 0.75);
    expect_same_from(least, all, found);
    EXPECT_LT(found.size(), all.size()) << "nothing was left out";
  }
}

TEST_P(PruningBoundTest, FewerPlacesThanAreWanted) {
  const std::vector<Place> places{first, second};
  const auto all = match(places, {}), found = match(places, {3, 60, margin});
  EXPECT_EQ(found.size(), all.size());
  expect_same_from(-1, all, found);
}

TEST_P(PruningBoundTest, PlacesThatAreNotApart) {
  const std::vector<Place> places{first, second};
  const auto all = match(places, {}), found = match(places, {2, 120, margin});
  EXPECT_EQ(found.size(), all.size());
  expect_same_from(-1, all, found);
}

/// A list that is full may lack a place that the others' being left out rests on.
TEST_P(PruningBoundTest, FullLists) {
  settings_.max_peaks = 2;
  const std::vector<Place> places{first, second, {80, 20, 5.3 * step}, {75, 65, 5.2 * step}};
  const auto all = match(places, {}), found = match(places, {1, 60, margin});
  EXPECT_EQ(found.size(), all.size());
  expect_same_from(-1, all, found);
}

INSTANTIATE_TEST_SUITE_P(, PruningBoundTest,
                         testing::Values("tensor_match_wgmma.k2t4", "tensor_match_wgmma.k2t4g2",
                                         "tensor_match.k2t2g1"),
                         [](const auto& info) {
                           std::string name = std::string("cuda_") + info.param;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
