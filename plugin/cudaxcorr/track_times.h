// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When each track was seen first and last: what GstAnalytics has of tracks besides their places.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include <gst/gst.h>

#include <xcorr/follower.hpp>

namespace cudaxcorr {

class TrackTimes {
 public:
  /// Running times of frames, GST_CLOCK_TIME_NONE where these have none.
  struct Seen {
    GstClockTime first = GST_CLOCK_TIME_NONE, last = GST_CLOCK_TIME_NONE;
  };

  /// For each analysed frame, in their order: all its targets. Those of other ids are forgotten.
  void update(std::span<const xcorr::Target> targets, GstClockTime now);

  Seen of(std::uint64_t id) const;

 private:
  std::map<std::uint64_t, Seen> seen_;
};

}  // namespace cudaxcorr
