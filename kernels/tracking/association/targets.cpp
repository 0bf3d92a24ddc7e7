// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/targets.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "tracking/association/assignment.hpp"
#include "tracking/association/confidence.hpp"

namespace xcorr::follow {
namespace {

/// A lost target is found only where it is closer to the template than this share of what it was.
constexpr double least_share = 0.85;

/// A target moves to another place only if that is closer to the template by this much.
constexpr double margin_to_move = 0.1;

/// What a target has to find, or it is left without a detection.
constexpr double least_association_score = -0.7;

constexpr double impossible = 10;

/// Whether the places have pixels in common. Then a peak beside another one may be its echo.
bool meet(const Peak& a, const Peak& b) {
  return std::abs(a.x - b.x) < std::max(a.width, b.width) &&
         std::abs(a.y - b.y) < std::max(a.height, b.height);
}

/// By how much the chosen one is worth more than the best of the others, of which `alike` may be
/// as good, and than something of the least similarity searched for.
double margin(std::vector<double> association_scores, std::size_t chosen, std::size_t alike,
              double floor) {
  const double association_score = association_scores[chosen];
  association_scores.erase(association_scores.begin() + static_cast<std::ptrdiff_t>(chosen));
  if (alike >= association_scores.size()) return association_score - floor;
  const auto next = association_scores.begin() + static_cast<std::ptrdiff_t>(alike);
  std::ranges::nth_element(association_scores, next, std::ranges::greater());
  return association_score - std::max(*next, floor);
}

std::vector<double> association_scores_of(const Trace& trace,
                                          std::span<const Peak* const> detections,
                                          std::uint64_t frame) {
  std::vector<double> association_scores;
  for (const Peak* peak : detections)
    association_scores.push_back(
        trace.association_score(peak->similarity, trace.distance(*peak, frame), frame));
  return association_scores;
}

double association_score_of_floor(const Trace& trace, std::uint64_t frame,
                                  const TrackRules& rules) {
  return trace.association_score(rules.floor, rules.settings.search_margin, frame);
}

}  // namespace

void Targets::update(std::uint64_t frame, std::span<const Peak> peaks, const TrackRules& rules,
                     std::uint64_t& last_id) {
  begin_update(rules);
  Detections detections;
  for (const Peak& peak : peaks) detections.push_back(&peak);
  follow(frame, detections, rules);
  count_missed(frame, rules);
  for (Track& track : tracks_)
    if (track.candidate) follow_candidate(track, frame, detections, rules);
  const bool all = complete(rules.max_targets);
  distractors_.forget_lost(frame);
  const Detections distractors = all ? Detections() : distractors_.see(detections, frame);
  for (Track& track : tracks_) {
    if (!track.candidate && track.sought) seek(track, frame, detections, rules);
    if (!track.candidate && all) doubt(track, frame, detections);
    settle(track, rules);
  }
  if (all) note_distractors(frame, detections, rules);
  detections.insert(detections.end(), distractors.begin(), distractors.end());
  std::ranges::sort(detections, std::ranges::greater(), &Peak::similarity);
  start_new(frame, detections, rules, last_id);
}

void Targets::begin_update(const TrackRules& rules) {
  events_.clear();
  keep_at_most(rules.max_targets);
  for (Track& track : tracks_) {
    track.target.lost = true;
    track.target.confidence = 0;
    track.margin = 0;
    track.beyond = false;
    ++track.trace.missed;
  }
}

// ---- targets in view ------------------------------------------------------------------------

/// All peaks are assigned to all targets at once, so that nearby ones don't take each other's.
void Targets::follow(std::uint64_t frame, Detections& detections, const TrackRules& rules) {
  std::vector<Track*> followed;
  for (Track& track : tracks_)
    if (!track.sought) followed.push_back(&track);
  if (followed.empty() || detections.empty()) return;

  const std::size_t columns = detections.size();
  std::vector<std::vector<double>> association_scores;
  std::vector<double> costs;
  for (const Track* track : followed) {
    association_scores.push_back(association_scores_of(track->trace, detections, frame));
    // Places have fractions of a pixel.
    const double reach = track->trace.reach(frame, rules.settings.search_margin) + 1;
    for (std::size_t i = 0; i < columns; ++i) {
      const Peak& peak = *detections[i];
      const double far = track->trace.distance(peak, frame);
      const bool may =
          peak.similarity >= rules.threshold && far < reach &&
          (far < 0.5 * std::max(peak.width, peak.height) || !distractors_.has(peak, frame));
      costs.push_back(may ? -association_scores.back()[i] : impossible);
    }
  }
  const std::vector<int> chosen =
      assign(costs, static_cast<int>(columns), -least_association_score);
  for (std::size_t i = 0; i < followed.size(); ++i) {
    if (chosen[i] < 0) continue;
    std::vector<double>& row = association_scores[i];
    for (std::size_t j = 0; j < followed.size(); ++j)
      if (j != i && chosen[j] >= 0) row[chosen[j]] = -impossible;
    const Peak& peak = *detections[chosen[i]];
    double next = rules.floor;
    for (std::size_t j = 0; j < columns; ++j)
      if (static_cast<int>(j) != chosen[i] && row[j] > least_association_score &&
          !meet(*detections[j], peak))
        next = std::max(next, detections[j]->similarity);
    Track& track = *followed[i];
    track.margin = peak.similarity - next;
    const double ahead =
        margin(row, chosen[i], 0, association_score_of_floor(track.trace, frame, rules));
    take_detection(track, peak, confidence(peak.similarity, ahead), frame, rules);
  }
  for (int column : chosen)
    if (column >= 0) detections[column] = nullptr;
  std::erase(detections, nullptr);
}

void Targets::take_detection(Track& track, const Peak& peak, double sure, std::uint64_t frame,
                             const TrackRules& rules) {
  Trace& trace = track.trace;
  if (sure < rules.settings.min_confidence) return trace.glimpse(peak, frame, sure);
  trace.see(peak, frame);
  trace.sure = sure;
  report(track, rules);
  if (track.target.state == TrackState::tentative && trace.detections >= detections_to_confirm) {
    track.target.state = TrackState::tracked;
    tell(TrackEvent::entered, track);
  }
}

/// What a filter follows may be something else by now. Then it goes on, unseen.
void Targets::report(Track& track, const TrackRules& rules) {
  const double sure = std::min(track.trace.sure, track.resemblance);
  if (sure < rules.settings.min_confidence) return;
  track.target.peak = track.trace.peak;
  track.target.lost = false;
  track.target.confidence = sure;
}

void Targets::count_missed(std::uint64_t frame, const TrackRules& rules) {
  drop_ended(frame, rules);
  for (Track& track : tracks_) {
    if (track.sought || track.trace.missed < rules.settings.min_frames_for_lost) continue;
    track.sought = true;
    track.candidate.reset();
    track.target.state = TrackState::lost;
    tell(TrackEvent::lost, track);
  }
}

// ---- targets that are lost, or perhaps mistaken -----------------------------------------------

/// A candidate stays as long as it is surely the same thing.
void Targets::follow_candidate(Track& track, std::uint64_t frame, Detections& detections,
                               const TrackRules& rules) const {
  Trace& candidate = *track.candidate;
  const std::vector<double> association_scores =
      association_scores_of(candidate, detections, frame);
  const auto best = std::ranges::max_element(association_scores);
  bool stays = best != association_scores.end();
  if (stays) {
    const auto index = static_cast<std::size_t>(best - association_scores.begin());
    const Peak& peak = *detections[index];
    const double sure = confidence(
        peak.similarity,
        margin(association_scores, index, 0, association_score_of_floor(candidate, frame, rules)));
    const double least = track.sought ? rules.threshold : track.trace.usual + margin_to_move;
    stays = peak.similarity >= least && sure >= rules.settings.min_confidence;
    if (stays) {
      candidate.see(peak, frame);
      candidate.sure = sure;
      detections.erase(detections.begin() + static_cast<std::ptrdiff_t>(index));
    }
  }
  if (!stays) track.candidate.reset();
}

/// Looks for the first detection of a target that is lost.
void Targets::seek(Track& track, std::uint64_t frame, Detections& detections,
                   const TrackRules& rules) const {
  if (detections.empty()) return;
  const Trace& trace = track.trace;
  std::vector<double> association_scores = association_scores_of(trace, detections, frame);
  const auto best = static_cast<std::size_t>(std::ranges::max_element(association_scores) -
                                             association_scores.begin());
  const Peak& peak = *detections[best];
  // With fewer targets than there may be, what is far away may be another one.
  const bool full = static_cast<int>(tracks_.size()) >= rules.max_targets;
  if (!full && !trace.anywhere &&
      trace.distance(peak, frame) > trace.reach(frame, rules.settings.search_margin))
    return;
  // Others that are missing may be as close.
  const auto missing = std::ranges::count_if(
      tracks_, [](const Track& other) { return other.sought && !other.candidate; });
  const double ahead =
      margin(std::move(association_scores), best, static_cast<std::size_t>(missing) - 1,
             trace.association_score(rules.floor, trace.distance(peak, frame), frame));
  const double sure = confidence(peak.similarity, ahead);
  const auto association_score_to = [&](const Track& other) {
    return other.trace.association_score(peak.similarity, other.trace.distance(peak, frame), frame);
  };
  const bool of_another = std::ranges::any_of(tracks_, [&](const Track& other) {
    return other.sought && !other.candidate &&
           association_score_to(other) > association_score_to(track);
  });
  if (of_another || peak.similarity < rules.threshold ||
      peak.similarity < least_share * trace.usual || sure < rules.settings.min_confidence)
    return;
  track.candidate.emplace(peak, frame);
  track.candidate->sure = sure;
  detections.erase(detections.begin() + static_cast<std::ptrdiff_t>(best));
}

/// Is there a place that fits better than the one that is followed?
void Targets::doubt(Track& track, std::uint64_t frame, Detections& detections) const {
  if (detections.empty()) return;
  const Peak& peak = *detections.front();
  if (peak.similarity < track.trace.usual + margin_to_move) return;
  track.candidate.emplace(peak, frame);
  detections.erase(detections.begin());
}

void Targets::settle(Track& track, const TrackRules& rules) {
  if (track.candidate && track.candidate->detections >= detections_to_confirm)
    move_to_candidate(track, rules);
  tell_where(track);
}

void Targets::tell_where(Track& track) {
  if (track.sought) track.target.state = track.candidate ? TrackState::tentative : TrackState::lost;
}

void Targets::move_to_candidate(Track& track, const TrackRules& rules, TrackEvent event) {
  const Trace before = std::exchange(track.trace, *std::exchange(track.candidate, {}));
  if (track.sought) track.trace.usual = before.usual;
  track.last = track.of_candidate;
  track.target.state = TrackState::tracked;
  // Another one may look the same; a detector tells them apart.
  if (track.sought && rules.settings.by_filter() && !rules.settings.detections &&
      !track.candidate_nearby)
    track.most = confidence_in_doubt;
  track.resemblance = std::min(track.resemblance, track.most);
  report(track, rules);
  if (std::exchange(track.sought, false)) tell(event, track);
}

/// What else is as close as a target usually is, and not closer, is another one.
void Targets::note_distractors(std::uint64_t frame, const Detections& detections,
                               const TrackRules& rules) {
  const bool sure = std::ranges::all_of(tracks_, [](const Track& track) {
    return track.target.state == TrackState::tracked && !track.target.lost;
  });
  if (!sure) return;
  for (const Track& track : tracks_) distractors_.forget(track.target.peak, frame);
  for (const Peak* peak : detections) {
    const auto resembles = [&](const Track& track) {
      return peak->similarity >= least_share * track.trace.usual &&
             peak->similarity < track.trace.usual + margin_to_move;
    };
    const auto meets = [&](const Track& track) { return meet(*peak, track.target.peak); };
    if (peak->similarity >= rules.threshold && std::ranges::any_of(tracks_, resembles) &&
        std::ranges::none_of(tracks_, meets))
      distractors_.note(*peak, frame);
  }
}

// ---- new targets ------------------------------------------------------------------------------

void Targets::start_new(std::uint64_t frame, const Detections& detections, const TrackRules& rules,
                        std::uint64_t& last_id) {
  const int room = rules.max_targets - static_cast<int>(tracks_.size());
  if (room <= 0) return;
  std::vector<double> similarities;
  for (const Peak* peak : detections) similarities.push_back(peak->similarity);
  for (std::size_t i = 0, started = 0; i < detections.size(); ++i) {
    const Peak& peak = *detections[i];
    if (static_cast<int>(started) == room || peak.similarity < rules.threshold) return;
    Track track;
    track.target = {peak, 0, TrackState::tentative};
    track.trace = Trace(peak, frame);
    track.trace.sure =
        rules.settings.detections
            ? peak.similarity
            : confidence(peak.similarity,
                         margin(similarities, i, static_cast<std::size_t>(room) - 1, rules.floor));
    track.target.confidence = track.trace.sure;
    if (track.target.confidence < rules.settings.min_confidence) continue;
    track.target.id = track.filter = ++last_id;
    tracks_.push_back(track);
    ++started;
  }
}

// ---- what the follower asks and says ----------------------------------------------------------

std::vector<SearchPlace> Targets::places(std::uint64_t frame, const TrackRules& rules) const {
  const int margin = rules.settings.search_margin;
  std::vector<SearchPlace> places;
  const auto add = [&](const Trace& trace, double reach) {
    places.push_back({trace.expected(frame), reach, trace.peak, trace.missed + 1});
  };
  for (const Track& track : tracks_) {
    const Trace& trace = track.trace;
    if (!trace.anywhere) add(trace, track.sought ? margin : trace.reach(frame, margin));
    if (const auto& candidate = track.candidate) add(*candidate, candidate->reach(frame, margin));
  }
  return places;
}

void Targets::refuse(Point place) {
  for (Track& track : tracks_) {
    const auto& candidate = track.candidate;
    if (!candidate || candidate->detections > 1 || candidate->peak.x != place.x ||
        candidate->peak.y != place.y)
      continue;
    track.candidate.reset();
    tell_where(track);
  }
}

void Targets::interrupt() {
  events_.clear();
  distractors_.forget_all();
  std::erase_if(tracks_, [](const Track& track) { return !track.entered(); });
  if (departed_) departed_->candidate.reset();
  for (Track& track : tracks_) {
    track.target.state = TrackState::lost;
    track.trace.anywhere = true;
    track.candidate.reset();
    if (!std::exchange(track.sought, true)) tell(TrackEvent::lost, track);
  }
}

void Targets::end() {
  events_.clear();
  departed_.reset();
  distractors_.forget_all();
  drop_all_but(0);
}

void Targets::renumber_templates(const std::function<std::uint32_t(std::uint32_t)>& now) {
  const auto renumber = [&now](Peak& peak) { peak.template_index = now(peak.template_index); };
  const auto renumber_in = [&renumber](Track& track) {
    renumber(track.target.peak);
    renumber(track.trace.peak);
    if (track.candidate) renumber(track.candidate->peak);
  };
  std::ranges::for_each(tracks_, renumber_in);
  if (departed_) renumber_in(*departed_);
}

void Targets::forget_scores() {
  distractors_.forget_all();
  for (Track& track : tracks_) {
    track.trace.forget_similarity();
    track.candidate.reset();
  }
}

bool Targets::complete(int max_targets) const {
  return static_cast<int>(tracks_.size()) >= max_targets &&
         std::ranges::none_of(tracks_, &Track::sought);
}

void Targets::keep_at_most(int max_targets) {
  if (static_cast<int>(tracks_.size()) <= max_targets) return;
  std::stable_partition(tracks_.begin(), tracks_.end(),
                        [](const Track& track) { return !track.sought; });
  drop_all_but(static_cast<std::size_t>(max_targets));
}

void Targets::drop_all_but(std::size_t first) {
  for (const Track& track : std::span(tracks_).subspan(first))
    if (track.entered()) tell(TrackEvent::dropped, track);
  tracks_.resize(first);
}

}  // namespace xcorr::follow
