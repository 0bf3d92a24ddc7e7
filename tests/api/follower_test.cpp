// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets in drawn frames, followed by what the library has for it: the loop that is written down
// in follower.hpp. Which peak is which target is tested with made-up peaks in tests/tracking.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include <xcorr/follower.hpp>
#include <xcorr/window_matcher.hpp>

#include "support.hpp"

namespace api {
namespace {

using Gray = Image<std::uint8_t>;

constexpr Size frame_size{240, 180};
constexpr int side = 32;  // of the target

/// Random bytes, smoothed: neither noise, of which filters see nothing, nor flat.
Gray texture(Size size, unsigned seed) {
  const Gray bytes = random_image<std::uint8_t>({size.width + 8, size.height + 8}, seed);
  Gray smooth(size);
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      int sum = 0;
      for (int j = 0; j < 5; ++j)
        for (int i = 0; i < 5; ++i) sum += bytes.at(x + i, y + j);
      smooth.at(x, y) = static_cast<std::uint8_t>(std::clamp(128 + (sum - 25 * 128) / 8, 0, 255));
    }
  return smooth;
}

struct Followed : testing::TestWithParam<FollowBy> {
  void SetUp() override {
    settings.enabled = true;
    settings.by = GetParam();
    settings.search_margin = 20;
    match.threshold = 0.6;
    const MatrixView bank[] = {target.view()};
    ASSERT_TRUE(matcher.set_templates(bank).ok());
    ASSERT_TRUE(windows.set_templates(bank).ok());
    ASSERT_TRUE(matcher.prepare(ElementType::u8, frame_size, search_for_tracks(match)).ok());
    ASSERT_TRUE(windows.prepare(ElementType::u8, frame_size, search_for_tracks(match)).ok());
    const std::optional<std::size_t> new_one[] = {std::nullopt};
    follower.replace_templates(new_one);
    follower.configure(settings, match, {0, 0, frame_size.width, frame_size.height}, {0});
  }

  /// The target at a place, or not at all, behind noise of two gray levels.
  Gray frame(std::optional<Rect> at) {
    Gray made = background;
    if (at)
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) made.at(at->x + x, at->y + y) = target.at(x, y);
    std::normal_distribution<double> noise(0, 2);
    for (std::uint8_t& pixel : made.data)
      pixel = static_cast<std::uint8_t>(std::clamp(std::lround(pixel + noise(random)), 0L, 255L));
    return made;
  }

  std::vector<SearchWindow> expected() const {
    std::vector<SearchWindow> found;
    for (const TemplatePlace& place : follower.expectations(number)) {
      const auto within = [](double from, int length) {
        return std::clamp(static_cast<int>(from), 0, length - side - 40);
      };
      found.push_back({place.template_index,
                       {within(place.x - 20, frame_size.width),
                        within(place.y - 20, frame_size.height), side + 40, side + 40}});
    }
    return found;
  }

  /// The only target after the next frame.
  void see(std::optional<Rect> at) {
    const Gray image = frame(at);
    ++number;
    std::vector<Peak> peaks;
    if (follower.whole_frame_due()) {
      ASSERT_TRUE(matcher.enqueue(image.view()).ok());
      ASSERT_TRUE(matcher.collect(peaks).ok());
    }
    std::vector<std::vector<Peak>> of_windows;
    ASSERT_TRUE(windows.enqueue(image.view(), expected()).ok());
    ASSERT_TRUE(windows.collect(of_windows).ok());
    for (const auto& more : of_windows) peaks.insert(peaks.end(), more.begin(), more.end());
    const std::vector<TargetBox> places = follower.places_for_filters(number, peaks);
    std::vector<FilterDetection> filter_detections;
    ASSERT_TRUE(filters.locate(image.view(), places, filter_detections).ok());
    follower.update(number, peaks, places, filter_detections);
    ASSERT_TRUE(filters.train(image.view(), follower.training_samples()).ok());
    filters.keep_only(follower.ids());
    for (const TargetEvent& event : follower.take_events()) events.push_back(event.event);
  }
  void expect_at(int x, int y) const {
    const std::vector<xcorr::Target> targets = follower.targets();
    ASSERT_EQ(targets.size(), 1) << number;
    EXPECT_FALSE(targets[0].lost) << number;
    EXPECT_EQ(targets[0].id, 1);
    EXPECT_NEAR(targets[0].peak.pose.center_x, x + 0.5 * (side - 1), 2) << number;
    EXPECT_NEAR(targets[0].peak.pose.center_y, y + 0.5 * (side - 1), 2) << number;
  }

  std::mt19937 random{1};
  const Gray background = texture(frame_size, 5), target = texture({side, side}, 6);
  TrackSettings settings;
  MatchSettings match;
  Matcher matcher = std::move(Matcher::create(Device{}).value());
  WindowMatcher windows = std::move(WindowMatcher::create(Device{}).value());
  Tracker filters = std::move(Tracker::create(Device{}).value());
  Follower follower;
  std::uint64_t number = 0;
  std::vector<TrackEvent> events;
};

TEST_P(Followed, MovesIsHiddenAndComesBack) {
  for (int i = 0; i < 30; ++i) {
    ASSERT_NO_FATAL_FAILURE(see(Rect{30 + 3 * i, 40 + i, side, side}));
    expect_at(30 + 3 * i, 40 + i);
  }
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(see(std::nullopt));
  EXPECT_EQ(follower.targets().at(0).state, TrackState::lost);
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(see(Rect{100, 120, side, side}));
  expect_at(100, 120);
  EXPECT_EQ(events, (std::vector{TrackEvent::entered, TrackEvent::lost, TrackEvent::found}));
}

/// The camera stands still and the target does, for long; then it is a little beside where it was.
TEST_P(Followed, OneThatStoodStillComesBackBeside) {
  for (int i = 0; i < 60; ++i) ASSERT_NO_FATAL_FAILURE(see(Rect{80, 60, side, side}));
  for (int i = 0; i < 20; ++i) ASSERT_NO_FATAL_FAILURE(see(std::nullopt));
  for (int i = 0; i < 10; ++i) ASSERT_NO_FATAL_FAILURE(see(Rect{86, 60, side, side}));
  expect_at(86, 60);
}

INSTANTIATE_TEST_SUITE_P(By, Followed, testing::Values(FollowBy::template_, FollowBy::filter));

}  // namespace
}  // namespace api
