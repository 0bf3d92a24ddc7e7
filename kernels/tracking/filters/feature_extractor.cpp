// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/feature_extractor.hpp"

#include <algorithm>

#include "select/select.hpp"
#include "tracking/filters/color_frame.hpp"

namespace xcorr {
namespace {

/// How far from a view's middle a frame is read, in its sides: half of one, at a size that may
/// differ by a step; more where windows are turned.
constexpr double reach = 0.55, reach_turned = 0.78;

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

Result<FeatureExtractor> FeatureExtractor::make(const Device& device, bool turned) {
  FeatureExtractor maker;
  maker.device_ = device;
  if (Status s = choose_into(maker.feature_maps_, {}, device); !s.ok()) return s;
  maker.turned_ = turned;
  return maker;
}

Status FeatureExtractor::take(const MatrixView& frame, std::span<const tracker::View> views) {
  const tracker::ColorFrame colors(frame);
  frame_ = {{frame.size, frame.pitch, frame.pixels, 1, colors.layout(), turned_},
            static_cast<const std::uint8_t*>(frame.data)};
  for (int i = 0; const ColorPlane& plane : colors.planes())
    frame_.planes[i++] = static_cast<const std::uint8_t*>(plane.data);
  if (device_.backend == Backend::cpu) return {};  // which takes the luma of what it needs
  if (frame.size.width > most_.width || frame.size.height > most_.height) {
    const Size most{std::max(frame.size.width, most_.width),
                    std::max(frame.size.height, most_.height)};
    auto reader = FrameReader::make(device_, frame.type, most);
    if (!reader.ok()) return reader.status();
    reader_ = std::move(reader.value());
    most_ = most;
  }
  frame_.window.layout = {};
  const auto rows =
      reader_.read_with_colors(frame, colors.planes(), colors.luma(),
                               part_of(frame.size, views, turned_ ? reach_turned : reach), {});
  if (!rows.ok()) return rows.status();
  const auto& [luma, planes] = rows.value();
  frame_.pixels = luma.data;
  frame_.window.pitch = luma.pitch;
  for (std::size_t i = 0; i < colors.planes().size(); ++i) {
    frame_.planes[i] = planes[i].data;
    frame_.window.colors.planes[i].pitch = planes[i].pitch;
  }
  return {};
}

Status FeatureExtractor::provide(int windows) {
  const auto count = static_cast<std::size_t>(windows);
  const auto provide = [&](Block& block, std::size_t bytes) {
    return block.provide(device_.backend, count * bytes);
  };
  if (Status s = provide(channels_, tracker::cells * tracker::channels * sizeof(float)); !s.ok())
    return s;
  if (Status s = provide(energies_, tracker::grid * sizeof(double)); !s.ok()) return s;
  stage::FeatureMaps::Problem problem = frame_.window;
  problem.windows = windows;
  return workspace_.provide(device_.backend, feature_maps_->workspace_bytes(problem, device_));
}

SeenWindows FeatureExtractor::seen(const tracker::Look* looks, int first, int count) const {
  return {count, looks + first,
          channels_.as<float>() + std::int64_t{first} * tracker::cells * tracker::channels,
          energies_.as<double>() + std::int64_t{first} * tracker::grid};
}

Status FeatureExtractor::enqueue(const tracker::Look* looks, const tracker::Cropping* croppings,
                                 int first, int count, Stream stream) {
  stage::FeatureMaps::Problem problem = frame_.window;
  problem.windows = count;
  const SeenWindows to = seen(looks, first, count);
  return feature_maps_->launch(problem, device_,
                               {{workspace_.data(), stream},
                                frame_.pixels,
                                to.looks,
                                frame_.planes[0],
                                frame_.planes[1],
                                frame_.planes[2],
                                croppings + first,
                                const_cast<float*>(to.channels),
                                const_cast<double*>(to.energies)},
                               nullptr);
}

}  // namespace xcorr
