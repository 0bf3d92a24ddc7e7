// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of all templates, and where to search the next frame: around the place where each
// target is expected and, while one is lost or more may appear, every few frames in the whole
// frame. Independent of devices and GStreamer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "tracking/tracker.h"

namespace cudaxcorr {

/// A place of a template: its top-left corner.
struct TemplatePlace {
  std::uint32_t template_index;
  Point place;
};

class Follower {
 public:
  /// `zero_window_scores`: what a window of zeros scores, for each template.
  void configure(const TrackSettings& settings, const xcorr::MatchSettings& match,
                 std::vector<double> zero_window_scores);

  /// Replaces the templates. `origins` gives for each the index that it had before, if it is not
  /// new: such a template keeps its targets.
  void replace_templates(std::span<const std::optional<std::size_t>> origins);

  /// The stream has a gap before the next frame.
  void interrupt();

  bool whole_frame_due() const { return whole_frame_due_; }
  /// Where targets are expected; that may be outside the frame.
  std::vector<TemplatePlace> expectations(std::uint64_t frame) const;

  /// Takes the peaks of a frame: those of the windows and, if it was due, those of the whole frame.
  /// The same place may be among them several times.
  void update(std::uint64_t frame, std::vector<xcorr::Peak> peaks);

  /// Where in the frame of the last update() templates are to be blended: for each, its best
  /// tracked target, if that matches well enough.
  std::vector<TemplatePlace> template_updates() const;

  /// Templates in order. Within a template, targets detected in this frame come first, best first;
  /// the others have the score of a window of zeros.
  std::vector<Target> targets() const;

 private:
  void schedule();

  TrackRules rules_;  ///< without the zero window's score, which depends on the template
  std::vector<double> zero_window_scores_;
  int min_peak_distance_ = 0;
  std::vector<Tracker> trackers_;  ///< one per template
  std::uint64_t last_id_ = 0;
  bool whole_frame_due_ = true;
  bool incomplete_ = true;  ///< targets are lost, or more may appear
  int since_whole_frame_ = 0;
};

}  // namespace cudaxcorr
