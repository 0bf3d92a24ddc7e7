// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets that leave or are dropped, and how they are counted.
#include <cmath>
#include <map>
#include <set>

#include "session.hpp"

namespace xcorr::follow {
namespace {

TEST(Ended, OverTheEdgeItEndsAtOnce) {
  Session run(2);
  run.rules.area = {0, 0, 640, 360};
  for (int i = 0; i < 20; ++i) run.see({peak(410 + 10.0 * i, 100), peak(300, 300)});
  EXPECT_EQ(run.count(), 2);
  run.see({peak(300, 300)});
  run.see({peak(300, 300)});
  EXPECT_EQ(run.count(), 1);
  EXPECT_EQ(run.events.back(), TrackEvent::left);
}

/// One that is hidden elsewhere, or stands at the edge, does not.
TEST(Ended, NotOverTheEdgeItStays) {
  Session run(2);
  run.rules.area = {0, 0, 640, 360};
  for (int i = 0; i < 20; ++i) run.see({peak(100 + 10.0 * i, 100), peak(0, 300)});
  run.see_nothing(100);
  EXPECT_EQ(run.count(), 2);
}

TEST(Ended, WhatIsLostForLongIsForgotten) {
  Session run;
  run.rules.settings.forget_after = 20;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(20);
  EXPECT_EQ(run.only().state, TrackState::lost);
  run.see({});
  EXPECT_EQ(run.count(), 0);
  run.see({peak(100, 100)});
  EXPECT_EQ(run.only().id, 2);
  const std::vector<TrackEvent> events{TrackEvent::entered, TrackEvent::lost, TrackEvent::dropped};
  EXPECT_EQ(run.events, events);
}

TEST(Ended, OrNever) {
  Session run;
  run.rules.settings.forget_after = 0;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(5000);
  EXPECT_EQ(run.only().id, 1);
}

TEST(Ended, TellsWhatBecomesOfATarget) {
  Session run;
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  run.see_nothing(10);
  for (int i = 0; i < 5; ++i) run.see({peak(100, 100)});
  const std::vector<TrackEvent> events{TrackEvent::entered, TrackEvent::lost, TrackEvent::found};
  EXPECT_EQ(run.events, events);
}

/// Parts on a conveyor, up to six at once, hidden behind a post on their way.
TEST(Ended, PartsOnAConveyorAreCounted) {
  constexpr int parts = 43, apart = 110, speed = 6;
  Session run(8);
  run.rules.area = {0, 0, 640, 200};
  std::map<std::uint64_t, std::set<int>> seen;
  for (int i = 0; i * speed < parts * apart + 640 + 20 * speed; ++i) {
    std::vector<Peak> peaks;
    for (int part = 0; part < parts; ++part) {
      const double x = i * speed - part * apart;
      const bool hidden = x > 300 && x < 312;
      if (x >= 0 && x + size <= 640 && !hidden) peaks.push_back(peak(x, 80, 0.9 + 0.002 * part));
    }
    run.see(peaks);
    for (const Track& track : run.tracker.tracks())
      if (!track.target.lost)
        seen[track.target.id].insert(
            static_cast<int>(std::lround((i * speed - track.target.peak.x) / apart)));
  }
  EXPECT_EQ(seen.size(), parts);
  for (const auto& [id, which] : seen) EXPECT_EQ(which.size(), 1) << "id " << id;
  EXPECT_EQ(std::ranges::count(run.events, TrackEvent::entered), parts);
  EXPECT_EQ(std::ranges::count(run.events, TrackEvent::left), parts);
}

TEST(Ended, AThousandTargets) {
  Session run(1000);
  std::vector<Peak> peaks;
  for (int i = 0; i < 1000; ++i) peaks.push_back(peak(i % 40 * 60, i / 40 * 60));
  for (int i = 0; i < 4; ++i) {
    for (Peak& each : peaks) each.x += 2;
    run.see(peaks);
  }
  EXPECT_EQ(run.count(), 1000);
  for (const Track& track : run.tracker.tracks())
    EXPECT_EQ(track.target.state, TrackState::tracked);
}

}  // namespace
}  // namespace xcorr::follow
