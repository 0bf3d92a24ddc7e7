// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/prefilter.hpp"

#include <algorithm>

#include "select/select.hpp"

namespace xcorr {

Status Prefilter::check(double sigma) {
  if (sigma >= 0 && sigma <= 10) return {};
  return {Code::invalid_argument, "prefilter_sigma must be in [0, 10]"};
}

Result<Prefilter> Prefilter::make(const Device& device, ElementType type, Size frame, Size region,
                                  double sigma, int planes) {
  auto axis = gaussian_weights(sigma);
  if (!axis.ok()) return axis.status();
  auto weights = filter_weights(type, axis.value(), axis.value(), ElementType::f32);
  if (!weights.ok()) return weights.status();
  Prefilter f;
  f.device_ = device;
  f.frame_ = frame;
  f.planes_ = planes;
  f.weights_ = weights.value();

  // A region away from the frame's edges needs the most.
  f.problem_.type = type;
  f.problem_.region = {0, 0, region.width, region.height};
  const auto in_row = pitch_alignment / static_cast<std::int64_t>(size_of(type));
  f.problem_.filtered_pitch = (region.width + in_row - 1) / in_row * in_row;
  stage::Filter::Problem p = f.problem_;
  p.weights = &f.weights_;
  p.size = f.max_read();
  p.pitch = p.size.width * static_cast<std::int64_t>(size_of(type));
  p.region.x = std::min(axis.value().radius, p.size.width - region.width);
  p.region.y = std::min(axis.value().radius, p.size.height - region.height);
  auto variant = select_variant<stage::Filter>(p, device);
  if (!variant.ok()) return variant.status();
  f.variant_ = variant.value();

  auto filtered = Block::make(device.backend, planes * f.pitch() * region.height);
  if (!filtered.ok()) return filtered.status();
  f.filtered_ = std::move(filtered.value());
  auto workspace = Block::make(device.backend, f.variant_->workspace_bytes(p, device));
  if (!workspace.ok()) return workspace.status();
  f.workspace_ = std::move(workspace.value());
  return f;
}

Rect surroundings(const Rect& region, int radius, Size image) {
  const int x = std::max(0, region.x - radius), y = std::max(0, region.y - radius);
  return {x, y, std::min(image.width, region.x + region.width + radius) - x,
          std::min(image.height, region.y + region.height + radius) - y};
}

Size largest_surroundings(Size region, int radius, Size image) {
  return {std::min(image.width, region.width + 2 * radius),
          std::min(image.height, region.height + 2 * radius)};
}

Rect Prefilter::reads(const Rect& region) const {
  return surroundings(region, weights_.across.radius, frame_);
}

Size Prefilter::max_read() const {
  return largest_surroundings(problem_.region.size(), weights_.across.radius, frame_);
}

Result<Rows> Prefilter::run(const Rows& pixels, const Rect& region, Stream stream) {
  const Rect read = reads(region);
  stage::Filter::Problem p = problem_;
  p.weights = &weights_;
  p.size = read.size();
  p.pitch = pixels.pitch;
  p.region = {region.x - read.x, region.y - read.y, region.width, region.height};
  const std::int64_t plane = pitch() * region.height;
  for (int i = 0; i < planes_; ++i)
    if (Status s = variant_->launch(p, device_,
                                    {{workspace_.data(), stream},
                                     pixels.data + i * pixels.plane,
                                     filtered_.as<std::uint8_t>() + i * plane},
                                    nullptr);
        !s.ok())
      return s;
  return Rows{filtered_.as<std::uint8_t>(), pitch(), plane};
}

}  // namespace xcorr
