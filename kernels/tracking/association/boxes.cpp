// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/association/boxes.hpp"

#include <algorithm>

namespace xcorr::follow {
namespace {

/// Pixels that both have, 0 if none.
double common_area(const Box& a, const Box& b) {
  const double width = std::min(a.x + a.width, b.x + b.width) - std::max(a.x, b.x);
  const double height = std::min(a.y + a.height, b.y + b.height) - std::max(a.y, b.y);
  return std::max(width, 0.0) * std::max(height, 0.0);
}

}  // namespace

Box box_of(const Peak& peak) {
  return {peak.x, peak.y, static_cast<double>(peak.width), static_cast<double>(peak.height)};
}

double overlap(const Box& a, const Box& b) {
  const double common = common_area(a, b);
  return common > 0 ? common / (a.width * a.height + b.width * b.height - common) : 0;
}

double share_in(const Box& box, const Rect& area) {
  const Box all{static_cast<double>(area.x), static_cast<double>(area.y),
                static_cast<double>(area.width), static_cast<double>(area.height)};
  return common_area(box, all) / (box.width * box.height);
}

bool has_middle_in(const Box& box, const Rect& area) {
  const double x = box.x + box.width / 2, y = box.y + box.height / 2;
  return x >= area.x && y >= area.y && x < area.x + area.width && y < area.y + area.height;
}

}  // namespace xcorr::follow
