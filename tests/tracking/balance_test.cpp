// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that enter, leave and end add up, whatever happens and whatever is set: walkers that
// come, hide and go, among peaks that are nothing.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include <xcorr/follower.hpp>
#include "event_ledger.hpp"

namespace xcorr::follow {
namespace {

constexpr int width = 640, height = 480;

class BalanceTest : public testing::TestWithParam<FollowBy> {
 protected:
  struct Walker {
    std::uint32_t index;
    double x, y, vx, vy;
    int hidden = 0;
  };

  int any(int low, int high) { return std::uniform_int_distribution(low, high)(lot_); }

  void walk() {
    if (any(0, 9) == 0 && walkers_.size() < 12) {
      const bool from_left = any(0, 1) == 0;
      walkers_.push_back({static_cast<std::uint32_t>(any(0, 2)), from_left ? 0.0 : width - 20.0,
                          1.0 * any(0, height - 10), from_left ? 6.0 : -6.0, 1.0 * any(-3, 3)});
    }
    for (Walker& walker : walkers_) {
      walker.x += walker.vx;
      walker.y += walker.vy;
      if (walker.hidden > 0) --walker.hidden;
      if (any(0, 39) == 0) walker.hidden = any(1, 30);
    }
    std::erase_if(walkers_, [](const Walker& walker) { return !is_in(walker.x, walker.y); });
  }
  static bool is_in(double x, double y) {
    return x >= 0 && y >= 0 && x + 20 <= width && y + 10 <= height;
  }

  std::vector<Peak> peaks() {
    std::vector<Peak> peaks;
    for (const Walker& walker : walkers_)
      if (walker.hidden == 0) peaks.push_back({walker.index, walker.x, walker.y, 20, 10, 0.9, 0.9});
    for (std::uint32_t i = 0; i < 3; ++i)
      peaks.push_back({i, 1.0 * any(0, width - 20), 1.0 * any(0, height - 10), 20, 10,
                       0.01 * any(30, 80), 0.01 * any(30, 80)});
    return peaks;
  }
  /// What filters see of the walkers.
  std::vector<FilterDetection> filter_detections(const std::vector<TargetBox>& places) {
    std::vector<FilterDetection> filter_detections;
    for (const auto& [id, box, angle, by_color] : places) {
      filter_detections.push_back({box, 0, 0});
      for (const Walker& walker : walkers_)
        if (walker.hidden == 0 && std::hypot(walker.x - box.x, walker.y - box.y) < 15)
          filter_detections.back() = {{walker.x, walker.y, 20, 10}, 0.6, 1.0 * any(14, 24)};
    }
    return filter_detections;
  }

  void set_something() {
    switch (any(0, 6)) {
      case 0:
        match_.max_peaks = any(1, 4);
        break;
      case 1:
        settings_.by = any(0, 1) == 0 ? FollowBy::filter : FollowBy::template_;
        break;
      case 2:
        settings_.enabled = !settings_.enabled;
        break;
      case 3:
        settings_.min_frames_for_lost = any(1, 5);
        settings_.forget_after = any(0, 40);
        break;
      case 4:
        return follower_.interrupt();
      case 5:
        return follower_.end();
      default:
        std::vector<std::optional<std::size_t>> origins(3);
        for (std::size_t i = 0; i < 3; ++i)
          if (any(0, 1) == 0) origins[i] = i;
        follower_.replace_templates(origins);
    }
    follower_.configure(settings_, match_, {0, 0, width, height}, {0, 0, 0});
  }

  std::mt19937 lot_{1};
  std::vector<Walker> walkers_;
  TrackSettings settings_;
  MatchSettings match_;
  Follower follower_;
  EventLedger ledger_;
  std::uint64_t frame_ = 0;
};

TEST_P(BalanceTest, AllThatEnteredAreThereOrHaveLeftOrWereDropped) {
  settings_.by = GetParam();
  settings_.enabled = true;
  match_.max_peaks = 4;
  follower_.replace_templates(std::vector<std::optional<std::size_t>>(3));
  follower_.configure(settings_, match_, {0, 0, width, height}, {0, 0, 0});
  for (int i = 0; i < 5000; ++i) {
    if (any(0, 29) == 0) set_something();
    walk();
    ++frame_;
    if (settings_.enabled) {
      const auto seen = peaks();
      std::vector<TargetBox> places;
      if (settings_.by_filter()) places = follower_.places_for_filters(frame_, seen);
      follower_.update(frame_, seen, places, filter_detections(places));
    }
    ASSERT_TRUE(ledger_.take(follower_.take_events())) << i;
    ASSERT_TRUE(ledger_.agrees_with(follower_.targets())) << i;
  }
  for (int i = 0; i < track_events; ++i)
    EXPECT_GT(ledger_.count(static_cast<TrackEvent>(i)), 10) << name_of(static_cast<TrackEvent>(i));
}

INSTANTIATE_TEST_SUITE_P(Trackers, BalanceTest,
                         testing::Values(FollowBy::template_, FollowBy::filter));

}  // namespace
}  // namespace xcorr::follow
