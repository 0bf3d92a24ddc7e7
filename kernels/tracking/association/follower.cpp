// SPDX-License-Identifier: LGPL-2.1-or-later
#include <xcorr/follower.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "tracking/association/boxes.hpp"
#include "tracking/association/confidence.hpp"
#include "tracking/association/targets.hpp"

namespace xcorr {
namespace {

using follow::RatedDetection, follow::Targets, follow::Track, follow::TrackRules;

/// Templates take up only what is closer than anything else in the window by this much.
constexpr double margin_to_update = 0.1;

/// Non-maximum suppression across searches, as each does within itself: of peaks closer than the
/// minimum distance only the best is kept. They come best first.
std::vector<Peak> distinct(std::span<const Peak> peaks, int min_distance) {
  std::vector<Peak> kept;
  for (const Peak& peak : peaks) {
    const auto limit = [&](int extent) { return min_distance ? min_distance : extent / 2; };
    const auto near = [&](const Peak& other) {
      return std::abs(peak.x - other.x) < std::max(1, limit(peak.width)) &&
             std::abs(peak.y - other.y) < std::max(1, limit(peak.height));
    };
    if (std::none_of(kept.begin(), kept.end(), near)) kept.push_back(peak);
  }
  return kept;
}

TemplatePlace place_of(const Peak& peak) { return {peak.template_index, peak.x, peak.y, 0, peak}; }

}  // namespace

struct __attribute__((visibility("hidden"))) Follower::Impl {
  std::vector<std::vector<Peak>> by_thing(const std::vector<Peak>& peaks) const;
  void hand_over(std::span<const std::optional<std::size_t>> origins,
                 std::span<const std::uint32_t> now);
  std::size_t followed() const;
  TrackRules rules_of(const Targets& targets, std::size_t followed) const;
  void schedule();
  void end();
  void end(Targets& targets);
  void note_events(const Targets& targets);

