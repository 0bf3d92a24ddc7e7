// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of Targets that follows what a detector finds: detections say where targets are, filters
// say which is which and go on where a detection is missing, because the detector does not run in
// each frame or misses one. Tracking by detection as in SORT (Bewley et al., 2016), with the
// response of a filter in place of the predicted box.
#include <algorithm>

#include "tracking/association/assignment.hpp"
#include "tracking/association/boxes.hpp"
#include "tracking/association/targets.hpp"

namespace xcorr::follow {
namespace {

/// A detection belongs to a target whose box it overlaps by this at least.
constexpr double least_overlap = 0.3;

/// A filter says where its target is if it responds with at least this share of what it did on
/// average and is this sure; else the motion does.
constexpr double least_share = 0.5, least_sure = 0.4;

/// A detection is a lost target if the target's filter responds to it with this share at least.
constexpr double least_share_to_find = 0.6;

/// A detector says the same twice: the overlap from which it does.
constexpr double twice = 0.7;

/// More detections are not looked at, the surest first.
constexpr std::size_t most_detections = 1024;

const RatedDetection* rated_of(const Track& track,
                               std::span<const RatedDetection> rated_detections) {
  const auto found = std::ranges::find(rated_detections, track.filter, &RatedDetection::filter);
  return found == rated_detections.end() ? nullptr : &*found;
}

bool says_where(const RatedDetection* rated, const Track& track) {
  return rated && rated->response >= least_share * track.trace.usual &&
         rated->confidence >= least_sure;
}

Box expected_box(const Track& track, std::uint64_t frame) {
  const auto [x, y] = track.trace.expected(frame);
  return {x, y, track.last.box.width, track.last.box.height};
}

/// How well a detection fits a lost target, 0 to 1: what its filter says of that place.
double likeness(const Track& track, const Peak& detection,
                std::span<const RatedDetection> rated_detections) {
  double best = 0;
  for (const RatedDetection& rated : rated_detections)
    if (rated.filter == track.filter && rated.confidence >= least_sure &&
        rated.response >= least_share_to_find * track.trace.usual)
      best = std::max(best, std::min(1.0, rated.response / track.trace.usual) *
                                overlap(rated.box, box_of(detection)));
  return best;
}

/// Each thing once. They come surest first.
std::vector<Peak> distinct(std::span<const Peak> detections) {
  std::vector<Peak> kept;
  for (const Peak& one : detections.first(std::min(detections.size(), most_detections)))
    if (std::ranges::none_of(
            kept, [&](const Peak& other) { return overlap(box_of(one), box_of(other)) > twice; }))
      kept.push_back(one);
  return kept;
}

}  // namespace

/// The detection of each target, or null: so that what they have in common has the largest sum.
/// That of targets in view are overlaps, and come before the likeness of lost ones.
std::vector<const Peak*> Targets::pair(std::uint64_t frame, std::span<const Peak> detections,
                                       std::span<const RatedDetection> rated_detections) const {
  std::vector<const Peak*> paired(tracks_.size());
  if (detections.empty() || tracks_.empty()) return paired;
  std::vector<double> costs;
  for (const Track& track : tracks_) {
    const RatedDetection* rated = rated_of(track, rated_detections);
    const Box box = says_where(rated, track) ? rated->box : expected_box(track, frame);
    for (const Peak& one : detections)
      costs.push_back(track.sought ? -likeness(track, one, rated_detections)
                                   : -overlap(box, box_of(one)) - 1);
    if (!track.sought)
      for (double& cost : std::span(costs).last(detections.size()))
        if (cost > -1 - least_overlap) cost = 0;
  }
  const auto chosen = assign(costs, static_cast<int>(detections.size()), -least_overlap);
  for (std::size_t i = 0; i < tracks_.size(); ++i)
    if (chosen[i] >= 0) paired[i] = &detections[chosen[i]];
  return paired;
}

void Targets::update_by_detections(std::uint64_t frame, std::span<const Peak> all,
                                   std::span<const RatedDetection> rated_detections,
                                   const TrackRules& rules, std::uint64_t& last_id) {
  begin_update(rules);
  const std::vector<Peak> detections = distinct(all);
  const auto paired = pair(frame, detections, rated_detections);
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    Track& track = tracks_[i];
    track.unconfirmed = paired[i] ? 0 : track.unconfirmed + !detections.empty();
    if (!paired[i]) continue;
    const RatedDetection* rated = rated_of(track, rated_detections);
    Peak peak = *paired[i];
    // What is usual is a filter's response.
    peak.similarity = rated ? std::clamp(rated->response, 0.0, 1.0) : track.trace.usual;
    const double sure = std::max(paired[i]->similarity, rated ? rated->confidence : 0);
    track.resemblance = 1;  // the detector has seen it
    if (track.sought) {
      track.candidate.emplace(peak, frame).sure = sure;
      track.of_candidate = {box_of(peak)};
      move_to_candidate(track, rules);
    } else {
      take_detection(track, peak, sure, frame, rules);
    }
    if (track.seen()) track.last = track.shadow = {box_of(peak)};
  }
  follow(frame, rated_detections, rules);
  seek_and_settle(frame, rated_detections, rules);

  Detections free;
  for (const Peak& one : detections) {
    const bool is_taken = std::ranges::find(paired, &one) != paired.end() ||
                          std::ranges::any_of(tracks_, [&](const Track& track) {
                            return (track.seen() || track.candidate) &&
                                   overlap((track.candidate ? track.of_candidate : track.last).box,
                                           box_of(one)) > same_place;
                          });
    if (!is_taken) free.push_back(&one);
  }
  start_new_boxes(frame, free, rules, last_id);
}

/// With detections a filter alone is not believed for ever, and a new target not at all.
bool Targets::may_go_on_alone(const Track& track, const TrackRules& rules) const {
  return track.unconfirmed < (track.entered() ? rules.settings.min_frames_for_lost : 1);
}

}  // namespace xcorr::follow
