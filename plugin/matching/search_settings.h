// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where and how frames are searched: what the application sets and the analyser works by.
#pragma once

#include <algorithm>

#include <xcorr/follower.hpp>
#include <xcorr/match.hpp>

namespace cudaxcorr {

/// Takes luma instead, which has a polarity by some methods only; edges have by all.
inline void match_on_luma(xcorr::MatchSettings& match) {
  match.match_on = xcorr::MatchOn::luma;
  if (!xcorr::info(match.method).centred) match.polarity = xcorr::Polarity::same;
}

/// Without what not all frames and templates can do, of which the first frame tells: upright,
/// inside the frame, by luma.
inline xcorr::MatchSettings without_demands(xcorr::MatchSettings match) {
  match.poses = {};
  match.overhang = 0;
  match_on_luma(match);
  return match;
}

struct SearchSettings {
  xcorr::MatchSettings match;
  xcorr::TrackSettings tracking;
  /// How sure places must be, with tracks or without. Below 0: as sure as is usual for tracks, and
  /// of other places it is not asked.
  double min_confidence = -1;
  int max_targets = 64;  ///< of detections with one label
  unsigned async_depth = 1;

  bool operator==(const SearchSettings&) const = default;
  /// Whether there are targets, of templates or of a detector.
  bool follows() const { return tracking.enabled || tracking.detections; }
  /// How many frames may be analysed at once. With tracks it is one: where a track is searched
  /// depends on the frame before.
  unsigned analysed_at_once() const { return follows() ? 1 : async_depth; }
  /// How many frames may be held. With tracks it is two at most: what has been found in one is
  /// published while the next is analysed.
  unsigned max_in_flight() const { return follows() ? std::min(async_depth, 2u) : async_depth; }
};

}  // namespace cudaxcorr
