// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/tracker.h"

#include <algorithm>
#include <cmath>

#include "tracking/assignment.h"

namespace cudaxcorr {
namespace {

/// A target is confirmed when it was detected in this many frames in a row.
constexpr int detections_to_confirm = 3;

/// A distance beyond any frame, in pixels.
constexpr double unlimited = 1e6;

/// A cost is the distance as a fraction of the target's reach, plus the weighted loss of score. At
/// `cost_of_none` a target is left without a detection: one as far away as it can reach, or one
/// that fits another target better, is not worth taking. A bad score alone never costs that much,
/// since after a change of method all scores may look bad.
constexpr double cost_of_none = 1, weight_of_score = 0.9;

double distance(const xcorr::Peak& peak, Point place) {
  return std::max(std::abs(peak.x - place.x), std::abs(peak.y - place.y));
}

/// How far from its expected place the target may be.
double reach(const Track& track, std::uint64_t frame, const TrackRules& rules) {
  if (track.anywhere) return unlimited;
  const double window = rules.settings.search_margin + 1;  // places have fractions of a pixel
  if (track.missed == 0) return window;
  // Undetected, it may have stopped or turned.
  const double speed = std::max(std::abs(track.velocity.x), std::abs(track.velocity.y));
  return window + 2 * speed * static_cast<double>(frame - track.detected_at);
}

/// How much worse the score is than the one before, as a fraction, 0 to 1.
double shortfall(double score, double before, const TrackRules& rules) {
  const double less = rules.minimum ? score - before : before - score;
  const double scale = rules.minimum ? rules.zero_window_score : before;
  return scale > 0 ? std::clamp(less / scale, 0.0, 1.0) : 0;
}

double cost(const Track& track, const xcorr::Peak& peak, std::uint64_t frame, double reach,
            const TrackRules& rules) {
  const double far = distance(peak, track.expected(frame)) / reach;
  if (far >= 1) return cost_of_none + 1;
  return far + weight_of_score * shortfall(peak.score, track.target.peak.score, rules);
}

/// The gain of the growing-memory g-h filter, which gives the slope of the least-squares line
/// through all detections, but no less than a gain that still follows turns.
double velocity_gain(int detections) {
  constexpr double min_gain = 0.3;
  return std::max(min_gain, 6.0 / ((detections + 1) * (detections + 2)));
}

/// The measured place is taken as it is, being far more accurate than the prediction.
void take_detection(Track& track, const xcorr::Peak& peak, std::uint64_t frame, int margin) {
  const Point expected = track.expected(frame);
  if (track.anywhere || distance(peak, expected) > margin) {
    track.velocity = {};
    track.detections = 1;
  } else if (frame > track.detected_at) {
    const double gain =
        velocity_gain(track.detections++) / static_cast<double>(frame - track.detected_at);
    track.velocity.x += gain * (peak.x - expected.x);
    track.velocity.y += gain * (peak.y - expected.y);
  }
  const bool confirmed =
      track.target.state != TrackState::tentative || track.detections >= detections_to_confirm;
  track.target.peak = peak;
  track.target.state = confirmed ? TrackState::tracked : TrackState::tentative;
  track.target.lost = false;
  track.detected_at = frame;
  track.missed = 0;
  track.anywhere = false;
}

}  // namespace

const char* name_of(TrackState state) {
  constexpr const char* names[] = {"none", "tentative", "tracked", "lost"};
  return names[static_cast<int>(state)];
}

Point Track::expected(std::uint64_t frame) const {
  const auto frames = static_cast<double>(frame - detected_at);
  return {target.peak.x + frames * velocity.x, target.peak.y + frames * velocity.y};
}

void Tracker::update(std::uint64_t frame, std::span<const xcorr::Peak> peaks,
                     const TrackRules& rules, std::uint64_t& last_id) {
  keep_at_most(rules.max_targets);
  for (Track& track : tracks_) track.target.lost = true;
  Detections detections;
  for (const xcorr::Peak& peak : peaks) detections.push_back(&peak);
  associate(Candidates::followed, frame, detections, rules);
  count_missed(rules);
  associate(Candidates::lost_nearby, frame, detections, rules);
  // With all targets in use, a peak left over must be a lost one.
  if (static_cast<int>(tracks_.size()) >= rules.max_targets)
    associate(Candidates::lost_anywhere, frame, detections, rules);
  for (const xcorr::Peak* peak : detections) {
    if (static_cast<int>(tracks_.size()) >= rules.max_targets) break;
    tracks_.push_back({{*peak, ++last_id, TrackState::tentative}, {}, frame});
  }
}

void Tracker::interrupt() {
  std::erase_if(tracks_,
                [](const Track& track) { return track.target.state == TrackState::tentative; });
  for (Track& track : tracks_) {
    track.target.state = TrackState::lost;
    track.velocity = {};
    track.anywhere = true;
  }
}

bool Tracker::complete(int max_targets) const {
  return static_cast<int>(tracks_.size()) >= max_targets &&
         std::none_of(tracks_.begin(), tracks_.end(), [](const Track& t) { return t.is_lost(); });
}

void Tracker::keep_at_most(int max_targets) {
  if (static_cast<int>(tracks_.size()) <= max_targets) return;
  std::stable_partition(tracks_.begin(), tracks_.end(),
                        [](const Track& track) { return !track.is_lost(); });
  tracks_.erase(tracks_.begin() + max_targets, tracks_.end());
}

void Tracker::associate(Candidates which, std::uint64_t frame, Detections& detections,
                        const TrackRules& rules) {
  std::vector<Track*> candidates;
  for (Track& track : tracks_)
    if (track.target.lost && track.is_lost() == (which != Candidates::followed))
      candidates.push_back(&track);
  if (candidates.empty() || detections.empty()) return;

  std::vector<double> costs;
  for (const Track* track : candidates) {
    const double limit =
        which == Candidates::lost_anywhere ? unlimited : reach(*track, frame, rules);
    for (const xcorr::Peak* peak : detections)
      costs.push_back(cost(*track, *peak, frame, limit, rules));
  }
  const std::vector<int> chosen = assign(costs, static_cast<int>(detections.size()), cost_of_none);
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (chosen[i] < 0) continue;
    take_detection(*candidates[i], *detections[chosen[i]], frame, rules.settings.search_margin);
    detections[chosen[i]] = nullptr;
  }
  std::erase(detections, nullptr);
}

void Tracker::count_missed(const TrackRules& rules) {
  std::erase_if(tracks_, [](const Track& track) {
    return track.target.lost && track.target.state == TrackState::tentative;
  });
  for (Track& track : tracks_) {
    if (!track.target.lost || track.is_lost()) continue;
    if (++track.missed >= rules.settings.min_frames_for_lost) track.target.state = TrackState::lost;
  }
}

}  // namespace cudaxcorr
