// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets: what templates find, followed from frame to frame. A Follower computes nothing of
// pixels: it says where to search the next frame and takes the peaks found there, or the sights of
// filters, and decides which of them is which target, whether that is sure enough to be reported,
// and when a target is lost, found again or gone. docs/tracking.md has the rules.
//
// A frame of an application's loop, with `matcher` for whole frames, `windows` for parts of them
// (with the settings of search_for_tracks()) and, with FollowBy::filter, `filters`:
//
//   peaks: those of `matcher` if follower.whole_frame_due(),
//          and those of `windows` around follower.expectations(n)
//   places = follower.places_for_filters(n, peaks); filters.locate(frame, places, sights)
//   follower.update(n, peaks, places, sights)
//   filters.train(frame, follower.lessons()); filters.keep_only(follower.ids())
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

/// What finds a target in the frames after the one in which its template found it.
enum class FollowBy {
  automatic,  ///< that of the next two which suits what is searched, see follow_by()
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
  double update_score = 0.6;    ///< the least closeness (see Peak) for that

  bool operator==(const TrackSettings&) const = default;
  bool by_filter() const { return enabled && by == FollowBy::filter; }
  bool updates() const { return enabled && update > 0 && by != FollowBy::filter; }
};

/// What targets are followed by: template_ or filter. Where poses are asked for, templates tell
/// them more exactly, and for more than four targets of a template filters take longer than the
/// rest of a frame.
XCORR_API FollowBy follow_by(const TrackSettings& tracking, const MatchSettings& match);

/// What filters have to find of targets: their angles where angles are searched.
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
  bool lost = false;      ///< not detected in this frame: the peak is an earlier one
  double confidence = 0;  ///< that the place is right, 0 to 1; 0 when lost
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
XCORR_API const char* name_of(TrackEvent event);

/// A target of a template that is not there any more has this index.
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

/// How to search for peaks, so that targets can be told from what looks like them: for more of them
/// than there are targets, and for worse ones.
XCORR_API MatchSettings search_for_tracks(const MatchSettings& match);

/// Works the same with any device, and copies are independent. Frames are numbered by the caller,
/// ever higher; those that are not analysed may be left out.
class XCORR_API Follower {
 public:
  Follower();
  Follower(const Follower&);
  Follower(Follower&&) noexcept;
  Follower& operator=(const Follower&);
  Follower& operator=(Follower&&) noexcept;
  ~Follower();

  /// To be called before all else. Targets go on unless what follows them changes. `match`: what
  /// search_for_tracks() was given; `area`: what is searched of the frame; `zero_window_scores`:
  /// what a window of zeros scores, for each template.
  void configure(const TrackSettings& settings, const MatchSettings& match, const Rect& area,
                 std::vector<double> zero_window_scores);

  /// Replaces the templates. `origins` gives for each the index that it had before, if it is not
  /// new: such a template keeps its targets.
  void replace_templates(std::span<const std::optional<std::size_t>> origins);

  /// All targets end.
  void end();
  /// All that filters follow.
  void end_of_filters();

  /// The stream has a gap before the next frame.
  void interrupt();

  bool whole_frame_due() const;
  /// Around which places to search besides.
  std::vector<TemplatePlace> expectations(std::uint64_t frame) const;

  /// With filters: where each target's is to look for it. `peaks`: of the whole frame, if that was
  /// due.
  std::vector<TargetBox> places_for_filters(std::uint64_t frame, std::vector<Peak> peaks) const;

  /// Takes the peaks of a frame: those of the windows and, if it was due, those of the whole frame.
  /// The same place may be among them several times. `places`, `sights`: with filters, where these
  /// were to look, and what they have found there.
  void update(std::uint64_t frame, std::vector<Peak> peaks, std::span<const TargetBox> places = {},
              std::span<const Sight> sights = {});

  /// With filters: what they are to learn of the frame of the last update(), and the ids of all
  /// targets, which are the only ones to keep.
  std::vector<TargetBox> lessons() const;
  std::vector<std::uint64_t> ids() const;

  /// Where in the frame of the last update() templates saw, for the first time, what may be targets
  /// that were lost; `seen` is its peak. If that is nothing like what a target was at first, it can
  /// be refused.
  std::vector<TemplatePlace> found_again() const;
  void refuse(const TemplatePlace& place);

  /// Where in the frame of the last update() templates may be blended: for each, its best tracked
  /// target, if that matches well and nothing else does nearly as well; `seen` is its peak.
  std::vector<TemplatePlace> template_updates() const;

  /// What has become of targets since the last call.
  std::vector<TargetEvent> take_events();

  /// Templates in order. Within a template, targets detected in this frame come first, best first;
  /// the others have the score of a window of zeros.
  std::vector<Target> targets() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace xcorr
