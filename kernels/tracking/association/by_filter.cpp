// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The part of Targets that follows targets by their filters: templates find them, in whole frames,
// and filters say whether a peak is the target and where it goes from there.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "tracking/association/boxes.hpp"
#include "tracking/association/confidence.hpp"
#include "tracking/association/targets.hpp"

namespace xcorr::follow {
namespace {

/// A filter responds to its target with at least this share of what it did on average; with less
/// where that is sharp, since what turns or deforms is responded to less from frame to frame; to
/// one that was lost with more, since what looks like it may be there instead.
constexpr double least_share = 0.5, least_share_if_sharp = 0.2, least_share_to_find = 0.85;
/// How sure a detection has to be for that.
constexpr double sure_if_sharp = 0.9;

/// What stands still is learnt at one place between the pixels, and responded to less at any other,
/// but sharply still. How sure a detection has to be to be found with less.
constexpr double surest = 0.9997, least_share_if_surest = 0.7;

/// How sure a detection has to be to be learnt, and to be one of a target that was lost.
constexpr double sure_to_learn = 0.5, sure_to_find = 0.9;

/// Both where a lost target may be now, which is followed all along; and how sure it moves there.
constexpr double least_share_nearby = 0.5, sure_nearby = 0.4, sure_to_move = 0.005;
/// Frames after which that may be anything.
constexpr int most_frames_nearby = 50;

/// And of what is recognised there: half hidden or changed, a target is responded to with less.
constexpr double least_share_recognised = 0.4;

/// How sure a lost target has to be where its colours are, and what its filter must respond there:
/// what has turned or deformed is responded to sharply still, but with much less. Then what the
/// filter learnt last must resemble the first view.
constexpr double sure_by_color = 0.95, least_share_by_color = 0.25,
                 least_resemblance_by_color = 0.8;
/// Less surely if it is recognised, by colours that are more alike than where it was last.
constexpr double sure_if_recognised = 0.4, least_share_if_recognised = 0.15,
                 least_likeness_by_color = 0.6;
/// Of boxes with less than two pixels a cell many things have the colours.
constexpr double least_side_by_color = 20;

/// Every so many detections are learnt: others hardly differ. But all are that are responded to
/// with less than on average, since they do.
constexpr int detections_to_learn = 2;

/// Of a whole frame, the peaks at which a lost target is sought.
constexpr std::size_t peaks_to_try = 4;

/// A filter has ten cells across a target. With less than a pixel each all is blur, which resembles
/// any other: what is taken for the target then may be anything, and shrinks on. Pixels; a target
/// that was small from the first may have this share of its first size.
constexpr double least_side = 10, least_share_of_size = 0.5;

/// A target is followed over an edge as long as this share of it is in view: it may turn back.
constexpr double least_share_in_view = 0.3;
/// It leaves where so much less of it is in view than in the frame before.
constexpr double share_to_leave = 0.1;

/// Of a peak whose pose counts, as the template lies in it.
TurnedBox turned_box_of(const Peak& peak) {
  const Pose& pose = peak.pose;
  return {{pose.center_x + 0.5 - pose.width / 2, pose.center_y + 0.5 - pose.height / 2, pose.width,
           pose.height},
          pose.angle};
}

/// Upright, round its middle: how far it reaches across and down.
Point bounds_of(const TurnedBox& turned) {
  const auto& [box, angle] = turned;
  if (angle == 0) return {box.width, box.height};
  const double turn = angle * std::numbers::pi / 180;
  const double cosine = std::abs(std::cos(turn)), sine = std::abs(std::sin(turn));
  return {cosine * box.width + sine * box.height, sine * box.width + cosine * box.height};
}

Peak peak_of(const RatedDetection& rated_detection, const Track& track) {
  const auto& [x, y, width, height] = rated_detection.box;
  const auto [across, down] = bounds_of({rated_detection.box, rated_detection.angle});
  return {
      track.target.peak.template_index,
      x + 0.5 * (width - across),
      y + 0.5 * (height - down),
      static_cast<int>(std::lround(across)),
      static_cast<int>(std::lround(down)),
      rated_detection.response,
      std::clamp(rated_detection.response, 0.0, 1.0),
      {x + 0.5 * (width - 1), y + 0.5 * (height - 1), std::remainder(rated_detection.angle, 360),
       width / track.template_width, width, height}};
}

/// The box moved to another middle, which is kept in the area.
Box moved(const Box& box, double x, double y, const Rect& area) {
  x = std::clamp<double>(x, area.x, area.x + area.width - 1);
  y = std::clamp<double>(y, area.y, area.y + area.height - 1);
  return {x - box.width / 2, y - box.height / 2, box.width, box.height};
}

/// Whether the middle of one box lies in the other.
bool has_middle_of(const Box& box, const Box& other) {
  return std::abs(other.x + other.width / 2 - box.x - box.width / 2) <= box.width / 2 &&
         std::abs(other.y + other.height / 2 - box.y - box.height / 2) <= box.height / 2;
}

/// Of a square of the same area.
double side_of(const Box& box) { return std::sqrt(box.width * box.height); }

bool is_large_enough(const Box& box, const Track& track) {
  return side_of(box) >= least_side || box.width >= least_share_of_size * track.template_width;
}

/// Whether it lies where the target is followed, in that box, and is what was shown first.
bool is_recognised(const RatedDetection& one, const Track& track) {
  return one.recognition > 0 && one.response >= least_share_recognised * track.trace.usual &&
         has_middle_of(track.shadow.box, one.box);
}

/// Of what is followed: what its filter must respond at least, as a share of what it did on
/// average. What leaves is responded to with less, and less sharply: a part of it is not seen.
double least_share_of(const RatedDetection& one, const Track& track, const TrackRules& rules) {
  const double in_view = share_in(one.box, rules.area);
  const bool leaves = in_view <= share_in(track.last.box, rules.area) - share_to_leave;
  return one.confidence >= (leaves ? sure_to_learn : sure_if_sharp) ? least_share_if_sharp
                                                                    : least_share;
}

struct Judgement {
  double sure, resemblance;
};

/// By what the filter says, or by the recognition where that is not enough.
Judgement judge(const RatedDetection& one, const Track& track, const TrackRules& rules,
                bool recognised) {
  const double usual = track.trace.usual;
  const bool responds = one.response >= least_share_of(one, track, rules) * usual &&
                        one.confidence >= rules.settings.min_confidence;
  const double growth = usual > 0 ? std::max(one.response / usual, 1.0) : 1;
  const double most = growth > one.most_growth ? confidence_in_doubt : track.most;
  if (recognised && !responds) return {one.recognition, std::min(one.recognition, most)};
  return {one.confidence, std::min(one.resemblance, most)};
}

/// Whether its middle lies in the box where the target is expected, or no farther off than its
/// velocity is uncertain.
bool is_expected(const RatedDetection& rated_detection, const Track& track, std::uint64_t frame) {
  const int half = static_cast<int>(std::max(track.last.box.width, track.last.box.height) / 2);
  return track.trace.distance(peak_of(rated_detection, track), frame) <=
         track.trace.reach(frame, half);
}

/// The best peaks; of detections, which are all as good, the nearest.
std::vector<Peak> to_try(const Track& track, std::uint64_t frame, std::span<const Peak> peaks,
                         const TrackRules& rules) {
  std::vector<Peak> tried(peaks.begin(), peaks.end());
  if (rules.settings.detections)
    std::ranges::stable_sort(tried, {},
                             [&](const Peak& peak) { return track.trace.distance(peak, frame); });
  tried.resize(std::min(tried.size(), peaks_to_try));
  return tried;
}

/// As of a peak: what is nearer to where a target is expected is worth more.
double association_score(const RatedDetection& rated_detection, const Track& track,
                         std::uint64_t frame) {
  const double far = track.trace.distance(peak_of(rated_detection, track), frame);
  return track.trace.association_score(rated_detection.confidence, far, frame);
}

/// Of those that may be a target the one that is worth the most.
template <class MayBe>
const RatedDetection* best_of(const Track& track, std::uint64_t frame,
                              std::span<const RatedDetection> rated_detections, MayBe may_be) {
  const RatedDetection* best = nullptr;
  for (const RatedDetection& one : rated_detections)
    if (one.filter == track.filter && may_be(one) &&
        (!best || association_score(one, track, frame) > association_score(*best, track, frame)))
      best = &one;
  return best;
}

}  // namespace

std::vector<TargetBox> Targets::sought(const TrackRules& rules) const {
  std::vector<TargetBox> sought;
  for (const Track& track : tracks_) {
    const auto& [box, angle] = track.last;
    if (track.sought && !track.candidate)
      sought.push_back({track.filter,
                        moved(box, box.x + box.width / 2, box.y + box.height / 2, rules.area),
                        angle});
  }
  return sought;
}

std::vector<TargetBox> Targets::places_for_filters(std::uint64_t frame, std::span<const Peak> peaks,
                                                   const TrackRules& rules) const {
  std::vector<TargetBox> places;
  const auto add = [&](const Track& track, const TurnedBox& as, double x, double y) {
    places.push_back({track.filter, moved(as.box, x, y, rules.area), as.angle});
  };
  const auto add_expected = [&](const Track& track, const TurnedBox& as, const Trace& trace) {
    const Point corner = trace.expected(frame), bounds = bounds_of(as);
    add(track, as, corner.x + bounds.x / 2, corner.y + bounds.y / 2);
  };
  const auto add_again = [&](const Track& track, const TurnedBox& as) {
    add(track, as, as.box.x + as.box.width / 2, as.box.y + as.box.height / 2);
  };
  const auto add_all_of = [&](const Track& track) {
    if (track.candidate) return add_expected(track, track.of_candidate, *track.candidate);
    if (!track.sought) return add_expected(track, track.last, track.trace);
    if (!track.trace.anywhere) {
      add_again(track, track.shadow);
      if (track.trace.missed % 2)
        add_expected(track, track.last, track.trace);
      else
        add_again(track, track.last);
    }
    for (const Peak& peak : to_try(track, frame, peaks, rules)) {
      const double angle = rules.turns ? peak.pose.angle : 0;
      add(track, {track.last.box, angle}, peak.x + peak.width / 2.0, peak.y + peak.height / 2.0);
    }
  };
  std::ranges::for_each(tracks_, add_all_of);
  if (departed_) add_all_of(*departed_);
  return places;
}

void Targets::update(std::uint64_t frame, std::span<const Peak> peaks,
                     std::span<const RatedDetection> rated_detections, const TrackRules& rules,
                     std::uint64_t& last_id) {
  begin_update(rules);
  follow(frame, rated_detections, rules);
  seek_and_settle(frame, rated_detections, rules);
  see_again(frame, rated_detections, rules, last_id);
  Detections detections;
  for (const Peak& peak : peaks) {
    const bool free = std::ranges::none_of(tracks_, [&](const Track& track) {
      return overlap((track.candidate ? track.of_candidate : track.last).box, box_of(peak)) > 0;
    });
    if (free) detections.push_back(&peak);
  }
  start_new_boxes(frame, detections, rules, last_id);
}

void Targets::seek_and_settle(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
                              const TrackRules& rules) {
  count_missed(frame, rules);
  for (Track& track : tracks_) {
    if (track.sought) seek(track, frame, rated_detections, rules);
    settle(track, rules);
  }
}

void Targets::start_new_boxes(std::uint64_t frame, const Detections& detections,
                              const TrackRules& rules, std::uint64_t& last_id) {
  const std::size_t known = tracks_.size();
  start_new(frame, detections, rules, last_id);
  for (Track& track : std::span(tracks_).subspan(known)) {
    const Peak& peak = track.target.peak;
    track.shadow = track.last = rules.turns ? turned_box_of(peak) : TurnedBox{box_of(peak)};
    track.template_width = track.last.box.width / peak.pose.scale;
    track.trace.usual = track.trace.counted = 0;  // a template's similarity is another thing
    // The filter compares it with its first view alone, which was in doubt already.
    if (!rules.settings.detections && track.trace.sure < confidence_in_doubt)
      track.most = confidence_in_doubt;
  }
}

/// The surest first: of two targets at one place the other one is hidden.
void Targets::follow(std::uint64_t frame, std::span<const RatedDetection> rated_detections,
                     const TrackRules& rules) {
  std::vector<std::pair<Track*, const RatedDetection*>> seen;
  for (Track& track : tracks_) {
    if (track.sought || !track.target.lost || !may_go_on_alone(track, rules)) continue;
    const auto any = [](const RatedDetection&) { return true; };
    if (const RatedDetection* rated_detection = best_of(track, frame, rated_detections, any))
      seen.emplace_back(&track, rated_detection);
  }
  std::ranges::stable_sort(seen, [](const auto& a, const auto& b) {
    return a.second->confidence > b.second->confidence;
  });
  for (const auto& [track, rated_detection] : seen) {
    // What is elsewhere all at once may be another one, as where a lost target is found.
    const double share = is_expected(*rated_detection, *track, frame)
                             ? least_share_of(*rated_detection, *track, rules)
                             : least_share_to_find;
    const bool recognised = track->entered() && is_recognised(*rated_detection, *track);
    const bool beyond = !has_middle_in(rated_detection->box, rules.area);
    const bool may_be_beyond =
        track->entered() && share_in(rated_detection->box, rules.area) >= least_share_in_view;
    if ((rated_detection->response < share * track->trace.usual && !recognised) ||
        !is_large_enough(rated_detection->box, *track) || (beyond && !may_be_beyond) ||
        is_taken(*track, rated_detection->box))
      continue;
    const auto [sure, resemblance] = judge(*rated_detection, *track, rules, recognised);
    track->resemblance = resemblance;
    track->beyond = beyond;
    take_detection(*track, peak_of(*rated_detection, *track), sure, frame, rules);
    if (track->seen()) track->last = track->shadow = {rated_detection->box, rated_detection->angle};
  }
}

bool Targets::is_taken(const Track& by, const Box& box) const {
  return std::ranges::any_of(tracks_, [&](const Track& other) {
    return &other != &by && other.seen() && overlap(other.last.box, box) > same_place;
  });
}

/// Filters of targets that look the same respond alike: the place tells whose it is.
bool Targets::is_of_another(const Track& track, const RatedDetection& rated_detection,
                            std::uint64_t frame) const {
  return std::ranges::any_of(tracks_, [&](const Track& other) {
    return &other != &track && other.sought &&
           association_score(rated_detection, other, frame) >
               association_score(rated_detection, track, frame);
  });
}

void Targets::seek(Track& track, std::uint64_t frame,
                   std::span<const RatedDetection> rated_detections,
                   const TrackRules& rules) const {
  // The first place that was searched is the candidate's, or the shadow's.
  const auto first = std::ranges::find(rated_detections, track.filter, &RatedDetection::filter);
  // Beside it something else may look like it.
  const bool nearby = first != rated_detections.end() && !track.trace.anywhere &&
                      (!track.candidate || track.candidate_nearby) &&
                      has_middle_of(track.shadow.box, first->box);
  const bool recently = track.trace.missed <= most_frames_nearby;
  const auto is_nearby = [&](const RatedDetection& one) { return nearby && &one == &*first; };
  const auto is_known = [&](const RatedDetection& one) {
    return is_nearby(one) && one.recognition >= rules.settings.min_confidence &&
           is_recognised(one, track);
  };
  const auto is_by_color = [&](const RatedDetection& one) {
    if (!one.by_color && !(track.candidate && track.candidate_by_color && &one == &*first))
      return false;
    if (side_of(one.box) < least_side_by_color) return false;
    const double share = one.response / track.trace.usual;
    const bool recognised = one.recognition >= rules.settings.min_confidence &&
                            one.likeness >= least_likeness_by_color &&
                            one.confidence >= sure_if_recognised &&
                            share >= least_share_if_recognised;
    return recognised || (one.confidence >= sure_by_color && share >= least_share_by_color &&
                          one.resemblance >= least_resemblance_by_color);
  };
  const auto may_be = [&](const RatedDetection& one) {
    const bool soon = recently && is_nearby(one);
    const double share = soon                      ? least_share_nearby
                         : one.confidence < surest ? least_share_to_find
                                                   : least_share_if_surest;
    const double sure = std::max(soon ? sure_nearby : sure_to_find, rules.settings.min_confidence);
    const bool is_sure = one.confidence >= sure && one.response >= share * track.trace.usual;
    return (is_sure || is_known(one) || is_by_color(one)) && is_large_enough(one.box, track) &&
           has_middle_in(one.box, rules.area) && !is_taken(track, one.box) &&
           !is_of_another(track, one, frame);
  };
  const RatedDetection* const rated_detection = best_of(track, frame, rated_detections, may_be);
  // By where it was followed, before that moves on.
  const Judgement judgement =
      rated_detection ? judge(*rated_detection, track, rules,
                              is_known(*rated_detection) || is_by_color(*rated_detection))
                      : Judgement{};
  if (nearby && first->confidence >= sure_to_move && is_large_enough(first->box, track) &&
      has_middle_in(first->box, rules.area))
    track.shadow = {first->box, first->angle};
  if (!rated_detection) return track.candidate.reset();
  if (!track.candidate) {
    track.candidate_nearby = is_nearby(*rated_detection);
    track.candidate_by_color = is_by_color(*rated_detection);
  }
  const Peak peak = peak_of(*rated_detection, track);
  if (track.candidate)
    track.candidate->see(peak, frame);
  else
    track.candidate.emplace(peak, frame);
  track.candidate->sure = judgement.sure;
  track.resemblance = judgement.resemblance;
  track.of_candidate = {rated_detection->box, rated_detection->angle};
}

std::vector<TargetBox> Targets::training_samples() const {
  std::vector<TargetBox> training_samples;
  for (const Track& track : tracks_) {
    const bool first = track.trace.detections == 1;
    // Where another target is, too, what differs may be that one.
    const bool alone = std::ranges::none_of(tracks_, [&](const Track& other) {
      return &other != &track && overlap(other.last.box, track.last.box) > 0;
    });
    const bool differs = (alone && track.target.peak.score < track.trace.usual) ||
                         track.trace.detections % detections_to_learn == 0;
    // Of what is beyond the edge most would be learnt from pixels that nothing shows.
    if (track.seen() && !track.beyond && (first || (track.trace.sure >= sure_to_learn && differs)))
      training_samples.push_back({track.filter, track.last.box, track.last.angle});
  }
  return training_samples;
}

}  // namespace xcorr::follow
