// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/lead.hpp"

#include <algorithm>
#include <numeric>

namespace xcorr {

bool LeadChoice::next(std::span<float> open_shares) {
  // The lead's products and bounds take about half as long as those of all planes.
  constexpr float most_open = 0.5F;
  constexpr int frames_without = 15;
  if (without_ > 0) return --without_ == 0;
  const float open = std::accumulate(open_shares.begin(), open_shares.end(), 0.0F);
  if (open <= most_open * static_cast<float>(open_shares.size())) return true;
  std::ranges::fill(open_shares, 0.0F);
  without_ = frames_without;
  return false;
}

}  // namespace xcorr
