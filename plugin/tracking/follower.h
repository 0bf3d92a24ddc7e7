// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of all templates, and where the next frame is searched: round the place where each is
// expected, and from time to time in whole while a target is lost or more of them may come. Knows
// nothing of devices or GStreamer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "tracking/tracker.h"

namespace cudaxcorr {

/// A place for a template, its top-left corner.
struct TemplatePlace {
  std::uint32_t template_index;
  Point place;
};

class Follower {
 public:
  /// `black_scores`: what a black window scores, for each template.
  void configure(const TrackSettings& settings, const xcorr::MatchSettings& match,
                 std::vector<double> black_scores);

  /// Other templates from now on. `origins` says of each which one of those before it is, if any:
  /// such a template keeps its targets.
  void replace_templates(std::span<const std::optional<std::size_t>> origins);

  /// Frames are missing before the next one.
  void interrupt();

  bool whole_frame_due() const { return whole_frame_due_; }
  /// Where targets are looked for; that may be outside the frame.
  std::vector<TemplatePlace> expectations(std::uint64_t frame) const;

  /// Takes what was found in a frame: in the windows, and in the whole if that was due. A place may
  /// be found in several of them.
  void update(std::uint64_t frame, std::vector<xcorr::Peak> peaks);

  /// Where in the frame of the last update() templates are to take up what was found: of each the
  /// best of the targets that are tracked, if it is good enough.
  std::vector<TemplatePlace> template_updates() const;

  /// Templates in order; of a template first what was seen in this frame, best first. What was not
  /// has a black window's score.
  std::vector<Target> targets() const;

 private:
  void schedule();

  TrackRules rules_;  ///< but the black score, which each template has of its own
  std::vector<double> black_scores_;
  int min_peak_distance_ = 0;
  std::vector<Tracker> trackers_;  ///< one a template
  std::uint64_t last_id_ = 0;
  bool whole_frame_due_ = true;
  bool incomplete_ = true;  ///< targets are lost or may come
  int since_whole_frame_ = 0;
};

}  // namespace cudaxcorr
