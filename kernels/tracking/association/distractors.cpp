// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/distractors.hpp"

#include <algorithm>

namespace xcorr::follow {
namespace {

constexpr std::size_t most = 32;

double size_of(const Trace& trace) { return std::max(trace.peak.width, trace.peak.height); }

/// Nearer than half of its size it is the same one: there is no room for two.
bool is_near(const Trace& trace, const Peak& peak, std::uint64_t frame) {
  return trace.distance(peak, frame) < 0.5 * size_of(trace);
}

}  // namespace

std::vector<const Peak*> Distractors::see(std::vector<const Peak*>& peaks, std::uint64_t frame) {
  std::vector<const Peak*> seen;
  for (Trace& trace : traces_) {
    const auto nearest = std::ranges::min_element(
        peaks, {}, [&](const Peak* peak) { return trace.distance(*peak, frame); });
    if (nearest == peaks.end() || !is_near(trace, **nearest, frame)) continue;
    trace.see(**nearest, frame);
    seen.push_back(*nearest);
    peaks.erase(nearest);
  }
  return seen;
}

void Distractors::note(const Peak& peak, std::uint64_t frame) {
  const auto known = std::ranges::find_if(
      traces_, [&](const Trace& trace) { return is_near(trace, peak, frame); });
  if (known != traces_.end()) return known->see(peak, frame);
  if (traces_.size() == most) traces_.erase(std::ranges::min_element(traces_, {}, &Trace::seen_at));
  traces_.emplace_back(peak, frame);
}

bool Distractors::has(const Peak& peak, std::uint64_t frame) const {
  return std::ranges::any_of(traces_,
                             [&](const Trace& trace) { return is_near(trace, peak, frame); });
}

void Distractors::forget_lost(std::uint64_t frame) {
  std::erase_if(traces_,
                [&](const Trace& trace) { return trace.position_sigma(frame) > size_of(trace); });
}

void Distractors::forget(const Peak& target, std::uint64_t frame) {
  std::erase_if(traces_, [&](const Trace& trace) { return is_near(trace, target, frame); });
}

}  // namespace xcorr::follow
