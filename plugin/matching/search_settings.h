// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where and how frames are searched: what the application sets and the analyser works by.
#pragma once

#include <xcorr/follower.hpp>
#include <xcorr/match.hpp>

namespace cudaxcorr {

struct SearchSettings {
  xcorr::MatchSettings match;
  xcorr::TrackSettings tracking;
  int max_targets = 64;  ///< of detections with one label
  unsigned async_depth = 1;

  bool operator==(const SearchSettings&) const = default;
  /// How many frames may be in flight at once. With tracks it is one: where a track is searched
  /// depends on the frame before.
  unsigned max_in_flight() const {
    return tracking.enabled || tracking.detections ? 1 : async_depth;
  }
};

}  // namespace cudaxcorr
