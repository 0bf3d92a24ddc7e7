// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

/// Steps of at most that length from end to end.
int steps_in(double extent, double step) {
  return extent > 0 ? std::max(1, static_cast<int>(std::ceil(extent / step - 1e-9))) : 0;
}

std::int32_t fixed(double value, int bits) {
  return static_cast<std::int32_t>(std::lround(std::ldexp(value, bits)));
}

}  // namespace

PoseGrid::PoseGrid(const PoseRange& range, Size extent, bool round, int top, int halvings)
    : angle_start_(range.angle_start * degree),
      log_scale_min_(std::log(range.scale_min)),
      top_(top) {
  steps_.round = round;
  steps_.extent = extent;
  steps_.halvings = halvings;
  steps_.circle = range.angle_extent >= 360;
  const double radius = 0.5 * std::max(extent.width, extent.height) * range.scale_max;
  const int to_top = 1 << top, to_finest = 1 << (top - PoseSteps::lowest);
  const double angles = range.angle_extent * degree;
  const double angle_step =
      range.angle_step > 0 ? range.angle_step * degree : std::atan(1 / radius);
  int angle_steps = steps_in(angles, angle_step * to_top);
  // So that quarter turns, which need no interpolation, are among them.
  if (steps_.circle) angle_steps = (angle_steps + 3) / 4 * 4;
  steps_.turns = angle_steps > 0;
  if (steps_.turns) steps_.angle_step = angles / angle_steps / to_finest;
  steps_.angles = angle_steps * to_finest + (steps_.circle ? 0 : 1);

  const double scales = std::log(range.scale_max) - log_scale_min_;
  const double scale_step = std::log1p(range.scale_step > 0 ? range.scale_step : 1 / radius);
  const int scale_steps = steps_in(scales, scale_step * to_top);
  steps_.grows = scale_steps > 0;
  if (steps_.grows) steps_.scale_step = scales / scale_steps / to_finest;
  steps_.scales = scale_steps * to_finest + 1;

  for (int i = 0; i < steps_.angles; ++i) {
    const double angle = this->angle(PoseSteps::lowest, {i, 0});
    angles_.push_back({fixed(std::cos(angle), 30), fixed(std::sin(angle), 30)});
  }
  for (int i = 0; i < steps_.scales; ++i)
    inverse_scales_.push_back(fixed(1 / scale(PoseSteps::lowest, {0, i}), 24));
}

double PoseGrid::angle_step(int level) const {
  return std::ldexp(steps_.angle_step, level - PoseSteps::lowest);
}

double PoseGrid::scale_step(int level) const {
  return std::ldexp(steps_.scale_step, level - PoseSteps::lowest);
}

double PoseGrid::angle(int level, PoseIndex pose) const {
  return angle_start_ + angle_step(level) * pose.angle;
}

double PoseGrid::scale(int level, PoseIndex pose) const {
  return std::exp(log_scale_min_ + scale_step(level) * pose.scale);
}

}  // namespace xcorr
