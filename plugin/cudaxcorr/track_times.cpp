// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/track_times.h"

#include <utility>

namespace cudaxcorr {

void TrackTimes::update(std::span<const xcorr::Target> targets, GstClockTime now) {
  const auto before = std::exchange(seen_, {});
  for (const xcorr::Target& target : targets) {
    if (target.id == 0) continue;
    const auto known = before.find(target.id);
    Seen& seen = seen_[target.id];
    if (known != before.end())
      seen = known->second;
    else
      seen.first = now;
    if (!target.lost) seen.last = now;
  }
}

TrackTimes::Seen TrackTimes::of(std::uint64_t id) const {
  const auto found = seen_.find(id);
  return found == seen_.end() ? Seen() : found->second;
}

}  // namespace cudaxcorr
