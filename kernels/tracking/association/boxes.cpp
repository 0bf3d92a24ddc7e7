// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/boxes.hpp"

#include <algorithm>

namespace xcorr::follow {

Box box_of(const Peak& peak) {
  return {peak.x, peak.y, static_cast<double>(peak.width), static_cast<double>(peak.height)};
}

double overlap(const Box& a, const Box& b) {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  if (width <= 0 || height <= 0) return 0;
  return width * height / (a.width * a.height + b.width * b.height - width * height);
}

}  // namespace xcorr::follow
