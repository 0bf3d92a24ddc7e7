// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/lead.hpp"

#include <algorithm>

namespace xcorr {

bool LeadChoice::next(std::span<float> open_shares, int searched) {
  // The lead's products and bounds take about half as long as those of all planes.
  constexpr float most_open = 0.5F, unknown = -1;
  if (without_ > 0) {
    if (--without_ > 0) return false;
    std::ranges::fill(open_shares, unknown);
    awaited_ = 0;
    return tries_ = true;
  }
  float open = 0;
  int known = 0;
  for (const float share : open_shares)
    if (share >= 0) {
      open += share;
      ++known;
    }
  if (tries_ && known < searched) return ++awaited_ % most_pause == 0;  // it may have failed
  if (open <= most_open * static_cast<float>(known)) {
    tries_ = false;
    pause_ = least_pause;
    return true;
  }
  pause_ = tries_ ? std::min(2 * pause_, most_pause) : least_pause;
  tries_ = false;
  without_ = pause_;
  return false;
}

}  // namespace xcorr
