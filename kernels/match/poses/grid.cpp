// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

/// Of level 0.
struct Steps {
  double length = 0;
  int count = 0;  ///< 0: there is one pose
};

/// \param natural  the step of level 0 that passes nothing over
/// \param asked    the user's; 0: none
/// A step that is longer than the natural one of the top level is what the user wants to be looked
/// at: poses exactly so far apart, whatever the level. Shorter ones only say how finely, so they
/// grow with the level and are cut so that they end where the range does.
Steps steps_in(double extent, double natural, double asked, int top, int multiple) {
  if (!(extent > 0)) return {};
  const double passing = std::ldexp(natural, top);
  if (asked > passing && extent >= asked) {
    const double length = std::ldexp(asked, -top);
    return {length, static_cast<int>(std::floor(extent / length + 1e-6))};
  }
  const double longest =
      asked > 0 ? std::min(std::ldexp(asked, top), std::max(asked, passing)) : passing;
  int steps = std::max(1, static_cast<int>(std::ceil(extent / longest - 1e-9)));
  steps = (steps + multiple - 1) / multiple * multiple;
  return {std::ldexp(extent / steps, -top), steps << top};
}

std::int32_t fixed(double value, int bits) {
  return static_cast<std::int32_t>(std::lround(std::ldexp(value, bits)));
}

/// How far the template's rim is from its centre along the longer side.
double radius_of(Size extent, double scale) {
  return 0.5 * std::max(extent.width, extent.height) * scale;
}

}  // namespace

PoseGrid::PoseGrid(const PoseRange& range, Size extent, bool round, int diameter, int top,
                   int halvings)
    : PoseGrid(range,
               {.round = round, .extent = extent, .diameter = diameter, .halvings = halvings},
               radius_of(extent, range.scale_max), top) {}

PoseGrid::PoseGrid(const PoseRange& range, const PoseSteps& shape, double radius, int top)
    : angle_start_(range.angle_start * degree),
      angle_extent_(range.angle_extent * degree),
      log_scale_min_(std::log(range.scale_min)),
      log_scale_max_(std::log(range.scale_max)),
      steps_(shape),
      top_(top) {
  // So that quarter turns, which need no interpolation, are among all angles.
  const int multiple = is_all_round() ? 4 : 1;
  const Steps angles =
      steps_in(angle_extent_, std::atan(1 / radius), range.angle_step * degree, top, multiple);
  steps_.turns = angles.count > 0;
  steps_.angle_step = angles.length;
  // The user's own steps need not end where they began.
  steps_.circle = is_all_round() && std::abs(angles.count * angles.length - angle_extent_) < 1e-9 &&
                  angles.count % (1 << top) == 0;
  steps_.angles = angles.count + (steps_.circle ? 0 : 1);

  const Steps scales = steps_in(log_scale_max_ - log_scale_min_, std::log1p(1 / radius),
                                std::log1p(range.scale_step), top, 1);
  steps_.grows = scales.count > 0;
  steps_.scale_step = scales.length;
  steps_.scales = scales.count + 1;

  for (int i = 0; i < steps_.angles; ++i) {
    const double angle = this->angle(0, {i, 0});
    angles_.push_back({fixed(std::cos(angle), 30), fixed(std::sin(angle), 30)});
  }
  for (int i = 0; i < steps_.scales; ++i)
    inverse_scales_.push_back(fixed(1 / scale(0, {0, i}), 24));
}

PoseGrid PoseGrid::of_scores() const {
  constexpr double finer = 16;
  // Twice as fine where the largest scale is an octave more.
  const double octave = std::exp2(std::ceil(log_scale_max_ / std::numbers::ln2 - 1e-9));
  const double radius = finer * radius_of(steps_.extent, octave), step = std::log1p(1 / radius);
  PoseRange range;
  range.angle_start = turns() ? 0 : angle_start_ / degree;
  range.angle_extent = turns() ? 360 : 0;
  range.scale_min = std::exp(log_scale_min_);
  range.scale_max = std::exp(log_scale_max_);
  if (scales()) {
    range.scale_min = std::exp(step * std::floor(log_scale_min_ / step));
    range.scale_max = std::exp(step * std::ceil(log_scale_max_ / step));
  }
  return PoseGrid(range, steps_, radius, 0);
}

double PoseGrid::angle_step(int level) const { return std::ldexp(steps_.angle_step, level); }

double PoseGrid::scale_step(int level) const { return std::ldexp(steps_.scale_step, level); }

double PoseGrid::angle(int level, PoseIndex pose) const {
  return angle_start_ + angle_step(level) * pose.angle;
}

double PoseGrid::scale(int level, PoseIndex pose) const {
  return std::exp(log_scale_min_ + scale_step(level) * pose.scale);
}

bool PoseGrid::is_all_round() const { return angle_extent_ >= 2 * std::numbers::pi - 1e-9; }

double PoseGrid::angle_in_range(double angle) const {
  if (is_all_round()) return angle;
  const double half = 0.5 * angle_extent_;
  const double past = std::remainder(angle - angle_start_ - half, 2 * std::numbers::pi);
  return std::abs(past) <= half ? angle : angle_start_ + half + std::copysign(half, past);
}

double PoseGrid::scale_in_range(double scale) const {
  return std::clamp(scale, std::exp(log_scale_min_), std::exp(log_scale_max_));
}

}  // namespace xcorr
