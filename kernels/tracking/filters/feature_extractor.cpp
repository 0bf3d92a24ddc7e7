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
  return {left, top, right + 1 - left, bottom + 1 - top};
}

}  // namespace

Result<FeatureExtractor> FeatureExtractor::make(const Device& device, bool turned) {
  FeatureExtractor maker;
  maker.device_ = device;
  if (Status s = choose_into(maker.feature_maps_, {}, device); !s.ok()) return s;
  if (turned)
    if (Status s = choose_into(maker.crop_, {}, device); !s.ok()) return s;
  return maker;
}

Status FeatureExtractor::take(const MatrixView& frame, std::span<const tracker::View> views) {
  const tracker::ColorFrame colors(frame);
  const Rect whole{0, 0, frame.size.width, frame.size.height};
  window_ = {frame.size, whole, frame.pitch, frame.pixels, 1, whole, colors.layout()};
  pixels_ = static_cast<const std::uint8_t*>(frame.data);
  for (int i = 0; const ColorPlane& plane : colors.planes())
    planes_[i++] = static_cast<const std::uint8_t*>(plane.data);
  if (device_.backend == Backend::cpu) return {};  // which takes the luma of what it needs
  if (frame.size.width > most_.width || frame.size.height > most_.height) {
    const Size most{std::max(frame.size.width, most_.width),
                    std::max(frame.size.height, most_.height)};
    auto reader = FrameReader::make(device_, frame.type, most);
    if (!reader.ok()) return reader.status();
    reader_ = std::move(reader.value());
    most_ = most;
  }
  window_.part = window_.color_part = part_of(frame.size, views, crop_ ? reach_turned : reach);
  window_.layout = {};
  const auto rows =
      reader_.read_with_colors(frame, colors.planes(), colors.luma(), window_.part, {});
  if (!rows.ok()) return rows.status();
  const auto& [luma, planes] = rows.value();
  pixels_ = luma.data;
  window_.pitch = luma.pitch;
  for (std::size_t i = 0; i < colors.planes().size(); ++i) {
    planes_[i] = planes[i].data;
    window_.colors.planes[i].pitch = planes[i].pitch;
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
  if (crop_) {
    if (Status s = provide(cropped_, tracker::window_size * tracker::window_size); !s.ok())
      return s;
    images_ = windows;
  }
  stage::FeatureMaps::Problem problem = window_;
  problem.windows = windows;
  return workspace_.provide(device_.backend, feature_maps_->workspace_bytes(problem, device_));
}

Result<SeenWindows> FeatureExtractor::enqueue(const tracker::Look* looks,
                                              const tracker::Cropping* croppings, int first,
                                              int count) {
  stage::FeatureMaps::Problem problem = window_;
  const std::uint8_t* pixels = pixels_;
  if (crop_) {
    constexpr int side = tracker::window_size;
    auto* const images = cropped_.as<std::uint8_t>();
    const stage::Crop::Problem crop{problem.frame, problem.part, problem.pitch, problem.layout,
                                    count};
    if (Status s = crop_->launch(
            crop, device_,
            {{nullptr, {}}, pixels, croppings + first, images + std::int64_t{first} * side * side},
            nullptr);
        !s.ok())
      return s;
    const Size all{side, side * images_};
    problem.frame = all;
    problem.part = {0, 0, all.width, all.height};
    problem.pitch = side;
    problem.layout = {};
    pixels = images;
  }
  problem.windows = count;
  float* const channels =
      channels_.as<float>() + std::int64_t{first} * tracker::cells * tracker::channels;
  double* const energies = energies_.as<double>() + std::int64_t{first} * tracker::grid;
  if (Status s = feature_maps_->launch(problem, device_,
                                       {{workspace_.data(), {}},
                                        pixels,
                                        looks + first,
                                        planes_[0],
                                        planes_[1],
                                        planes_[2],
                                        croppings + first,
                                        channels,
                                        energies},
                                       nullptr);
      !s.ok())
    return s;
  return SeenWindows{count, looks + first, channels, energies};
}

}  // namespace xcorr
