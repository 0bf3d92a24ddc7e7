// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/follower.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace cudaxcorr {
namespace {

/// How many peaks are looked for besides those of the targets, and down to which closeness.
constexpr int further_peaks = 7, most_peaks = 1024;
constexpr double floor = 0.3;

/// Templates take up only what is closer than anything else in the window by this much.
constexpr double margin_to_update = 0.1;

/// Non-maximum suppression across searches, as each does within itself: of peaks closer than the
/// minimum distance only the best is kept. They come best first.
std::vector<xcorr::Peak> distinct(std::span<const xcorr::Peak> peaks, int min_distance) {
  std::vector<xcorr::Peak> kept;
  for (const xcorr::Peak& peak : peaks) {
    const auto limit = [&](int extent) { return min_distance ? min_distance : extent / 2; };
    const auto near = [&](const xcorr::Peak& other) {
      return std::abs(peak.x - other.x) < std::max(1, limit(peak.width)) &&
             std::abs(peak.y - other.y) < std::max(1, limit(peak.height));
    };
    if (std::none_of(kept.begin(), kept.end(), near)) kept.push_back(peak);
  }
  return kept;
}

}  // namespace

xcorr::MatchSettings search_for_tracks(const xcorr::MatchSettings& match) {
  xcorr::MatchSettings search = match;
  search.max_peaks = std::min(match.max_peaks + further_peaks, most_peaks);
  search.threshold = std::min(match.threshold, floor);
  search.subpixel_threshold = match.threshold;  // what is less only tells how sure a sight is
  search.approximate = true;                    // a target is expected to a pixel or so, no better
  return search;
}

void Follower::configure(const TrackSettings& settings, const xcorr::MatchSettings& match,
                         const xcorr::Rect& area, std::vector<double> zero_window_scores) {
  const FollowBy before = rules_.settings.by;
  rules_ = {settings, match.max_peaks, match.threshold, search_for_tracks(match).threshold, area};
  zero_window_scores_ = std::move(zero_window_scores);
  if (match.method != match_.method || match.prefilter_sigma != match_.prefilter_sigma)
    for (Tracker& tracker : trackers_) tracker.forget_scores();
  match_ = match;
  if (!settings.enabled || settings.by != before) end();
  schedule();
}

void Follower::replace_templates(std::span<const std::optional<std::size_t>> origins) {
  const auto index_now = [&](std::uint32_t before) {
    const auto now = std::ranges::find(origins, before);
    return now == origins.end() ? no_template : static_cast<std::uint32_t>(now - origins.begin());
  };
  for (std::uint32_t i = 0; i < trackers_.size(); ++i)
    if (index_now(i) == no_template) end(i);
  std::vector<Tracker> before = std::exchange(trackers_, std::vector<Tracker>(origins.size()));
  for (std::size_t i = 0; i < origins.size(); ++i)
    if (origins[i]) trackers_[i] = std::move(before[*origins[i]]);
  // What a flush or a setting did is told with the next frame.
  for (TargetEvent& event : events_)
    event.target.peak.template_index = index_now(event.target.peak.template_index);
  whole_frame_due_ = true;
  schedule();
}

void Follower::end() {
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) end(i);
  whole_frame_due_ = true;
}

void Follower::end_of_filters() {
  if (rules_.settings.by_filter()) end();
}

void Follower::end(std::uint32_t index) {
  trackers_[index].end();
  note_events(index);
}

void Follower::interrupt() {
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    trackers_[i].interrupt();
    note_events(i);
  }
  whole_frame_due_ = true;
}

std::vector<TemplatePlace> Follower::expectations(std::uint64_t frame) const {
  std::vector<TemplatePlace> expected;
  if (rules_.settings.by_filter()) return expected;
  for (std::uint32_t i = 0; i < trackers_.size(); ++i)
    for (const auto& [place, reach, seen, frames] : trackers_[i].places(frame, rules_))
      expected.push_back({i, place, reach, seen, frames});
  return expected;
}

/// Best first, each place once.
std::vector<std::vector<xcorr::Peak>> Follower::by_template(std::vector<xcorr::Peak> peaks) const {
  std::ranges::sort(peaks, [](const xcorr::Peak& a, const xcorr::Peak& b) {
    if (a.template_index != b.template_index) return a.template_index < b.template_index;
    return a.closeness > b.closeness;
  });
  std::vector<std::vector<xcorr::Peak>> sorted;
  auto first = peaks.begin();
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    const auto last = std::find_if(first, peaks.end(),
                                   [i](const xcorr::Peak& p) { return p.template_index != i; });
    sorted.push_back(distinct({first, last}, match_.min_peak_distance));
    first = last;
  }
  return sorted;
}

