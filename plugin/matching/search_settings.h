// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where and how frames are searched: what the application sets and the analyser works by.
#pragma once

#include <xcorr/match.hpp>

#include "tracking/tracker.h"

namespace cudaxcorr {

/// With more targets of a template, filters would cost more than the rest of a frame's analysis.
inline constexpr int most_filters = 4;

struct SearchSettings {
  xcorr::MatchSettings match;
  TrackSettings tracking;
  unsigned async_depth = 1;

  bool operator==(const SearchSettings&) const = default;
  /// What targets are followed by. Filters find no angle.
  FollowBy follow_by() const {
    if (tracking.by != FollowBy::automatic) return tracking.by;
    return match.poses.any() || match.max_peaks > most_filters ? FollowBy::template_
                                                               : FollowBy::filter;
  }
  /// How many frames may be in flight at once. With tracks it is one: where a track is searched
  /// depends on the frame before.
  unsigned max_in_flight() const { return tracking.enabled ? 1 : async_depth; }
};

}  // namespace cudaxcorr
