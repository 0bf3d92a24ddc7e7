// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>

#include <xcorr/follower.hpp>

namespace xcorr {
namespace {

/// How many peaks are looked for besides those of the targets, and down to which similarity.
constexpr int further_peaks = 7, most_peaks = 1024;
constexpr double floor = 0.3;

/// With more targets of a template, filters would take longer than the rest of a frame.
constexpr int most_by_filter = 4;

}  // namespace

FollowBy follow_by(const TrackSettings& tracking, const MatchSettings& match) {
  if (tracking.detections) return FollowBy::filter;
  if (tracking.by != FollowBy::automatic) return tracking.by;
  return match.poses.any() || match.max_peaks > most_by_filter ? FollowBy::template_
                                                               : FollowBy::filter;
}

TrackerSettings filters_for(const MatchSettings& match) {
  return {.turns = match.poses.angle_start != 0 || match.poses.angle_extent != 0};
}

const char* name_of(TrackState state) {
  constexpr const char* names[] = {"none", "tentative", "tracked", "lost"};
  return names[static_cast<int>(state)];
}

const char* name_of(TrackEvent event) {
  constexpr const char* names[track_events] = {"entered", "left", "lost", "found", "dropped"};
  return names[static_cast<int>(event)];
}

MatchSettings search_for_tracks(const MatchSettings& match) {
  MatchSettings search = match;
  search.max_peaks = std::min(match.max_peaks + further_peaks, most_peaks);
  search.threshold = std::min(match.threshold, floor);
  search.subpixel_threshold = match.threshold;  // what is less only tells how sure a detection is
  search.min_confidence = -1;                   // that of tracks is another
  search.approximate = true;                    // a target is expected to a pixel or so, no better
  return search;
}

}  // namespace xcorr
