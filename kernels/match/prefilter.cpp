// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/prefilter.hpp"

#include <algorithm>

#include "select/registry.hpp"
#include "stages/filter_weights.hpp"

namespace xcorr {

Result<Prefilter> Prefilter::make(const Device& device, ElementType type, Size frame, Size region,
                                  double sigma) {
  auto axis = gaussian_weights(sigma);
  if (!axis.ok()) return axis.status();
  auto weights = filter_weights(type, axis.value(), axis.value(), ElementType::f32);
  if (!weights.ok()) return weights.status();
  Prefilter f;
  f.device_ = device;
  f.frame_ = frame;
  f.weights_ = weights.value();

  // A region whose surroundings are all there needs the most.
  MatchProblem p;
  p.filter = &f.weights_;
  p.correlate =
      dense_problem(type, Form::one_to_one, {}, {1, 1}, 1, 1, {0, 0, region.width, region.height});
  f.problem_ = p;
  p.correlate.left = f.most_read();
  p.correlate.shifts.x = std::min(axis.value().radius, p.correlate.left.width - region.width);
  p.correlate.shifts.y = std::min(axis.value().radius, p.correlate.left.height - region.height);
  auto variant = select_variant(Stage::filter, p, device);
  if (!variant.ok()) return variant.status();
  f.variant_ = variant.value();

  const auto in_row = pitch_alignment / static_cast<std::int64_t>(size_of(type));
  f.problem_.product_pitch = (region.width + in_row - 1) / in_row * in_row;
  auto filtered = Block::make(device.backend, f.pitch() * region.height);
  if (!filtered.ok()) return filtered.status();
  f.filtered_ = std::move(filtered.value());
  auto workspace = Block::make(device.backend, f.variant_->workspace(p, device));
  if (!workspace.ok()) return workspace.status();
  f.workspace_ = std::move(workspace.value());
  f.problem_.filter = nullptr;
  return f;
}

Rect Prefilter::reads(const Rect& region) const {
  const int radius = weights_.across.radius;
  const int x = std::max(0, region.x - radius), y = std::max(0, region.y - radius);
  return {x, y, std::min(frame_.width, region.x + region.width + radius) - x,
          std::min(frame_.height, region.y + region.height + radius) - y};
}

Size Prefilter::most_read() const {
  const Rect& region = problem_.correlate.shifts;
  const int around = 2 * weights_.across.radius;
  return {std::min(frame_.width, region.width + around),
          std::min(frame_.height, region.height + around)};
}

Status Prefilter::run(const void* pixels, std::int64_t pitch, const Rect& region, Stream stream) {
  const Rect read = reads(region);
  MatchProblem p = problem_;
  p.filter = &weights_;
  p.correlate.left = read.size();
  p.correlate.left_pitch = pitch;
  p.correlate.shifts = {region.x - read.x, region.y - read.y, region.width, region.height};
  Buffers buffers;
  buffers.lefts = pixels;
  buffers.filtered = filtered_.data();
  buffers.workspace = workspace_.data();
  buffers.stream = stream;
  return variant_->launch(p, device_, buffers, nullptr);
}

}  // namespace xcorr
