// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of all templates on synthetic peaks: when whole frames are searched and where else,
// in which order targets are reported, and what happens to them when the templates change.
#include <xcorr/follower.hpp>

#include <functional>

#include <gtest/gtest.h>

namespace xcorr::follow {
namespace {

using Origins = std::vector<std::optional<std::size_t>>;

Peak peak(std::uint32_t index, double x, double y, double similarity = 0.9) {
  return {index, x, y, 20, 10, similarity, similarity};
}

class FollowerTest : public testing::Test {
 protected:
  void start(std::size_t templates, int max_peaks = 1) {
    match_.max_peaks = max_peaks;
    settings_.enabled = true;
    follower_.replace_templates(Origins(templates));
    configure();
  }

  void configure() {
    follower_.configure(settings_, match_, {0, 0, 2000, 1000}, {0.25, 0.5, 0.75});
  }

  /// The next frame. Returns whether all of it was searched.
  bool see(std::vector<Peak> peaks) {
    const bool whole = follower_.whole_frame_due();
    follower_.update(++frame_, std::move(peaks));
    return whole;
  }

  TrackSettings settings_;
  MatchSettings match_;
  Follower follower_;
  std::uint64_t frame_ = 0;
};

TEST_F(FollowerTest, WholeFramesOnlyUntilAllAreFollowed) {
  start(2);
  EXPECT_TRUE(follower_.expectations(1).empty());
  EXPECT_TRUE(see({peak(0, 10, 10), peak(1, 50, 50)}));
  for (int i = 1; i < 40; ++i) EXPECT_FALSE(see({peak(0, 10 + 2 * i, 10), peak(1, 50, 50)}));
  const auto expected = follower_.expectations(frame_ + 1);
  ASSERT_EQ(expected.size(), 2);
  EXPECT_EQ(expected[0].template_index, 0);
  EXPECT_NEAR(expected[0].x, 10 + 2 * 40, 1e-6);
  EXPECT_EQ(expected[1].template_index, 1);
}

/// Its bounds become wider and narrower, which moves their corner by more than is searched.
TEST_F(FollowerTest, WhatTurnsIsFollowedByItsMiddle) {
  settings_.search_margin = 4;
  start(1);
  for (int i = 0; i < 12; ++i) {
    const int width = i % 2 ? 20 : 60, height = 80 - width;
    const double x = 300 + 2 * i - 0.5 * width, y = 200 - 0.5 * height;
    see({{0, x, y, width, height, 0.9, 0.9}});
    ASSERT_EQ(follower_.targets().size(), 1);
    EXPECT_FALSE(follower_.targets()[0].lost) << i;
    EXPECT_EQ(follower_.targets()[0].id, 1);
  }
  const auto expected = follower_.expectations(frame_ + 1);
  ASSERT_EQ(expected.size(), 1);
  EXPECT_NEAR(expected[0].x + 0.5 * expected[0].seen.width, 300 + 2 * 12, 1e-3);
  EXPECT_EQ(expected[0].seen.width, 20);
  EXPECT_EQ(expected[0].frames, 1);
}

TEST_F(FollowerTest, WholeFramesNowAndThenWhileOneIsLost) {
  settings_.redetect_interval = 7;
  settings_.min_frames_for_lost = 3;
  start(1);
  for (int i = 0; i < 20; ++i) see({peak(0, 10, 10)});
  for (int i = 1; i <= 30; ++i)
    // After three misses it is lost, from the next frame on.
    EXPECT_EQ(see({}), i >= 4 && (i - 4) % 7 == 0) << i;
  EXPECT_EQ(follower_.expectations(frame_).size(), 1);  // it may return where it was lost
  for (int i = 0; i < 3; ++i) see({peak(0, 500, 300)});
  EXPECT_FALSE(follower_.whole_frame_due());
  EXPECT_EQ(follower_.targets().at(0).id, 1);
}

TEST_F(FollowerTest, WholeFramesNowAndThenWhileMoreMayCome) {
  settings_.redetect_interval = 5;
  start(1, 2);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(see({peak(0, 10, 10)}), i % 5 == 0) << i;
}

TEST_F(FollowerTest, AWholeFrameAfterAnInterruption) {
  start(1);
  for (int i = 0; i < 5; ++i) see({peak(0, 10, 10)});
  follower_.interrupt();
  EXPECT_TRUE(see({peak(0, 700, 10)}));
  EXPECT_EQ(follower_.expectations(frame_ + 1).size(), 1);  // where it seems to be
  for (int i = 0; i < 2; ++i) see({peak(0, 700, 10)});
  EXPECT_EQ(follower_.targets().at(0).id, 1);
  EXPECT_FALSE(follower_.targets().at(0).lost);
  EXPECT_FALSE(follower_.whole_frame_due());
}

/// Windows overlap each other and the whole frame.
TEST_F(FollowerTest, WhatWasFoundTwiceCountsOnce) {
  start(1, 4);
  see({peak(0, 10, 10), peak(0, 10, 10), peak(0, 40, 10), peak(0, 45, 13, 0.7), peak(0, 40, 10)});
  EXPECT_EQ(follower_.targets().size(), 2);
  match_.min_peak_distance = 3;
  configure();
  see({peak(0, 10, 10), peak(0, 40, 10), peak(0, 45, 13, 0.7)});
  EXPECT_EQ(follower_.targets().size(), 3);
}

TEST_F(FollowerTest, TargetsAreInOrder) {
  start(2, 2);
  for (int i = 0; i < 3; ++i)
    see({peak(1, 10, 10, 0.8), peak(0, 60, 60, 0.75), peak(1, 90, 10, 0.9), peak(0, 10, 60, 0.8)});
  see({peak(1, 10, 10, 0.9), peak(1, 90, 10, 0.8), peak(0, 60, 60, 0.75)});
  const auto targets = follower_.targets();
  ASSERT_EQ(targets.size(), 4);
  EXPECT_EQ(targets[0].peak.template_index, 0);
  EXPECT_FALSE(targets[0].lost);
  EXPECT_TRUE(targets[1].lost);  // though its last score was better
  EXPECT_EQ(targets[1].peak.score, 0.25);
  EXPECT_EQ(targets[2].peak.x, 10);
  EXPECT_EQ(targets[3].peak.x, 90);
}

/// Which matches templates are updated from: for each, the best target that is tracked, detected
/// and good enough.
/// What the caller knows to be another one, by other means.
TEST_F(FollowerTest, WhatIsRefusedIsNotFoundAgain) {
  start(1);
  for (int i = 0; i < 5; ++i) see(std::vector{peak(0, 10, 10)});
  EXPECT_TRUE(follower_.found_again().empty());
  for (int i = 0; i < 5; ++i) see(std::vector<Peak>{});
  for (int i = 0; i < 10; ++i) {
    see(std::vector{peak(0, 40, 10)});
    const auto found = follower_.found_again();
    ASSERT_EQ(found.size(), 1) << i;
    EXPECT_EQ(found[0].seen.x, 40);
    follower_.refuse(found[0]);
    EXPECT_EQ(follower_.targets().at(0).state, TrackState::lost);
  }
  for (int i = 0; i < 3; ++i) see(std::vector{peak(0, 40, 10)});
  EXPECT_FALSE(follower_.targets().at(0).lost);
}

TEST_F(FollowerTest, TemplatesTakeUpTheBest) {
  const auto found = [](std::uint32_t index, double x, double similarity) {
    Peak p = peak(index, x, 10, similarity);
    p.similarity = similarity;
    return p;
  };
  settings_.update = 0.1;
  settings_.update_score = 0.8;
  start(2, 2);
  for (int i = 0; i < 2; ++i) {
    see({found(0, 10, 0.9), found(0, 100, 0.95), found(1, 200, 0.79)});
    EXPECT_TRUE(follower_.template_updates().empty()) << i;  // tentative
  }
  see({found(0, 10, 0.9), found(0, 100, 0.95), found(1, 200, 0.79)});
  ASSERT_EQ(follower_.template_updates().size(), 1);
  EXPECT_EQ(follower_.template_updates()[0].template_index, 0);
  EXPECT_EQ(follower_.template_updates()[0].x, 100);
  see({found(0, 11, 0.8), found(1, 201, 0.8)});
  ASSERT_EQ(follower_.template_updates().size(), 2);
  EXPECT_EQ(follower_.template_updates()[0].x, 11);  // the other was not seen
  EXPECT_EQ(follower_.template_updates()[1].x, 201);
  settings_.update = 0;
  configure();
  EXPECT_TRUE(follower_.template_updates().empty());
}

/// Nor from a match that is hardly better than something else.
TEST_F(FollowerTest, TemplatesTakeUpWhatStandsOut) {
  settings_.update = 0.1;
  start(1);
  for (int i = 0; i < 5; ++i) see({peak(0, 10, 10, 0.9), peak(0, 60, 10, 0.79)});
  EXPECT_EQ(follower_.template_updates().size(), 1);
  see({peak(0, 10, 10, 0.9), peak(0, 60, 10, 0.81)});
  EXPECT_FALSE(follower_.targets().at(0).lost);
  EXPECT_TRUE(follower_.template_updates().empty());
}

TEST_F(FollowerTest, WholeFramesNowAndThenInCaseAllIsMistaken) {
  settings_.recheck_interval = 20;
  start(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(see({peak(0, 10, 10)}), i % 20 == 0) << i;
  settings_.recheck_interval = 0;
  configure();
  EXPECT_TRUE(see({peak(0, 10, 10)}));  // was due already
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(see({peak(0, 10, 10)})) << i;
}

/// Peaks beside those of targets, and worse ones, tell how sure a target is; they are none.
TEST_F(FollowerTest, MoreIsSearchedForThanIsReported) {
  match_.max_peaks = 2;
  match_.threshold = 0.9;
  EXPECT_GT(search_for_tracks(match_).max_peaks, 2);
  EXPECT_LT(search_for_tracks(match_).threshold, 0.5);
  match_.max_peaks = 1024;
  EXPECT_EQ(search_for_tracks(match_).max_peaks, 1024);
  match_.threshold = -0.5;
  EXPECT_EQ(search_for_tracks(match_).threshold, -0.5);
  match_.threshold = 0.9;
  start(1, 2);
  for (int i = 0; i < 5; ++i)
    see({peak(0, 10, 10, 0.95), peak(0, 60, 10, 0.85), peak(0, 200, 80, 0.6)});
  EXPECT_EQ(follower_.targets().size(), 1);
}

TEST_F(FollowerTest, TellsOnceWhatBecameOfTargets) {
  start(2);
  for (int i = 0; i < 5; ++i) see({peak(1, 50, 50)});
  const auto events = follower_.take_events();
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].event, TrackEvent::entered);
  EXPECT_EQ(events[0].target.id, 1);
  EXPECT_EQ(events[0].target.peak.template_index, 1);
  EXPECT_TRUE(follower_.take_events().empty());
  follower_.interrupt();
  see({});
  EXPECT_EQ(follower_.take_events().at(0).event, TrackEvent::lost);
}

TEST_F(FollowerTest, WhatWasNotToldFollowsItsTemplate) {
  start(2);
  for (int i = 0; i < 5; ++i) see({peak(0, 10, 10), peak(1, 50, 50)});
  follower_.replace_templates(Origins{std::nullopt, std::nullopt, 1});
  const auto events = follower_.take_events();
  ASSERT_EQ(events.size(), 3);
  EXPECT_EQ(events[0].target.id, 1);
  EXPECT_EQ(events[0].target.peak.template_index, no_template);
  EXPECT_EQ(events[1].target.id, 2);
  EXPECT_EQ(events[1].target.peak.template_index, 2);
  EXPECT_EQ(events[2].event, TrackEvent::dropped);
  EXPECT_EQ(events[2].target.id, 1);
  EXPECT_EQ(events[2].target.peak.template_index, no_template);
}

TEST_F(FollowerTest, WhatASettingEndsIsDropped) {
  const std::function<void()> settings[] = {
      [&] { match_.max_peaks = 1; },
      [&] { settings_.by = FollowBy::filter; },
      [&] { settings_.enabled = false; },
  };
  for (const auto& set : settings) {
    settings_ = {.enabled = true, .by = FollowBy::template_};
    match_.max_peaks = 3;
    configure();
    start(1, 3);
    for (int i = 0; i < 5; ++i) see({peak(0, 10, 10), peak(0, 90, 90)});
    see({peak(0, 10, 10), peak(0, 90, 90), peak(0, 200, 200)});  // the third is tentative
    follower_.take_events();
    set();
    configure();
    see({});
    const auto events = follower_.take_events();
    ASSERT_EQ(events.size(), match_.max_peaks == 1 ? 1 : 2);
    for (const TargetEvent& event : events) EXPECT_EQ(event.event, TrackEvent::dropped);
  }
}

TEST_F(FollowerTest, TemplatesThatStayKeepTheirTargets) {
  start(3);
  for (int i = 0; i < 5; ++i) see({peak(0, 10, 10), peak(1, 50, 50), peak(2, 90, 90)});
  follower_.replace_templates(Origins{2, std::nullopt, 0});
  EXPECT_TRUE(see({peak(0, 90, 90), peak(1, 300, 20)}));
  const auto targets = follower_.targets();
  ASSERT_EQ(targets.size(), 3);
  EXPECT_EQ(targets[0].id, 3);
  EXPECT_EQ(targets[1].id, 4);
  EXPECT_EQ(targets[1].state, TrackState::tentative);
  EXPECT_EQ(targets[2].id, 1);
  EXPECT_TRUE(targets[2].lost);
  EXPECT_EQ(targets[2].peak.template_index, 2);
}

TEST_F(FollowerTest, SamplesOfOneThingShareTargets) {
  configure();
  follower_.replace_templates(Origins(3), std::vector<std::uint32_t>{0, 1, 0});
  for (int i = 0; i < 5; ++i)  // the third sees what the first does, more clearly in the end
    see({peak(0, 10, 10), peak(1, 50, 50), peak(2, 11, 10, i < 3 ? 0.8 : 0.95)});
  auto targets = follower_.targets();
  ASSERT_EQ(targets.size(), 2);
  EXPECT_EQ(targets[0].peak.template_index, 2);
  EXPECT_EQ(targets[0].state, TrackState::tracked);
  EXPECT_EQ(targets[1].peak.template_index, 1);
  EXPECT_EQ(follower_.expectations(frame_ + 1).size(), 3);  // each sample looks for it

  // A sample goes, and the other one goes on with the target.
  follower_.replace_templates(Origins{0, 1}, std::vector<std::uint32_t>{0, 1});
  targets = follower_.targets();
  ASSERT_EQ(targets.size(), 2);
  EXPECT_EQ(targets[0].id, 1);
  EXPECT_EQ(targets[0].peak.template_index, 0);

  // Two things turn out to be one: the targets of the first stay.
  follower_.take_events();
  follower_.replace_templates(Origins{0, 1}, std::vector<std::uint32_t>{0, 0});
  const auto events = follower_.take_events();
  ASSERT_EQ(events.size(), 1);
  EXPECT_EQ(events[0].event, TrackEvent::dropped);
  EXPECT_EQ(events[0].target.id, 2);
  EXPECT_EQ(follower_.targets().at(0).id, 1);
}

TEST_F(FollowerTest, FiltersFollowSoManyOfAllTemplates) {
  const std::vector<Peak> five = {peak(0, 100, 100), peak(0, 200, 100), peak(1, 300, 100),
                                  peak(1, 400, 100), peak(1, 500, 100)};
  settings_.most_filters = 3;
  for (const FollowBy by : {FollowBy::filter, FollowBy::template_}) {
    settings_.by = by;
    start(2, 5);
    see(five);
    const bool limited = by == FollowBy::filter;
    EXPECT_EQ(follower_.ids().size(), limited ? 3U : 5U);
    EXPECT_EQ(follower_.full(), limited ? std::optional(3) : std::nullopt);
  }
}

/// Its filter is kept, so that it is known again.
TEST_F(FollowerTest, WhatHasLeftTakesNoOthersFilter) {
  settings_.by = FollowBy::filter;
  settings_.most_filters = 2;
  start(2, 2);
  see({peak(0, 1860, 100)});
  for (int x = 1875; x <= 1995; x += 15) {
    const TargetBox place{1, {1.0 * x, 100, 20, 10}};
    const FilterDetection seen{.box = place.box, .response = 0.9, .psr = 40};
    follower_.update(++frame_, {}, std::span(&place, 1), std::span(&seen, 1));
  }
  see({});
  ASSERT_TRUE(follower_.targets().empty());
  ASSERT_EQ(follower_.ids(), std::vector<std::uint64_t>{1});
  see({peak(1, 300, 100), peak(1, 400, 100)});
  EXPECT_EQ(follower_.targets().size(), 2);
}

TEST_F(FollowerTest, SwitchedOffItForgetsAndUsesNoIdAgain) {
  start(1);
  for (int i = 0; i < 5; ++i) see({peak(0, 10, 10)});
  settings_.enabled = false;
  configure();
  EXPECT_TRUE(follower_.targets().empty());
  settings_.enabled = true;
  configure();
  EXPECT_TRUE(see({peak(0, 10, 10)}));
  EXPECT_EQ(follower_.targets().at(0).id, 2);
}

}  // namespace
}  // namespace xcorr::follow
