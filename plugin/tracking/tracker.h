// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The targets of one template from frame to frame: which of the peaks found is which target. Places
// are predicted at constant velocity; peaks go to targets by the assignment of least cost in
// distance from the prediction and in score. Targets that are followed choose first, lost ones
// next; what is left over begins new ones. Knows nothing of frames, devices or GStreamer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <xcorr/match.hpp>

namespace cudaxcorr {

struct TrackSettings {
  bool enabled = false;
  int search_margin = 64;       ///< pixels round the predicted place, at least 1
  int redetect_interval = 10;   ///< frames between searches of whole frames, at least 1
  int min_frames_for_lost = 5;  ///< frames in a row without a sight, at least 1
  double update = 0;            ///< the share of what was found that a template takes up, 0 to 1
  double update_score = 0.8;    ///< the least closeness (see xcorr::Peak) at which it does

  bool operator==(const TrackSettings&) const = default;
  bool updates() const { return enabled && update > 0; }
};

enum class TrackState {
  none,       ///< a peak that belongs to no track
  tentative,  ///< new, and seen in every frame since
  tracked,    ///< seen often enough, and not missed for long
  lost,       ///< missed for min_frames_for_lost frames
};

const char* name_of(TrackState state);

/// What is told of a target.
struct Target {
  xcorr::Peak peak;      ///< the last sight
  std::uint64_t id = 0;  ///< 0: no track
  TrackState state = TrackState::none;
  bool lost = false;  ///< not seen in this frame: the peak is that of an earlier one
};

struct Point {
  double x = 0, y = 0;
};

/// Frames are numbered; frames that are not analysed may be left out.
struct Track {
  Target target;
  Point velocity;             ///< pixels a frame
  std::uint64_t seen_at = 0;  ///< the frame of the last sight
  int sights = 1;             ///< that the velocity was learnt from
  int missed = 0;             ///< analysed frames since the last sight
  bool anywhere = false;      ///< may have moved by any distance since

  bool is_lost() const { return target.state == TrackState::lost; }
  Point expected(std::uint64_t frame) const;
};

/// What a tracker goes by in a frame.
struct TrackRules {
  TrackSettings settings;
  int most = 1;            ///< targets of the template
  bool minimum = false;    ///< the best score is the smallest
  double black_score = 0;  ///< what a black window scores: no match
};

class Tracker {
 public:
  /// Takes the peaks of a frame, best first. New targets get ids after `last_id`.
  void update(std::uint64_t frame, std::span<const xcorr::Peak> peaks, const TrackRules& rules,
              std::uint64_t& last_id);

  /// Frames are missing before the next one: all targets count as lost, anywhere.
  void interrupt();

  const std::vector<Track>& tracks() const { return tracks_; }

  /// As many targets as there may be are followed.
  bool complete(int most) const;

 private:
  using Sights = std::vector<const xcorr::Peak*>;
  enum class Choosers { followed, lost_nearby, lost_anywhere };
  void keep_at_most(int most);
  void associate(Choosers choosers, std::uint64_t frame, Sights& sights, const TrackRules& rules);
  void count_missed(const TrackRules& rules);

  std::vector<Track> tracks_;
};

}  // namespace cudaxcorr
