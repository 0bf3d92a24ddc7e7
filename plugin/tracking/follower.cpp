// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/follower.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace cudaxcorr {
namespace {

bool better(const xcorr::Peak& a, const xcorr::Peak& b, bool minimum) {
  return minimum ? a.score < b.score : a.score > b.score;
}

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

void Follower::configure(const TrackSettings& settings, const xcorr::MatchSettings& match,
                         std::vector<double> zero_window_scores) {
  rules_ = {settings, match.max_peaks, xcorr::info(match.method).minimum};
  zero_window_scores_ = std::move(zero_window_scores);
  min_peak_distance_ = match.min_peak_distance;
  if (!settings.enabled) {
    std::ranges::fill(trackers_, Tracker());
    whole_frame_due_ = true;
  }
  schedule();
}

void Follower::replace_templates(std::span<const std::optional<std::size_t>> origins) {
  std::vector<Tracker> before = std::exchange(trackers_, std::vector<Tracker>(origins.size()));
  for (std::size_t i = 0; i < origins.size(); ++i)
    if (origins[i]) trackers_[i] = std::move(before[*origins[i]]);
  whole_frame_due_ = true;
  schedule();
}

void Follower::interrupt() {
  for (Tracker& tracker : trackers_) tracker.interrupt();
  whole_frame_due_ = true;
}

std::vector<TemplatePlace> Follower::expectations(std::uint64_t frame) const {
  std::vector<TemplatePlace> expected;
  for (std::uint32_t i = 0; i < trackers_.size(); ++i)
    for (const Track& track : trackers_[i].tracks()) expected.push_back({i, track.expected(frame)});
  return expected;
}

void Follower::update(std::uint64_t frame, std::vector<xcorr::Peak> peaks) {
  since_whole_frame_ = whole_frame_due_ ? 1 : since_whole_frame_ + 1;
  whole_frame_due_ = false;
  std::ranges::sort(peaks, [this](const xcorr::Peak& a, const xcorr::Peak& b) {
    if (a.template_index != b.template_index) return a.template_index < b.template_index;
    return better(a, b, rules_.minimum);
  });
  auto first = peaks.begin();
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    const auto last = std::find_if(first, peaks.end(),
                                   [i](const xcorr::Peak& p) { return p.template_index != i; });
    rules_.zero_window_score = zero_window_scores_[i];
    trackers_[i].update(frame, distinct({first, last}, min_peak_distance_), rules_, last_id_);
    first = last;
  }
  schedule();
}

/// A whole frame is due as soon as something is missing, and then at regular intervals.
void Follower::schedule() {
  const bool was_incomplete =
      std::exchange(incomplete_, std::ranges::any_of(trackers_, [this](const Tracker& tracker) {
                      return !tracker.complete(rules_.max_targets);
                    }));
  if (incomplete_ && (!was_incomplete || since_whole_frame_ >= rules_.settings.redetect_interval))
    whole_frame_due_ = true;
}

std::vector<TemplatePlace> Follower::template_updates() const {
  std::vector<TemplatePlace> updates;
  if (!rules_.settings.updates()) return updates;
  for (std::uint32_t i = 0; i < trackers_.size(); ++i) {
    const xcorr::Peak* best = nullptr;
    for (const Track& track : trackers_[i].tracks()) {
      const auto& [peak, id, state, lost] = track.target;
      if (lost || state != TrackState::tracked || peak.closeness < rules_.settings.update_score)
        continue;
      if (!best || better(peak, *best, rules_.minimum)) best = &peak;
    }
    if (best) updates.push_back({i, {best->x, best->y}});
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
      if (track.target.lost) peak.score = zero_window_scores_[i];
    }
    std::sort(targets.begin() + first, targets.end(), [this](const Target& a, const Target& b) {
      if (a.lost != b.lost) return b.lost;
      if (a.peak.score != b.peak.score) return better(a.peak, b.peak, rules_.minimum);
      return a.id < b.id;
    });
  }
  return targets;
}

}  // namespace cudaxcorr
