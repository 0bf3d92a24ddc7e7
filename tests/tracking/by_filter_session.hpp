// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets of one template that filters follow, on made-up peaks and rated_detections.
#pragma once

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tracking/association/targets.hpp"

namespace xcorr::follow {

class ByFilterTest : public testing::Test {
 protected:
  ByFilterTest() {
    rules_.settings.enabled = true;
    rules_.settings.by = FollowBy::filter;
    rules_.threshold = 0.5;
    rules_.floor = 0.3;
    rules_.area = {0, 0, 640, 480};
  }

  static Peak peak(double x, double y) { return {0, x, y, 20, 10, 0.95, 0.95}; }
  static RatedDetection rated_detection(double x, double y, double sure = 0.9, std::uint64_t id = 1,
                                        double width = 20) {
    return {id, {x, y, width, width / 2}, 0.6, sure};
  }
  /// What is found first of a lost target's: where it may be now.
  static RatedDetection nothing_nearby() { return rated_detection(100, 50, 0.001); }
  void see(std::vector<Peak> peaks, std::vector<RatedDetection> rated_detections) {
    tracker_.update(++frame_, peaks, rated_detections, rules_, last_id_);
  }
  const Track& track() const { return tracker_.tracks().front(); }

  Targets tracker_;
  TrackRules rules_;
  std::uint64_t frame_ = 0, last_id_ = 0;
};

}  // namespace xcorr::follow
