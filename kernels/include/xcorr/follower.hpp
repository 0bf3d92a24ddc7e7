// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets: what templates find, followed from frame to frame. A Follower never touches pixels. It
// says where to search the next frame and takes the peaks found there, or the detections of
// filters. It decides which of them belongs to which target, whether that is certain enough to be
// reported, and when a target is lost, found again or gone. docs/tracking.md has the rules.
//
// A frame of an application's loop, with `matcher` for whole frames, `windows` for parts of them
// (with the settings of search_for_tracks()) and, with FollowBy::filter, `filters`:
//
//   peaks: those of `matcher` if follower.whole_frame_due(),
//          and those of `windows` around follower.expectations(n)
//   filters.seek_colors(frame, follower.sought(), n, by_color), if any is sought
//   places = follower.places_for_filters(n, peaks, by_color)
//   filters.locate(frame, places, detections)
//   follower.update(n, peaks, places, detections)
//   filters.train(frame, follower.training_samples()); filters.keep_only(follower.ids())
//   follower.targets(), follower.take_events()
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <xcorr/export.hpp>
#include <xcorr/match.hpp>
#include <xcorr/tracker.hpp>

namespace xcorr {

/// What follows a target, after its template has found it first.
enum class FollowBy {
  automatic,  ///< one of the next two, see follow_by()
  template_,
  filter,
};

struct TrackSettings {
  bool enabled = false;
  /// What is followed are the detections of a detector, given as peaks of each frame in which it
  /// ran, see peak_of_detection(). They are followed by filters.
  bool detections = false;
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
  double update_score = 0.6;    ///< the least similarity (see Peak) for that
  /// So many targets of all templates together are followed by filters; see
  /// Tracker::most_targets().
  int most_filters = std::numeric_limits<int>::max();

  bool operator==(const TrackSettings&) const = default;
  bool by_filter() const { return enabled && (by == FollowBy::filter || detections); }
  bool updates() const { return enabled && update > 0 && !by_filter(); }
};

/// The effective choice: template_ or filter. With poses templates are more exact; for more than
/// four targets of a template filters take longer than the rest of a frame.
XCORR_API FollowBy follow_by(const TrackSettings& tracking, const MatchSettings& match);

/// A detection, as the follower takes it. `kind`: what was detected, numbered from 0; detections of
/// one kind continue the targets of that kind, as peaks do those of a template.
XCORR_API Peak peak_of_detection(std::uint32_t kind, const Box& box, double confidence);

/// The settings of filters: angles are estimated where angles are searched.
XCORR_API TrackerSettings filters_for(const MatchSettings& match);

enum class TrackState {
  none,       ///< a peak that belongs to no track
  tentative,  ///< new, and detected in every frame since; or lost, and perhaps found again
  tracked,    ///< confirmed by several detections
  lost,       ///< missed for min_frames_for_lost frames
};

XCORR_API const char* name_of(TrackState state);

/// What is reported of a target.
struct Target {
  Peak peak;             ///< the last detection
  std::uint64_t id = 0;  ///< 0: no track
  TrackState state = TrackState::none;
  bool lost = false;                ///< not detected in this frame: the peak is an earlier one
  double confidence = 0;            ///< that the place is right, 0 to 1; 0 when lost
  std::optional<Peak> candidate{};  ///< when lost and tentative: where it may be again
};

/// Changes of a target's state. Each target that entered leaves or is dropped in the end.
enum class TrackEvent {
  entered,  ///< a new one was confirmed
  left,     ///< it ended: it went over an edge of what is searched
  lost,     ///< it was missed for min_frames_for_lost frames
  found,    ///< and is there again
  dropped,  ///< it ended otherwise: missed for forget_after frames, or by a change of settings
};

inline constexpr int track_events = 5;
XCORR_API const char* name_of(TrackEvent event);

/// The index of a target whose template has been removed.
inline constexpr auto no_template = std::numeric_limits<std::uint32_t>::max();

struct TargetEvent {
  TrackEvent event;
  Target target;
};

/// Where a target of a template is expected.
struct TemplatePlace {
  std::uint32_t template_index;
  double x, y;       ///< the top-left corner; may be outside the frame
  double reach = 0;  ///< how far around it is searched, pixels
  Peak seen = {};    ///< what was last seen of it,
  int frames = 1;    ///< so many frames ago
};

/// Settings of the search for tracks: more peaks than there are targets, and weaker ones, so that
/// targets can be distinguished from what looks like them.
XCORR_API MatchSettings search_for_tracks(const MatchSettings& match);

/// Independent of the device; copies are independent, too. The caller numbers the frames in
/// ascending order and may skip frames.
class XCORR_API Follower {
 public:
  Follower();
  Follower(const Follower&);
  Follower(Follower&&) noexcept;
  Follower& operator=(const Follower&);
  Follower& operator=(Follower&&) noexcept;
  ~Follower();

