// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Follows the targets of one thing, which one template shows or several, from frame to frame:
// decides which detected peak is which target, and whether that is sure enough to be reported.
// docs/tracking.md has the rules.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/follower.hpp>

#include "tracking/association/distractors.hpp"
#include "tracking/association/trace.hpp"

namespace xcorr::follow {

/// A box that is turned round its middle, degrees.
struct TurnedBox {
  Box box;
  double angle = 0;
};

struct Track {
  Target target;
  Trace trace;
  bool sought = false;             ///< lost, and not found again for certain
  std::optional<Trace> candidate;  ///< where it may be instead
  double margin = 0;               ///< by how much the last peak was closer than the next one
  // With filters:
  std::uint64_t filter = 0;  ///< the id of the target that it was made for
  TurnedBox last;            ///< detection
  TurnedBox of_candidate;    ///< the same of it
  TurnedBox shadow;          ///< where it may be while it is lost: what its filter responds to most
  bool candidate_nearby = false;    ///< the candidate is there
  bool candidate_by_color = false;  ///< it was found where its colours are
  double template_width = 1;
  double resemblance = 1;  ///< of the last detection
  bool beyond = false;     ///< its middle is beyond the edge: nothing is learnt
  double most = 1;         ///< that its confidence may be, by how it began and where it was found
  int unconfirmed = 0;     ///< frames with detections since one was this target's

  /// Whether there is a detection in this frame, which may yet be too doubtful to be reported.
  bool seen() const { return trace.missed == 0; }

  /// Whether it was ever confirmed; else it may be dropped silently.
  bool entered() const { return sought || target.state != TrackState::tentative; }
};

/// What the filter of a target found.
struct RatedDetection {
  std::uint64_t filter;  ///< as of Track
  Box box;               ///< which is turned by `angle`
  double response;       ///< as of FilterDetection
  double confidence;     ///< that the filter responds to what it has learnt, 0 to 1
  double angle = 0;
  double resemblance = 1;                                        ///< as of resemblance()
  double recognition = 0;                                        ///< as of recognition()
  double most_growth = std::numeric_limits<double>::infinity();  ///< as of most_growth()
  double likeness = 0;    ///< of the colours here and first, as of FilterDetection
  bool by_color = false;  ///< as of TargetBox
};

/// The parameters of an update.
struct TrackRules {
  TrackSettings settings;
  int max_targets = 1;   ///< of the thing
  double threshold = 0;  ///< the least similarity of a target
  double floor = 0;      ///< the least similarity that was searched for
  Rect area{};           ///< what is searched of the frame
  bool turns = false;    ///< filters find angles
};

/// A place around which to search, top-left corner of the template, and how far, in pixels; what
/// was last seen of the target, so many frames ago.
struct SearchPlace {
  Point place;
  double reach;
  Peak seen;
  int frames;
};

/// A target is confirmed, and one that was lost is found, after this many detections in a row.
inline constexpr int detections_to_confirm = 3;

class Targets {
 public:
  /// Takes the peaks of a frame, best first. New targets get the ids after `last_id`.
  void update(std::uint64_t frame, std::span<const Peak> peaks, const TrackRules& rules,
              std::uint64_t& last_id);

  /// With filters: the targets that are lost and may be anywhere, as they were last.
  std::vector<TargetBox> sought(const TrackRules& rules) const;
  /// With filters: where each target's filter should search, in a frame with these peaks, best
  /// first.
  std::vector<TargetBox> places_for_filters(std::uint64_t frame, std::span<const Peak> peaks,
                                            const TrackRules& rules) const;
  /// The same as the other update(), with what the filters have found there.
  void update(std::uint64_t frame, std::span<const Peak> peaks,
              std::span<const RatedDetection> rated_detections, const TrackRules& rules,
              std::uint64_t& last_id);
  /// The same with detections in place of peaks.
  void update_by_detections(std::uint64_t frame, std::span<const Peak> detections,
                            std::span<const RatedDetection> rated_detections,
                            const TrackRules& rules, std::uint64_t& last_id);
  /// What the filters are to learn of the frame of the last update().
  std::vector<TargetBox> training_samples() const;

  /// The stream has a gap before the next frame: all targets are lost and may be anywhere in it.
  void interrupt();

  /// All targets end.
  void end();

  /// The templates of the peaks have other indices from now on.
  void renumber_templates(const std::function<std::uint32_t(std::uint32_t)>& now);

  /// What was seen there for the first time is not a target that was lost.
  void refuse(Point place);

  /// Scores mean something else from now on.
  void forget_scores();

  const std::vector<Track>& tracks() const { return tracks_; }

  /// Of those whose filters are needed.
  std::vector<std::uint64_t> ids() const;

  /// What the last update(), interrupt() or end() changed.
  const std::vector<TargetEvent>& events() const { return events_; }

  /// Where the next frame is to be searched; that may be outside the frame.
  std::vector<SearchPlace> places(std::uint64_t frame, const TrackRules& rules) const;

  /// Whether the maximum number of targets is being followed.
  bool complete(int max_targets) const;

 private:
  using Detections = std::vector<const Peak*>;
  void tell(TrackEvent event, const Track& track) { events_.push_back({event, track.target}); }
  void drop_all_but(std::size_t first);
  void keep_at_most(int max_targets);
  void follow(std::uint64_t frame, Detections& detections, const TrackRules& rules);
  void begin_update(const TrackRules& rules);
  void take_detection(Track& track, const Peak& peak, double sure, std::uint64_t frame,
                      const TrackRules& rules);
  static void report(Track& track, const TrackRules& rules);
  void count_missed(std::uint64_t frame, const TrackRules& rules);
  void drop_ended(std::uint64_t frame, const TrackRules& rules);
  void follow_candidate(Track& track, std::uint64_t frame, Detections& detections,
                        const TrackRules& rules) const;
  void seek(Track& track, std::uint64_t frame, Detections& detections,
            const TrackRules& rules) const;
  void doubt(Track& track, std::uint64_t frame, Detections& detections) const;
  void move_to_candidate(Track& track, const TrackRules& rules,
                         TrackEvent event = TrackEvent::found);
  void settle(Track& track, const TrackRules& rules);
  static void tell_where(Track& track);
  void note_distractors(std::uint64_t frame, const Detections& detections, const TrackRules& rules);
  void follow(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
              const TrackRules& rules);
  void seek(Track& track, std::uint64_t frame, std::span<const RatedDetection> rated_detections,
            const TrackRules& rules) const;
  std::vector<const Peak*> pair(std::uint64_t frame, std::span<const Peak> detections,
                                std::span<const RatedDetection> rated_detections) const;
  void seek_and_settle(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
                       const TrackRules& rules);
  void start_new_boxes(std::uint64_t frame, const Detections& detections, const TrackRules& rules,
                       std::uint64_t& last_id);
  void depart(const Track& track);
  void see_again(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
                 const TrackRules& rules, std::uint64_t& last_id);
  bool may_go_on_alone(const Track& track, const TrackRules& rules) const;
  bool is_taken(const Track& by, const Box& box) const;
  bool is_of_another(const Track& track, const RatedDetection& rated_detection,
                     std::uint64_t frame) const;
  void start_new(std::uint64_t frame, const Detections& detections, const TrackRules& rules,
                 std::uint64_t& last_id);

  std::vector<Track> tracks_;
  std::optional<Track> departed_;  ///< with filters: the last one that left, no target any more
  Distractors distractors_;
  std::vector<TargetEvent> events_;
};

}  // namespace xcorr::follow
