// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows the targets of one template from frame to frame: decides which detected peak is which
// target, and whether that is sure enough to be reported. docs/tracking.md has the rules.
// Independent of devices and GStreamer.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/match.hpp>
#include <xcorr/tracker.hpp>

#include "tracking/trace.h"

namespace cudaxcorr {

/// What finds a target in the frames after the one in which its template found it.
enum class FollowBy {
  automatic,  ///< that of the next two which suits what is searched
  template_,
  filter,
};

struct TrackSettings {
  bool enabled = false;
  FollowBy by = FollowBy::automatic;
  int search_margin = 64;       ///< pixels around the predicted place, at least 1
  int redetect_interval = 10;   ///< frames between searches of whole frames, at least 1
  int recheck_interval = 50;    ///< the same while all targets are followed; 0: never
  int min_frames_for_lost = 5;  ///< frames in a row without a detection, at least 1
  int forget_after = 250;       ///< frames in a row after which a lost target ends; 0: never
  double min_confidence = 0.4;  ///< below which a place is not reported, 0 to 1
  double turn = 15;             ///< degrees that a target turns in a frame; 0: no limit
  double growth = 0.1;          ///< and by which share it grows or shrinks; 0: no limit
  double update = 0.1;          ///< the weight of the matched patch when it is blended in, 0 to 1
  double update_score = 0.6;    ///< the least closeness (see xcorr::Peak) for that

  bool operator==(const TrackSettings&) const = default;
  bool by_filter() const { return enabled && by == FollowBy::filter; }
  bool updates() const { return enabled && update > 0 && by != FollowBy::filter; }
};

enum class TrackState {
  none,       ///< a peak that belongs to no track
  tentative,  ///< new, and detected in every frame since; or lost, and perhaps found again
  tracked,    ///< confirmed by several detections
  lost,       ///< missed for min_frames_for_lost frames
};

const char* name_of(TrackState state);

/// What is reported of a target.
struct Target {
  xcorr::Peak peak;      ///< the last detection
  std::uint64_t id = 0;  ///< 0: no track
  TrackState state = TrackState::none;
  bool lost = false;      ///< not detected in this frame: the peak is an earlier one
  double confidence = 0;  ///< that the place is right, 0 to 1; 0 when lost
};

struct Track {
  Target target;
  Trace trace;
  bool sought = false;             ///< lost, and not found again for certain
  std::optional<Trace> candidate;  ///< where it may be instead
  double margin = 0;               ///< by how much the last peak was closer than the next one
  // With filters:
  xcorr::Box box;            ///< of the last sight
  xcorr::Box candidate_box;  ///< of the candidate
  double template_width = 1;

  /// Whether it was ever confirmed; else it may end without a word.
  bool entered() const { return sought || target.state != TrackState::tentative; }
};

/// What the filter of a target found.
struct Sighting {
  std::uint64_t id;
  xcorr::Box box;
  double response;    ///< as of xcorr::Sight
  double confidence;  ///< that the target is there, 0 to 1
};

/// What becomes of targets. All that entered and are not there any more have left or were dropped.
enum class TrackEvent {
  entered,  ///< a new one was confirmed
  left,     ///< it ended: it went over an edge of what is searched
  lost,     ///< it was missed for min_frames_for_lost frames
  found,    ///< and is there again
  dropped,  ///< it ended otherwise: missed for forget_after frames, or by what was set
};

inline constexpr int track_events = 5;
const char* name_of(TrackEvent event);

struct TargetEvent {
  TrackEvent event;
  Target target;
};

/// The parameters of an update.
struct TrackRules {
  TrackSettings settings;
  int max_targets = 1;   ///< of the template
  double threshold = 0;  ///< the least closeness of a target
  double floor = 0;      ///< the least closeness that was searched for
  xcorr::Rect area{};    ///< what is searched of the frame
};

/// A place around which to search, top-left corner of the template, and how far, in pixels; what
/// was last seen of the target, so many frames ago.
struct SearchPlace {
  Point place;
  double reach;
  xcorr::Peak seen;
  int frames;
};

class Tracker {
 public:
  /// Takes the peaks of a frame, best first. New targets get the ids after `last_id`.
  void update(std::uint64_t frame, std::span<const xcorr::Peak> peaks, const TrackRules& rules,
              std::uint64_t& last_id);

  /// With filters: where each target's is to look for it, in a frame with these peaks, best first.
  std::vector<xcorr::TargetBox> places_for_filters(std::uint64_t frame,
                                                   std::span<const xcorr::Peak> peaks,
                                                   const TrackRules& rules) const;
  /// The same as the other update(), with what the filters have found there.
  void update(std::uint64_t frame, std::span<const xcorr::Peak> peaks,
              std::span<const Sighting> sightings, const TrackRules& rules, std::uint64_t& last_id);
  /// What the filters are to learn of the frame of the last update().
  std::vector<xcorr::TargetBox> lessons() const;

  /// The stream has a gap before the next frame: all targets are lost and may be anywhere in it.
  void interrupt();

  /// All targets end.
  void end();

  /// Scores mean something else from now on.
  void forget_scores();

  const std::vector<Track>& tracks() const { return tracks_; }

  /// What the last update(), interrupt() or end() changed.
  const std::vector<TargetEvent>& events() const { return events_; }

  /// Where the next frame is to be searched; that may be outside the frame.
  std::vector<SearchPlace> places(std::uint64_t frame, const TrackRules& rules) const;

  /// Whether the maximum number of targets is being followed.
  bool complete(int max_targets) const;

 private:
  using Detections = std::vector<const xcorr::Peak*>;
  void tell(TrackEvent event, const Track& track) { events_.push_back({event, track.target}); }
  void drop_all_but(std::size_t first);
  void keep_at_most(int max_targets);
  void follow(std::uint64_t frame, Detections& detections, const TrackRules& rules);
  void begin_update(const TrackRules& rules);
  void take_sight(Track& track, const xcorr::Peak& peak, double sure, std::uint64_t frame,
                  const TrackRules& rules);
  void count_missed(std::uint64_t frame, const TrackRules& rules);
  void drop_ended(std::uint64_t frame, const TrackRules& rules);
  void follow_candidate(Track& track, std::uint64_t frame, Detections& detections,
                        const TrackRules& rules) const;
  void seek(Track& track, std::uint64_t frame, Detections& detections,
            const TrackRules& rules) const;
  void doubt(Track& track, std::uint64_t frame, Detections& detections) const;
  void move_to_candidate(Track& track);
  void settle(Track& track);
  void follow(std::uint64_t frame, std::span<const Sighting> sightings, const TrackRules& rules);
  void seek(Track& track, std::uint64_t frame, std::span<const Sighting> sightings,
            const TrackRules& rules) const;
  bool is_taken(const Track& by, const xcorr::Box& box) const;
  bool is_of_another(const Track& track, const Sighting& sighting, std::uint64_t frame) const;
  void start_new(std::uint64_t frame, const Detections& detections, const TrackRules& rules,
                 std::uint64_t& last_id);

  std::vector<Track> tracks_;
  std::vector<TargetEvent> events_;
};

}  // namespace cudaxcorr
