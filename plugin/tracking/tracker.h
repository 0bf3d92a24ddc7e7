// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows the targets of one template from frame to frame: decides which detected peak is which
// target. Places are predicted at constant velocity, and peaks are assigned to targets at the least
// total cost in distance from the prediction and in score. Targets in view are assigned first, then
// lost ones; the peaks left over start new targets. Independent of devices and GStreamer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

namespace cudaxcorr {

struct TrackSettings {
  bool enabled = false;
  int search_margin = 64;       ///< pixels around the predicted place, at least 1
  int redetect_interval = 10;   ///< frames between searches of whole frames, at least 1
  int min_frames_for_lost = 5;  ///< frames in a row without a detection, at least 1
  double update = 0;            ///< the weight of the matched patch when it is blended in, 0 to 1
  double update_score = 0.8;    ///< the least closeness (see xcorr::Peak) for that

  bool operator==(const TrackSettings&) const = default;
  bool updates() const { return enabled && update > 0; }
};

enum class TrackState {
  none,       ///< a peak that belongs to no track
  tentative,  ///< new, and detected in every frame since
  tracked,    ///< confirmed by several detections
  lost,       ///< missed for min_frames_for_lost frames
};

const char* name_of(TrackState state);

/// What is reported of a target.
struct Target {
  xcorr::Peak peak;      ///< the last detection
  std::uint64_t id = 0;  ///< 0: no track
  TrackState state = TrackState::none;
  bool lost = false;  ///< not detected in this frame: the peak is an earlier one
};

struct Point {
  double x = 0, y = 0;
};

/// Frames are numbered; those that are not analysed may be left out.
struct Track {
  Target target;
  Point velocity;                 ///< pixels a frame
  std::uint64_t detected_at = 0;  ///< the frame of the last detection
  int detections = 1;             ///< from which the velocity was estimated
  int missed = 0;                 ///< analysed frames since the last detection
  bool anywhere = false;          ///< may have moved any distance since

  bool is_lost() const { return target.state == TrackState::lost; }
  Point expected(std::uint64_t frame) const;
};

/// The parameters of an update.
struct TrackRules {
  TrackSettings settings;
  int max_targets = 1;           ///< of the template
  bool minimum = false;          ///< smaller scores are better
  double zero_window_score = 0;  ///< what a window of zeros scores: no match
};

class Tracker {
 public:
  /// Takes the peaks of a frame, best first. New targets get the ids after `last_id`.
  void update(std::uint64_t frame, std::span<const xcorr::Peak> peaks, const TrackRules& rules,
              std::uint64_t& last_id);

  /// The stream has a gap before the next frame: all targets are lost and may be anywhere in it.
  void interrupt();

  const std::vector<Track>& tracks() const { return tracks_; }

  /// Whether the maximum number of targets is being followed.
  bool complete(int max_targets) const;

 private:
  using Detections = std::vector<const xcorr::Peak*>;
  enum class Candidates { followed, lost_nearby, lost_anywhere };
  void keep_at_most(int max_targets);
  void associate(Candidates which, std::uint64_t frame, Detections& detections,
                 const TrackRules& rules);
  void count_missed(const TrackRules& rules);

  std::vector<Track> tracks_;
};

}  // namespace cudaxcorr