void Follower::update(std::uint64_t frame, std::vector<xcorr::Peak> peaks,
                      std::span<const Sighting> sightings) {
  since_whole_frame_ = whole_frame_due_ ? 1 : since_whole_frame_ + 1;
  whole_frame_due_ = false;
  const auto sorted = by_template(std::move(peaks));
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    if (rules_.settings.by_filter())
      trackers_[i].update(frame, sorted[i], sightings, rules_, last_id_);
    else
      trackers_[i].update(frame, sorted[i], rules_, last_id_);
    note_events(i);
  }
  schedule();
}

std::vector<xcorr::TargetBox> Follower::places_for_filters(std::uint64_t frame,
                                                           std::vector<xcorr::Peak> peaks) const {
  std::vector<xcorr::TargetBox> places;
  const auto sorted = by_template(std::move(peaks));
  for (std::size_t i = 0; i < trackers_.size(); ++i)
    std::ranges::copy(trackers_[i].places_for_filters(frame, sorted[i], rules_),
                      std::back_inserter(places));
  return places;
}

std::vector<xcorr::TargetBox> Follower::lessons() const {
  std::vector<xcorr::TargetBox> lessons;
  for (const Tracker& tracker : trackers_)
    std::ranges::copy(tracker.lessons(), std::back_inserter(lessons));
  return lessons;
}

std::vector<std::uint64_t> Follower::ids() const {
  std::vector<std::uint64_t> ids;
  for (const Tracker& tracker : trackers_)
    for (const Track& track : tracker.tracks()) ids.push_back(track.target.id);
  return ids;
}

void Follower::note_events(std::uint32_t index) {
  for (TargetEvent event : trackers_[index].events()) {
    event.target.peak.template_index = index;
    events_.push_back(event);
  }
}

std::vector<TargetEvent> Follower::take_events() { return std::exchange(events_, {}); }

/// A whole frame is due as soon as something is missing, and then at regular intervals.
void Follower::schedule() {
  const bool was_incomplete =
      std::exchange(incomplete_, std::ranges::any_of(trackers_, [this](const Tracker& tracker) {
                      return !tracker.complete(rules_.max_targets);
                    }));
  // What a template finds elsewhere is no reason to doubt a filter, which knows how the target has
  // changed.
  const int recheck = rules_.settings.by_filter() ? 0 : rules_.settings.recheck_interval;
  const int interval = incomplete_ ? rules_.settings.redetect_interval : recheck;
  if ((incomplete_ && !was_incomplete) || (interval > 0 && since_whole_frame_ >= interval))
    whole_frame_due_ = true;
}

std::vector<TemplatePlace> Follower::template_updates() const {
  std::vector<TemplatePlace> updates;
  if (!rules_.settings.updates()) return updates;
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    const xcorr::Peak* best = nullptr;
    for (const Track& track : trackers_[i].tracks()) {
      const xcorr::Peak& peak = track.target.peak;
      if (track.target.lost || track.target.state != TrackState::tracked ||
          peak.closeness < rules_.settings.update_score || track.margin < margin_to_update ||
          peak.inverted)
        continue;
      if (!best || peak.closeness > best->closeness) best = &peak;
    }
    if (best) updates.push_back({i, {best->x, best->y}, 0, *best});
  }
  return updates;
}

std::vector<Target> Follower::targets() const {
  std::vector<Target> targets;
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    const auto first = static_cast<std::ptrdiff_t>(targets.size());
    for (const Track& track : trackers_[i].tracks()) {
      targets.push_back(track.target);
      xcorr::Peak& peak = targets.back().peak;
      peak.template_index = i;  // it may have had another index when it was detected
      if (track.target.lost) peak.score = rules_.settings.by_filter() ? 0 : zero_window_scores_[i];
    }
    std::sort(targets.begin() + first, targets.end(), [](const Target& a, const Target& b) {
      if (a.lost != b.lost) return b.lost;
      if (a.peak.closeness != b.peak.closeness) return a.peak.closeness > b.peak.closeness;
      return a.id < b.id;
    });
  }
  return targets;
}

}  // namespace cudaxcorr
