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

/// From so many degrees on between two looks a target turns fast; and for so many looks it is taken
/// to go on.
constexpr double fast = angle_step / 4;
constexpr int fast_for = 16;

/// A PSR from which one look is enough; and how far away a detection is whose window's fading
/// counts, in the window's sides.
constexpr double sure_psr = 19, faded_from = 1.0 / 32;

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

Ways Ways::next(double turned) const {
  const int since = std::abs(turned) >= fast ? 0 : std::min(looks + 1, fast_for);
  Ways next = since < fast_for ? all() : angle < count ? at_sizes() : at_angles();
  next.looks = since;
  return next;
}

double InitialBox::scale_of(const Box& box) const {
  return std::sqrt(box.width * box.height / (width * height));
}

View InitialBox::view_of(const Box& box, double angle, std::int32_t filter, Variation by) const {
  const double scale = scale_of(box) * std::pow(size_step, by.size);
  return {{box.x + box.width / 2, box.y + box.height / 2, side * scale, scale, filter},
          angle + by.angle * angle_step};
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
                                    std::ptrdiff_t apart, const Ways& ways, Size frame) const {
  const FilterDetection first = detection_of(*views, *response_peaks);
  FilterDetection best = first;
  if (response_peaks->psr < min_psr) return best;
  if (ways.size < ways.count)
    for (const std::ptrdiff_t i : {ways.size * apart, (ways.size + 1) * apart}) {
      const FilterDetection other = detection_of(views[i], response_peaks[i]);
      if (other.response * price_of_size > best.response && is_sound(other.box, frame))
        best = other;
    }
  if (ways.angle < ways.count) {
    const double less = response_peaks[ways.angle * apart].response,
                 more = response_peaks[(ways.angle + 1) * apart].response;
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

bool InitialBox::is_worth_another_look(const FilterDetection& filter_detection, const Box& box,
                                       Size frame) const {
  const Box& found = filter_detection.box;
  if (filter_detection.psr >= sure_psr || !is_sound(found, frame)) return false;
  const double x = found.x + found.width / 2 - box.x - box.width / 2,
               y = found.y + found.height / 2 - box.y - box.height / 2;
  return std::hypot(x, y) > faded_from * side * scale_of(box);
}

}  // namespace xcorr::tracker
