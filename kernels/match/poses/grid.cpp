// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/poses/grid.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace xcorr {
namespace {

constexpr double degree = std::numbers::pi / 180;

constexpr int most_log2_samples = 4;
static_assert(most_log2_samples <= TurnMap::max_log2_samples);

/// Steps of at most that length from end to end.
int steps_in(double extent, double step) {
  return extent > 0 ? std::max(1, static_cast<int>(std::ceil(extent / step - 1e-9))) : 0;
}

}  // namespace

PoseGrid::PoseGrid(const PoseRange& range, Size extent, bool round, int top)
    : angle_start_(range.angle_start * degree),
      log_scale_min_(std::log(range.scale_min)),
      circle_(range.angle_extent >= 360),
      extent_(extent),
      round_(round),
      top_(top) {
  const double radius = 0.5 * std::max(extent.width, extent.height) * range.scale_max;
  const int to_top = 1 << top;
  const double angles = range.angle_extent * degree;
  const double angle_step =
      range.angle_step > 0 ? range.angle_step * degree : std::atan(1 / radius);
  angle_steps_ = steps_in(angles, angle_step * to_top);
  // So that quarter turns, which need no interpolation, are among them.
  if (circle_) angle_steps_ = (angle_steps_ + 3) / 4 * 4;
  if (angle_steps_ > 0) angle_step_ = angles / angle_steps_ / to_top;

  const double scales = std::log(range.scale_max) - log_scale_min_;
  const double scale_step = std::log1p(range.scale_step > 0 ? range.scale_step : 1 / radius);
  scale_steps_ = steps_in(scales, scale_step * to_top);
  if (scale_steps_ > 0) scale_step_ = scales / scale_steps_ / to_top;
}

double PoseGrid::angle(int level, PoseIndex pose) const {
  return angle_start_ + pose.angle * angle_step(level);
}

double PoseGrid::scale(int level, PoseIndex pose) const {
  return std::exp(log_scale_min_ + pose.scale * scale_step(level));
}

std::vector<PoseIndex> PoseGrid::all(int level) const {
  std::vector<PoseIndex> poses;
  for (int scale = 0; scale < scales(level); ++scale)
    for (int angle = 0; angle < angles(level); ++angle) poses.push_back({angle, scale});
  return poses;
}

std::vector<PoseIndex> PoseGrid::around(int level, PoseIndex middle) const {
  std::vector<PoseIndex> poses;
  const int reach_angle = turns() ? 1 : 0, reach_scale = scales() ? 1 : 0;
  for (int s = -reach_scale; s <= reach_scale; ++s)
    for (int a = -reach_angle; a <= reach_angle; ++a) {
      PoseIndex pose{middle.angle + a, middle.scale + s};
      if (circle_) pose.angle = (pose.angle + angles(level)) % angles(level);
      if (pose.angle < 0 || pose.angle >= angles(level) || pose.scale < 0 ||
          pose.scale >= scales(level))
        continue;
      poses.push_back(pose);
    }
  return poses;
}

TurnMap PoseGrid::map(int level, PoseIndex pose) const {
  const double angle = this->angle(level, pose), scale = this->scale(level, pose);
  const double pixel = (1 << std::max(level, 0)) / scale;  // in pixels of the template
  TurnMap map{};
  // Samples no more than about a pixel of the template apart, so that none of it is passed over; of
  // pixels that cover very many, some hundred are a good sample.
  map.log2_samples =
      std::clamp(static_cast<int>(std::ceil(std::log2(pixel) - 0.4)), 0, most_log2_samples);
  const double half_sample = pixel / (2 << map.log2_samples) * (1 << 24);
  const auto fixed = [](double value) { return static_cast<std::int32_t>(std::lround(value)); };
  const double cosine = std::cos(angle), sine = std::sin(angle);
  map.u_by_x = map.v_by_y = fixed(cosine * half_sample);
  map.v_by_x = fixed(sine * half_sample);
  map.u_by_y = -map.v_by_x;
  const auto pixels = [pixel](double length) {
    return std::max(1, static_cast<int>(std::ceil(length / pixel - 1e-6)));
  };
  const double c = round_ ? 1 : std::abs(cosine), s = round_ ? 0 : std::abs(sine);
  map.width = pixels(c * extent_.width + s * extent_.height);
  map.height = pixels(s * extent_.width + c * extent_.height);
  return map;
}

}  // namespace xcorr
