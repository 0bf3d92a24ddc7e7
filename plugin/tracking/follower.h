// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of all templates, and where to search the next frame: around the place where each
// target is expected and, while one is lost or more may appear, every few frames in the whole
// frame. Independent of devices and GStreamer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

#include "tracking/tracker.h"

namespace cudaxcorr {

/// A place of a template: its top-left corner, and how far around it is searched, pixels; what was
/// last seen there, so many frames ago.
struct TemplatePlace {
  std::uint32_t template_index;
  Point place;
  double reach = 0;
  xcorr::Peak seen = {};
  int frames = 1;
};

inline constexpr auto no_template = std::numeric_limits<std::uint32_t>::max();

/// What must be searched for, so that targets can be told from what looks like them: more peaks
/// than there are targets, and worse ones.
xcorr::MatchSettings search_for_tracks(const xcorr::MatchSettings& match);

class Follower {
 public:
  /// `area`: what is searched of the frame. `zero_window_scores`: what a window of zeros scores,
  /// for each template.
  void configure(const TrackSettings& settings, const xcorr::MatchSettings& match,
                 const xcorr::Rect& area, std::vector<double> zero_window_scores);

  /// Replaces the templates. `origins` gives for each the index that it had before, if it is not
  /// new: such a template keeps its targets.
  void replace_templates(std::span<const std::optional<std::size_t>> origins);

  /// All targets end.
  void end();
  /// All that filters follow.
  void end_of_filters();

  /// The stream has a gap before the next frame.
  void interrupt();

  bool whole_frame_due() const { return whole_frame_due_; }
  /// Where targets are expected; that may be outside the frame.
  std::vector<TemplatePlace> expectations(std::uint64_t frame) const;

  /// With filters: where each target's is to look for it, with the peaks of the whole frame if that
  /// was due.
  std::vector<xcorr::TargetBox> places_for_filters(std::uint64_t frame,
                                                   std::vector<xcorr::Peak> peaks) const;

  /// Takes the peaks of a frame: those of the windows and, if it was due, those of the whole frame.
  /// The same place may be among them several times. With filters: besides, what these have found.
  void update(std::uint64_t frame, std::vector<xcorr::Peak> peaks,
              std::span<const Sighting> sightings = {});

  /// With filters: what they are to learn of the frame of the last update(), and the ids of all
  /// targets, which are the only ones to keep.
  std::vector<xcorr::TargetBox> lessons() const;
  std::vector<std::uint64_t> ids() const;

  /// Where in the frame of the last update() templates may be blended: for each, its best tracked
  /// target, if that matches well and nothing else does nearly as well; `seen` is its peak.
  std::vector<TemplatePlace> template_updates() const;

  /// What has become of targets since the last call. Those of a template that is not there any more
  /// have the index no_template.
  std::vector<TargetEvent> take_events();

  /// Templates in order. Within a template, targets detected in this frame come first, best first;
  /// the others have the score of a window of zeros.
  std::vector<Target> targets() const;

 private:
  std::vector<std::vector<xcorr::Peak>> by_template(std::vector<xcorr::Peak> peaks) const;
  void schedule();
  void end(std::uint32_t index);
  void note_events(std::uint32_t index);

  TrackRules rules_;
  xcorr::MatchSettings match_;
  std::vector<double> zero_window_scores_;
  std::vector<Tracker> trackers_;  ///< one per template
  std::vector<TargetEvent> events_;
  std::uint64_t last_id_ = 0;
  bool whole_frame_due_ = true;
  bool incomplete_ = true;  ///< targets are lost, or more may appear
  int since_whole_frame_ = 0;
};

}  // namespace cudaxcorr
