// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/initial_box.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace xcorr::tracker {
namespace {

/// From one size to the next, and what a size that differs has to be better by.
constexpr double size_step = 1.02, price_of_size = 0.99;

/// From one angle to the next, degrees; and what another one has to be better by.
constexpr double angle_step = 5, price_of_angle = 0.99;

/// A PSR from which one look is enough.
constexpr double sure_psr = 19;

/// Where the top of a parabola through three values is, if the middle one is the largest: from it,
/// in steps. Otherwise at the largest one.
double top_of(double before, double here, double after) {
  if (here >= std::max(before, after)) {
    const double bent = 2 * here - before - after;
    return bent > 0 ? 0.5 * (after - before) / bent : 0;
  }
  return after > before ? 1 : -1;
}

}  // namespace

View InitialBox::view_of(const Box& box, double angle, int way, std::int32_t filter) const {
  const double step = way == 1 ? 1 / size_step : way == 2 ? size_step : 1;
  const double scale = std::sqrt(box.width * box.height / (width * height)) * step;
  const double turned = way == sizes ? -angle_step : way == sizes + 1 ? angle_step : 0;
  return {{box.x + box.width / 2, box.y + box.height / 2, side * scale, scale, filter},
          angle + turned};
}

FilterDetection InitialBox::detection_of(const View& view,
                                         const ResponsePeak& response_peak) const {
  const Look& look = view.look;
  const double now_wide = width * look.scale, now_high = height * look.scale;
  const double pixels = look.side / grid, turned = view.angle * std::numbers::pi / 180;
  const double cosine = std::cos(turned), sine = std::sin(turned);
  return {{look.x + (cosine * response_peak.x + sine * response_peak.y) * pixels - now_wide / 2,
           look.y + (cosine * response_peak.y - sine * response_peak.x) * pixels - now_high / 2,
           now_wide, now_high},
          response_peak.response,
          response_peak.psr,
          view.angle};
}

FilterDetection InitialBox::best_of(const View* views, const ResponsePeak* response_peaks,
                                    std::ptrdiff_t apart, int ways, Size frame) const {
  const FilterDetection first = detection_of(*views, *response_peaks);
  FilterDetection best = first;
  if (response_peaks->psr < min_psr) return best;
  for (int size = 1; size < sizes; ++size) {
    const FilterDetection other = detection_of(views[size * apart], response_peaks[size * apart]);
    if (other.response * price_of_size > best.response && is_sound(other.box, frame)) best = other;
  }
  if (ways == with_angles) {
    const double less = response_peaks[sizes * apart].response,
                 more = response_peaks[(sizes + 1) * apart].response;
    best.angle += angle_step * top_of(less * price_of_angle, first.response, more * price_of_angle);
  }
  return best;
}

bool is_sound(const Box& box, Size frame) {
  const bool finite = std::isfinite(box.x) && std::isfinite(box.y) && std::isfinite(box.width) &&
                      std::isfinite(box.height);
  return finite && box.width >= 1 && box.height >= 1 &&
         std::max(box.width, box.height) <= most_box_side &&
         (box.width <= frame.width || box.height <= frame.height) && box.x < frame.width &&
         box.y < frame.height && box.x + box.width > 0 && box.y + box.height > 0;
}

bool is_worth_another_look(const FilterDetection& filter_detection, Size frame) {
  return filter_detection.psr < sure_psr && is_sound(filter_detection.box, frame);
}

}  // namespace xcorr::tracker
