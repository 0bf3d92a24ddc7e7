// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of Targets that ends them, and knows again what has left. It had changed since the
// template showed it, as only its filter knows: by that it is sought for a while at the peaks of
// whole frames. It comes back as a new target, with the filter that it had.
#include <utility>

#include "tracking/association/confidence.hpp"
#include "tracking/association/targets.hpp"

namespace xcorr::follow {
namespace {

/// How far over an edge a target is expected that has left, pixels.
constexpr int beyond_edge = 1;

}  // namespace

void Targets::drop_ended(std::uint64_t frame, const TrackRules& rules) {
  const bool by_filter = rules.settings.by_filter();
  // Templates end at an edge; a filter goes on until the target's middle is beyond it.
  const double inside = by_filter ? 0.5 : 0;
  const auto crossed_edge = [&](const Track& track) {
    const auto& [x, y, width, height] = track.last.box;
    const auto& area = rules.area;
    return x < area.x || y < area.y || x + width > area.x + area.width ||
           y + height > area.y + area.height;
  };
  const auto over_edge = [&](const Track& track) {
    const Point place = track.trace.expected(frame), velocity = track.trace.motion.velocity();
    // A filter sees its target leave; what it lost farther inside may be there yet.
    const double beyond =
        by_filter && !crossed_edge(track) ? track.trace.reach(frame, beyond_edge) : beyond_edge;
    const auto over = [&](double at, double speed, int extent, int begin, int length) {
      return (speed < 0 && at + inside * extent < begin - beyond) ||
             (speed > 0 && at + (1 - inside) * extent > begin + length + beyond);
    };
    const auto& [x, y, width, height] = rules.area;
    return over(place.x, velocity.x, track.target.peak.width, x, width) ||
           over(place.y, velocity.y, track.target.peak.height, y, height);
  };
  std::erase_if(tracks_, [&](const Track& track) {
    if (track.seen()) return false;
    if (!track.sought && !track.entered()) return true;
    // What was lost elsewhere may have turned back long before.
    const bool may_leave = !track.sought || (by_filter && crossed_edge(track) && !track.candidate &&
                                             !track.trace.anywhere);
    // A filter may see it again where it turns back; of several that look the same, the next one.
    const bool may_turn_back = by_filter && rules.max_targets == 1 &&
                               track.trace.missed < rules.settings.min_frames_for_lost;
    if (may_leave && !may_turn_back && over_edge(track)) {
      tell(TrackEvent::left, track);
      if (by_filter && !rules.settings.detections) depart(track);
      return true;
    }
    if (!track.sought) return false;
    const int limit = rules.settings.forget_after;
    if (limit == 0 || track.trace.missed <= limit || track.candidate) return false;
    tell(TrackEvent::dropped, track);
    return true;
  });
}

/// A filter that may have learnt something else by then would find that again.
void Targets::depart(const Track& track) {
  if (track.resemblance < confidence_in_doubt) return;
  departed_ = track;
  departed_->sought = departed_->trace.anywhere = true;
  departed_->candidate.reset();
}

/// Where there is no room for another target, one of those that there are may be it.
void Targets::see_again(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
                        const TrackRules& rules, std::uint64_t& last_id) {
  if (!departed_) return;
  const int limit = rules.settings.forget_after, missed = ++departed_->trace.missed;
  const bool too_late = limit > 0 && missed > limit && !departed_->candidate;
  if (too_late || static_cast<int>(tracks_.size()) >= rules.max_targets) return departed_.reset();
  seek(*departed_, frame, rated_detections, rules);
  const auto& candidate = departed_->candidate;
  if (!candidate || candidate->detections < detections_to_confirm) return;
  Track& track = tracks_.emplace_back(*std::exchange(departed_, {}));
  track.target.id = ++last_id;
  move_to_candidate(track, rules, TrackEvent::entered);
}

std::vector<std::uint64_t> Targets::ids() const {
  std::vector<std::uint64_t> ids;
  for (const Track& track : tracks_) ids.push_back(track.filter);
  if (departed_) ids.push_back(departed_->filter);
  return ids;
}

}  // namespace xcorr::follow