  TrackRules rules;
  MatchSettings match;
  std::vector<double> zero_window_scores;
  std::vector<std::uint32_t> things;  ///< by template: what it shows
  std::vector<Targets> of_things;
  std::vector<TargetEvent> events;
  std::uint64_t last_id = 0;
  bool whole_frame_due = true;
  bool incomplete = true;  ///< targets are lost, or more may appear
  int since_whole_frame = 0;
};

Follower::Follower() : impl_(std::make_unique<Impl>()) {}
Follower::Follower(const Follower& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Follower::Follower(Follower&&) noexcept = default;
Follower& Follower::operator=(const Follower& other) {
  impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Follower& Follower::operator=(Follower&&) noexcept = default;
Follower::~Follower() = default;

Peak peak_of_detection(std::uint32_t kind, const Box& box, double confidence) {
  return {kind,
          box.x,
          box.y,
          static_cast<int>(std::lround(box.width)),
          static_cast<int>(std::lround(box.height)),
          confidence,
          confidence,
          {box.x + (box.width - 1) / 2, box.y + (box.height - 1) / 2, 0, 1, box.width, box.height}};
}

void Follower::configure(const TrackSettings& settings, const MatchSettings& match,
                         const Rect& area, std::vector<double> zero_window_scores) {
  const FollowBy before = impl_->rules.settings.by;
  const bool turned = impl_->rules.turns;
  impl_->rules = {settings,
                  match.max_peaks,
                  match.threshold,
                  search_for_tracks(match).threshold,
                  area,
                  settings.by_filter() && filters_for(match).turns};
  impl_->zero_window_scores = std::move(zero_window_scores);
  if (match.method != impl_->match.method || match.prefilter_sigma != impl_->match.prefilter_sigma)
    for (Targets& targets : impl_->of_things) targets.forget_scores();
  impl_->match = match;
  if (!settings.enabled || settings.by != before || impl_->rules.turns != turned) impl_->end();
  impl_->schedule();
}

/// Targets stay with a template that stays, and so with what it shows. The others end.
void Follower::Impl::hand_over(std::span<const std::optional<std::size_t>> origins,
                               std::span<const std::uint32_t> now) {
  std::vector<Targets> handed(now.empty() ? 0 : std::ranges::max(now) + 1);
  std::vector<bool> goes_on(of_things.size()), is_there(handed.size());
  for (std::size_t i = 0; i < origins.size(); ++i) {
    if (!origins[i] || is_there[now[i]] || goes_on[things[*origins[i]]]) continue;
    goes_on[things[*origins[i]]] = is_there[now[i]] = true;
    handed[now[i]] = std::move(of_things[things[*origins[i]]]);
  }
  for (std::size_t i = 0; i < of_things.size(); ++i)
    if (!goes_on[i]) end(of_things[i]);
  of_things = std::move(handed);
  things.assign(now.begin(), now.end());
}

void Follower::replace_templates(std::span<const std::optional<std::size_t>> origins,
                                 std::span<const std::uint32_t> things) {
  std::vector<std::uint32_t> each(origins.size());
  std::iota(each.begin(), each.end(), 0);
  impl_->hand_over(origins, things.empty() ? each : things);
  const auto index_now = [&](std::uint32_t before) {
    const auto now = std::ranges::find(origins, before);
    return now == origins.end() ? no_template : static_cast<std::uint32_t>(now - origins.begin());
  };
  for (std::uint32_t thing = 0; thing < impl_->of_things.size(); ++thing) {
    const auto first = std::ranges::find(impl_->things, thing) - impl_->things.begin();
    impl_->of_things[thing].renumber_templates([&](std::uint32_t before) {
      const std::uint32_t now = index_now(before);
      return now == no_template ? static_cast<std::uint32_t>(first) : now;
    });
  }
  // What a flush or a setting did is told with the next frame.
  for (TargetEvent& event : impl_->events)
    event.target.peak.template_index = index_now(event.target.peak.template_index);
  impl_->whole_frame_due = true;
  impl_->schedule();
}

void Follower::Impl::end() {
  for (Targets& targets : of_things) end(targets);
  whole_frame_due = true;
}

void Follower::end() { impl_->end(); }

void Follower::end_of_filters() {
  if (impl_->rules.settings.by_filter()) impl_->end();
}

void Follower::Impl::end(Targets& targets) {
  targets.end();
  note_events(targets);
}

void Follower::interrupt() {
  for (Targets& targets : impl_->of_things) {
    targets.interrupt();
    impl_->note_events(targets);
  }
  impl_->whole_frame_due = true;
}

std::vector<TemplatePlace> Follower::expectations(std::uint64_t frame) const {
  std::vector<TemplatePlace> expected;
  if (impl_->rules.settings.by_filter()) return expected;
  for (std::uint32_t i = 0; i < impl_->things.size(); ++i)
    for (const auto& [place, reach, seen, frames] :
         impl_->of_things[impl_->things[i]].places(frame, impl_->rules))
      expected.push_back({i, place.x, place.y, reach, seen, frames});
  return expected;
}

/// Best first, each place once.
std::vector<std::vector<Peak>> Follower::Impl::by_thing(const std::vector<Peak>& peaks) const {
  std::vector<std::vector<Peak>> sorted(of_things.size());
  for (const Peak& peak : peaks) sorted[things[peak.template_index]].push_back(peak);
  for (std::vector<Peak>& of_thing : sorted) {
    std::ranges::sort(of_thing, std::ranges::greater(), &Peak::similarity);
    // A detector has chosen already what is distinct.
    if (!rules.settings.detections) of_thing = distinct(of_thing, match.min_peak_distance);
  }
  return sorted;
}

void Follower::update(std::uint64_t frame, std::vector<Peak> peaks,
                      std::span<const TargetBox> places,
                      std::span<const FilterDetection> filter_detections) {
  std::vector<RatedDetection> rated_detections;
  for (const FilterDetection& seen : filter_detections) {
    const TargetBox& place = places[rated_detections.size()];
    rated_detections.push_back({place.target, seen.box, seen.response, follow::confidence(seen.psr),
                                seen.angle, follow::resemblance(seen), follow::recognition(seen),
                                follow::most_growth(seen), seen.color_likeness_here,
                                place.by_color});
  }
  impl_->since_whole_frame = impl_->whole_frame_due ? 1 : impl_->since_whole_frame + 1;
  impl_->whole_frame_due = false;
  const auto sorted = impl_->by_thing(peaks);
  std::size_t followed = impl_->followed();
  for (std::uint32_t i = 0; i < impl_->of_things.size(); ++i) {
    Targets& targets = impl_->of_things[i];
    const TrackRules rules = impl_->rules_of(targets, followed);
    followed -= targets.tracks().size();
    if (rules.settings.detections)
      targets.update_by_detections(frame, sorted[i], rated_detections, rules, impl_->last_id);
    else if (rules.settings.by_filter())
      targets.update(frame, sorted[i], rated_detections, rules, impl_->last_id);
    else
      targets.update(frame, sorted[i], rules, impl_->last_id);
    followed += targets.tracks().size();
    impl_->note_events(targets);
  }
  impl_->schedule();
}

std::optional<int> Follower::full() const {
  const int most = impl_->rules.settings.most_filters;
  if (!impl_->rules.settings.by_filter() || static_cast<int>(impl_->followed()) < most) return {};
  return most;
}

std::size_t Follower::Impl::followed() const {
  std::size_t count = 0;
  for (const Targets& targets : of_things) count += targets.tracks().size();
  return count;
}

bool Follower::whole_frame_due() const { return impl_->whole_frame_due; }

std::vector<TargetBox> Follower::sought() const {
  std::vector<TargetBox> sought;
  if (!impl_->rules.settings.by_filter()) return sought;
  for (const Targets& targets : impl_->of_things)
    std::ranges::copy(targets.sought(impl_->rules), std::back_inserter(sought));
  return sought;
}

std::vector<TargetBox> Follower::places_for_filters(std::uint64_t frame, std::vector<Peak> peaks,
                                                    std::span<const TargetBox> by_color) const {
  std::vector<TargetBox> places;
  if (!impl_->rules.settings.by_filter()) return places;
  const auto sorted = impl_->by_thing(peaks);
  for (std::size_t i = 0; i < impl_->of_things.size(); ++i)
    std::ranges::copy(impl_->of_things[i].places_for_filters(frame, sorted[i], impl_->rules),
                      std::back_inserter(places));
  std::ranges::copy_if(by_color, std::back_inserter(places), [&](const TargetBox& place) {
    return follow::has_middle_in(place.box, impl_->rules.area);
  });
  return places;
}

std::vector<TargetBox> Follower::training_samples() const {
  std::vector<TargetBox> training_samples;
  if (!impl_->rules.settings.by_filter()) return training_samples;
  for (const Targets& targets : impl_->of_things)
    std::ranges::copy(targets.training_samples(), std::back_inserter(training_samples));
  return training_samples;
}

std::vector<std::uint64_t> Follower::ids() const {
  std::vector<std::uint64_t> ids;
  for (const Targets& targets : impl_->of_things)
    std::ranges::copy(targets.ids(), std::back_inserter(ids));
  return ids;
}

void Follower::Impl::note_events(const Targets& targets) {
  std::ranges::copy(targets.events(), std::back_inserter(events));
}

std::vector<TargetEvent> Follower::take_events() { return std::exchange(impl_->events, {}); }

/// With filters: for what targets of other things leave of most_filters. `followed`: of all things.
TrackRules Follower::Impl::rules_of(const Targets& targets, std::size_t followed) const {
  TrackRules of_thing = rules;
  if (!rules.settings.by_filter()) return of_thing;
  const auto others = static_cast<int>(followed - targets.tracks().size());
  of_thing.max_targets = std::clamp(rules.settings.most_filters - others, 0, rules.max_targets);
  return of_thing;
}

/// A whole frame is due as soon as something is missing, and then at regular intervals.
void Follower::Impl::schedule() {
  const std::size_t all = followed();
  const bool was_incomplete =
      std::exchange(incomplete, std::ranges::any_of(of_things, [&](const Targets& targets) {
                      return !targets.complete(rules_of(targets, all).max_targets);
                    }));
  // What a template finds elsewhere is no reason to doubt a filter, which knows how the target has
  // changed.
  const int recheck = rules.settings.by_filter() ? 0 : rules.settings.recheck_interval;
  const int interval = incomplete ? rules.settings.redetect_interval : recheck;
  if ((incomplete && !was_incomplete) || (interval > 0 && since_whole_frame >= interval))
    whole_frame_due = true;
}

std::vector<TemplatePlace> Follower::found_again() const {
  std::vector<TemplatePlace> places;
  if (impl_->rules.settings.by_filter()) return places;
  for (const Targets& targets : impl_->of_things)
    for (const Track& track : targets.tracks())
      if (track.sought && track.candidate && track.candidate->detections == 1)
        places.push_back(place_of(track.candidate->peak));
  return places;
}

void Follower::refuse(const TemplatePlace& place) {
  impl_->of_things[impl_->things[place.template_index]].refuse({place.x, place.y});
}

std::vector<TemplatePlace> Follower::template_updates() const {
  std::vector<TemplatePlace> updates;
  if (!impl_->rules.settings.updates()) return updates;
  for (const Targets& of_thing : impl_->of_things) {
    const Peak* best = nullptr;
    for (const Track& track : of_thing.tracks()) {
      const Peak& peak = track.target.peak;
      if (track.target.lost || track.target.state != TrackState::tracked ||
          peak.similarity < impl_->rules.settings.update_score || track.margin < margin_to_update ||
          peak.inverted)
        continue;
      if (!best || peak.similarity > best->similarity) best = &peak;
    }
    if (best) updates.push_back(place_of(*best));
  }
  return updates;
}

std::vector<Target> Follower::targets() const {
  std::vector<Target> targets;
  for (const Targets& of_thing : impl_->of_things) {
    const auto first = static_cast<std::ptrdiff_t>(targets.size());
    for (const Track& track : of_thing.tracks()) {
      targets.push_back(track.target);
      Peak& peak = targets.back().peak;
      if (track.sought && track.candidate) targets.back().candidate = track.candidate->peak;
      if (track.target.lost)
        peak.score =
            impl_->rules.settings.by_filter() ? 0 : impl_->zero_window_scores[peak.template_index];
    }
    std::sort(targets.begin() + first, targets.end(), [](const Target& a, const Target& b) {
      if (a.lost != b.lost) return b.lost;
      if (a.peak.similarity != b.peak.similarity) return a.peak.similarity > b.peak.similarity;
      return a.id < b.id;
    });
  }
  return targets;
}

}  // namespace xcorr
