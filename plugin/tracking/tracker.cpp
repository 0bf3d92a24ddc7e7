// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/tracker.h"

#include <algorithm>
#include <cmath>

#include "tracking/assignment.h"

namespace cudaxcorr {
namespace {

/// A target is believed when it was seen in so many frames in a row.
constexpr int sights_to_confirm = 3;

/// A distance that any frame is smaller than, in pixels.
constexpr double unlimited = 1e6;

/// Costs are shares of a target's reach and of its score. A target rather goes without a sight than
/// takes one as far off as it can reach, or takes it from a target that it suits better. A bad
/// score alone is no reason to: the scores of another method may all be bad ones.
constexpr double cost_of_none = 1, weight_of_score = 0.9;

double distance(const xcorr::Peak& peak, Point place) {
  return std::max(std::abs(peak.x - place.x), std::abs(peak.y - place.y));
}

/// How far from the expected place the target may be.
double reach(const Track& track, std::uint64_t frame, const TrackRules& rules) {
  if (track.anywhere) return unlimited;
  const double window = rules.settings.search_margin + 1;  // with the part of a pixel
  if (track.missed == 0) return window;
  // Out of sight it may have stopped, or turned, at the speed it had.
  const double speed = std::max(std::abs(track.velocity.x), std::abs(track.velocity.y));
  return window + 2 * speed * static_cast<double>(frame - track.seen_at);
}

/// By which share the score falls short of the one before, 0 to 1.
double shortfall(double score, double before, const TrackRules& rules) {
  const double less = rules.minimum ? score - before : before - score;
  const double scale = rules.minimum ? rules.black_score : before;
  return scale > 0 ? std::clamp(less / scale, 0.0, 1.0) : 0;
}

double cost(const Track& track, const xcorr::Peak& peak, std::uint64_t frame, double reach,
            const TrackRules& rules) {
  const double far = distance(peak, track.expected(frame)) / reach;
  if (far >= 1) return cost_of_none + 1;
  return far + weight_of_score * shortfall(peak.score, track.target.peak.score, rules);
}

/// The gain of the growing-memory g-h filter, which gives the velocity of the straight line through
/// all sights with least squares, down to a gain that follows turns.
double velocity_gain(int sights) {
  constexpr double least = 0.3;
  return std::max(least, 6.0 / ((sights + 1) * (sights + 2)));
}

/// The place is taken as measured: it is far more exact than the prediction.
void see(Track& track, const xcorr::Peak& peak, std::uint64_t frame, int margin) {
  const Point expected = track.expected(frame);
  if (track.anywhere || distance(peak, expected) > margin) {
    track.velocity = {};
    track.sights = 1;
  } else if (frame > track.seen_at) {
    const double gain = velocity_gain(track.sights++) / static_cast<double>(frame - track.seen_at);
    track.velocity.x += gain * (peak.x - expected.x);
    track.velocity.y += gain * (peak.y - expected.y);
  }
  const bool believed =
      track.target.state != TrackState::tentative || track.sights >= sights_to_confirm;
  track.target.peak = peak;
  track.target.state = believed ? TrackState::tracked : TrackState::tentative;
  track.target.lost = false;
  track.seen_at = frame;
  track.missed = 0;
  track.anywhere = false;
}

}  // namespace

const char* name_of(TrackState state) {
  constexpr const char* names[] = {"none", "tentative", "tracked", "lost"};
  return names[static_cast<int>(state)];
}

Point Track::expected(std::uint64_t frame) const {
  const auto frames = static_cast<double>(frame - seen_at);
  return {target.peak.x + frames * velocity.x, target.peak.y + frames * velocity.y};
}

void Tracker::update(std::uint64_t frame, std::span<const xcorr::Peak> peaks,
                     const TrackRules& rules, std::uint64_t& last_id) {
  keep_at_most(rules.most);
  for (Track& track : tracks_) track.target.lost = true;
  Sights sights;
  for (const xcorr::Peak& peak : peaks) sights.push_back(&peak);
  associate(Choosers::followed, frame, sights, rules);
  count_missed(rules);
  associate(Choosers::lost_nearby, frame, sights, rules);
  // When there can be no further target, what is left over must be one that was lost.
  if (static_cast<int>(tracks_.size()) >= rules.most)
    associate(Choosers::lost_anywhere, frame, sights, rules);
  for (const xcorr::Peak* peak : sights) {
    if (static_cast<int>(tracks_.size()) >= rules.most) break;
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

bool Tracker::complete(int most) const {
  return static_cast<int>(tracks_.size()) >= most &&
         std::none_of(tracks_.begin(), tracks_.end(), [](const Track& t) { return t.is_lost(); });
}

void Tracker::keep_at_most(int most) {
  if (static_cast<int>(tracks_.size()) <= most) return;
  std::stable_partition(tracks_.begin(), tracks_.end(),
                        [](const Track& track) { return !track.is_lost(); });
  tracks_.erase(tracks_.begin() + most, tracks_.end());
}

void Tracker::associate(Choosers choosers, std::uint64_t frame, Sights& sights,
                        const TrackRules& rules) {
  std::vector<Track*> wanting;
  for (Track& track : tracks_)
    if (track.target.lost && track.is_lost() == (choosers != Choosers::followed))
      wanting.push_back(&track);
  if (wanting.empty() || sights.empty()) return;

  std::vector<double> costs;
  for (const Track* track : wanting) {
    const double limit =
        choosers == Choosers::lost_anywhere ? unlimited : reach(*track, frame, rules);
    for (const xcorr::Peak* peak : sights)
      costs.push_back(cost(*track, *peak, frame, limit, rules));
  }
  const std::vector<int> chosen = assign(costs, static_cast<int>(sights.size()), cost_of_none);
  for (std::size_t i = 0; i < wanting.size(); ++i) {
    if (chosen[i] < 0) continue;
    see(*wanting[i], *sights[chosen[i]], frame, rules.settings.search_margin);
    sights[chosen[i]] = nullptr;
  }
  std::erase(sights, nullptr);
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
