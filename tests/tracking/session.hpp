// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of one template on made-up peaks.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "tracking/association/targets.hpp"

namespace xcorr::follow {

inline constexpr int size = 24;  // of the template

inline Peak peak(double x, double y, double similarity = 0.95) {
  return {0, x, y, size, size, similarity, similarity};
}

/// A tracker and its count of frames.
class Session {
 public:
  explicit Session(int max_targets = 1) {
    rules.settings.enabled = true;
    rules.settings.min_confidence = 0.5;
    rules.max_targets = max_targets;
    rules.threshold = 0.5;
    rules.floor = 0.3;
    rules.area = {-10000, -10000, 30000, 30000};
  }

  /// The next frame, with these peaks in any order.
  void see(std::vector<Peak> peaks) {
    std::ranges::sort(peaks, std::ranges::greater(), &Peak::similarity);
    tracker.update(frame += step, peaks, rules, last_id);
    for (const TargetEvent& event : tracker.events()) events.push_back(event.event);
  }
  void see_nothing(int frames) {
    for (int i = 0; i < frames; ++i) see({});
  }

  std::size_t count() const { return tracker.tracks().size(); }
  const Target& only() const {
    EXPECT_EQ(count(), 1);
    return tracker.tracks().at(0).target;
  }
  const Target& with_id(std::uint64_t id) const {
    for (const Track& track : tracker.tracks())
      if (track.target.id == id) return track.target;
    static const Target absent{};
    ADD_FAILURE() << "no id " << id << " in frame " << frame;
    return absent;
  }

  Targets tracker;
  TrackRules rules;
  std::vector<TrackEvent> events;
  std::uint64_t frame = 0, step = 1, last_id = 0;
};

inline void expect_at(const Target& target, double x, double y) {
  EXPECT_DOUBLE_EQ(target.peak.x, x);
  EXPECT_DOUBLE_EQ(target.peak.y, y);
}

}  // namespace xcorr::follow
