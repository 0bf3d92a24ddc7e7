// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/view_reader.hpp"

#include <algorithm>
#include <utility>

#include "tracking/filters/color_frame.hpp"

namespace xcorr {
namespace {

/// How far from a view's middle a frame is read, in its sides: half of one, at a size that may
/// differ by a step; more where windows are turned. Then as far as targets move at most from most
/// frames to the next, so that what is learnt of a frame has been read when they are looked for.
constexpr double reach = 0.55, reach_turned = 0.78, margin = 0.05;

/// What views see, as far as it is in the frame; the nearest pixel where nothing is. Windows read a
/// few pixels past their sides.
Rect part_of(Size frame, std::span<const tracker::View> views, double reach) {
  int left = frame.width - 1, top = frame.height - 1, right = 0, bottom = 0;
  const auto within = [](double at, int length) {
    return static_cast<int>(std::clamp(at, 0.0, length - 1.0));
  };
  for (const auto& [look, _] : views) {
    const auto& [x, y, side, scale, filter] = look;
    const double away = reach * side + 5;
    left = std::min(left, within(x - away, frame.width));
    top = std::min(top, within(y - away, frame.height));
    right = std::max(right, within(x + away, frame.width));
    bottom = std::max(bottom, within(y + away, frame.height));
  }
  left -= left % static_cast<int>(pitch_alignment);
  return {left, top, right + 1 - left, bottom + 1 - top};
}

}  // namespace

void ViewReader::show(const MatrixView& frame) {
  frame_ = frame;
  begun_ = false;
  part_ = {};
}

bool ViewReader::has(const Rect& part) const {
  return part.x >= part_.x && part.x + part.width <= part_.x + part_.width && part.y >= part_.y &&
         part.y + part.height <= part_.y + part_.height;
}

Status ViewReader::read(std::span<const tracker::View> views) {
  const double away = turned_ ? reach_turned : reach;
  if (has(part_of(frame_.size, views, away))) return {};
  const tracker::ColorFrame colors(frame_);
  seen_ = {{frame_.size, frame_.pitch, frame_.pixels, 1, colors.layout(), turned_},
           static_cast<const std::uint8_t*>(frame_.data)};
  for (int i = 0; const ColorPlane& plane : colors.planes())
    seen_.planes[i++] = static_cast<const std::uint8_t*>(plane.data);
  if (device_.backend == Backend::cpu) {  // which takes the luma of what it needs
    part_ = {0, 0, frame_.size.width, frame_.size.height};
    return {};
  }
  if (!std::exchange(begun_, true)) image_ = 1 - image_;
  auto& [reader, most] = images_[image_];
  if (frame_.size.width > most.width || frame_.size.height > most.height) {
    const Size larger{std::max(frame_.size.width, most.width),
                      std::max(frame_.size.height, most.height)};
    auto made = FrameReader::make(device_, frame_.type, larger);
    if (!made.ok()) return made.status();
    reader = std::move(made.value());
    most = larger;
  }
  seen_.window.layout = {};
  const Rect part = part_of(frame_.size, views, away + margin);
  part_ = {};
  const auto rows = reader.read_with_colors(frame_, colors.planes(), colors.luma(), part, {});
  if (!rows.ok()) return rows.status();
  part_ = part;
  const auto& [luma, planes] = rows.value();
  seen_.pixels = luma.data;
  seen_.window.pitch = luma.pitch;
  for (std::size_t i = 0; i < colors.planes().size(); ++i) {
    seen_.planes[i] = planes[i].data;
    seen_.window.colors.planes[i].pitch = planes[i].pitch;
  }
  return {};
}

}  // namespace xcorr