  /// Must be called first. Targets continue unless FollowBy changes. `match`: the argument of
  /// search_for_tracks(); `area`: the search region of whole frames; `zero_window_scores`: the
  /// score of a black template window, for each template.
  void configure(const TrackSettings& settings, const MatchSettings& match, const Rect& area,
                 std::vector<double> zero_window_scores);

  /// Replaces the templates. `origins` gives for each the index that it had before, if it is not
  /// new: such a template keeps its targets. `things`: as of keep_best_samples(); templates that
  /// show one thing have their targets in common. Empty: each shows another.
  void replace_templates(std::span<const std::optional<std::size_t>> origins,
                         std::span<const std::uint32_t> things = {});

  /// Ends all targets.
  void end();
  /// Ends all targets that filters follow.
  void end_of_filters();

  /// The stream has a gap before the next frame.
  void interrupt();

  /// With filters: TrackSettings::most_filters, once there are so many targets.
  std::optional<int> full() const;

  bool whole_frame_due() const;
  /// The places around which to search as well.
  std::vector<TemplatePlace> expectations(std::uint64_t frame) const;

  /// With filters: the targets that are lost and may be anywhere, as they were last.
  std::vector<TargetBox> sought() const;
  /// With filters: where each target's filter should search. `peaks`: of the whole frame, if that
  /// was due. `by_color`: where the colours of those that are sought are.
  std::vector<TargetBox> places_for_filters(std::uint64_t frame, std::vector<Peak> peaks,
                                            std::span<const TargetBox> by_color = {}) const;

  /// Takes the peaks of a frame: those of the search windows and, if it was due, those of the whole
  /// frame. A place may occur several times. `places`, `filter_detections`: with filters, where
  /// they searched and what they found.
  void update(std::uint64_t frame, std::vector<Peak> peaks, std::span<const TargetBox> places = {},
              std::span<const FilterDetection> filter_detections = {});

  /// With filters: the training samples in the frame of the last update(), and the ids of the
  /// filters that must be kept. These are those of the targets; but one that had left and came back
  /// has a new id and its filter, which is kept meanwhile.
  std::vector<TargetBox> training_samples() const;
  std::vector<std::uint64_t> ids() const;

  /// Places in the frame of the last update() where templates have seen, for the first time, what
  /// may be lost targets; `seen` is the peak. Refuse a place that does not resemble the target as
  /// it was at first.
  std::vector<TemplatePlace> found_again() const;
  void refuse(const TemplatePlace& place);

  /// Places in the frame of the last update() from which templates may be blended: for each
  /// template its best tracked target, if that matches well and nothing else nearly as well; `seen`
  /// is the peak.
  std::vector<TemplatePlace> template_updates() const;

  /// The events since the last call.
  std::vector<TargetEvent> take_events();

  /// In the order of templates. Within a template the targets detected in this frame come first,
  /// best first. The others have the score of a black template window.
  std::vector<Target> targets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
