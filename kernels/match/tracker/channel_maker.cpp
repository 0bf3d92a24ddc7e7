// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tracker/channel_maker.hpp"

#include <algorithm>

#include "select/select.hpp"

namespace xcorr {
namespace {

/// What is less than `reach` sides away from the looks' middles, as far as it is in the frame; the
/// nearest pixel where nothing is. Windows read a few pixels past their sides.
Rect part_of(Size frame, std::span<const tracker::Look> looks, double reach) {
  int left = frame.width - 1, top = frame.height - 1, right = 0, bottom = 0;
  const auto within = [](double at, int length) {
    return static_cast<int>(std::clamp(at, 0.0, length - 1.0));
  };
  for (const auto& [x, y, side, scale, filter] : looks) {
    const double away = reach * side + 5;
    left = std::min(left, within(x - away, frame.width));
    top = std::min(top, within(y - away, frame.height));
    right = std::max(right, within(x + away, frame.width));
    bottom = std::max(bottom, within(y + away, frame.height));
  }
  return {left, top, right + 1 - left, bottom + 1 - top};
}

}  // namespace

Result<ChannelMaker> ChannelMaker::make(const Device& device) {
  ChannelMaker maker;
  maker.device_ = device;
  if (Status s = choose_into(maker.channels_of_, {}, device); !s.ok()) return s;
  return maker;
}

Status ChannelMaker::take(const MatrixView& frame, std::span<const tracker::Look> looks,
                          double reach) {
  window_ = {frame.size, {0, 0, frame.size.width, frame.size.height}, frame.pitch, frame.pixels};
  pixels_ = static_cast<const std::uint8_t*>(frame.data);
  if (device_.backend == Backend::cpu) return {};  // which takes the luma of what it needs
  if (frame.size.width > most_.width || frame.size.height > most_.height) {
    const Size most{std::max(frame.size.width, most_.width),
                    std::max(frame.size.height, most_.height)};
    auto reader = FrameReader::make(device_, frame.type, most);
    if (!reader.ok()) return reader.status();
    reader_ = std::move(reader.value());
    most_ = most;
  }
  window_.part = part_of(frame.size, looks, reach);
  window_.layout = {};
  const auto rows = reader_.read(frame, window_.part, {});
  if (!rows.ok()) return rows.status();
  pixels_ = rows.value().data;
  window_.pitch = rows.value().pitch;
  return {};
}

Status ChannelMaker::provide(int windows) {
  const auto count = static_cast<std::size_t>(windows);
  const auto provide = [&](Block& block, std::size_t bytes) {
    return block.provide(device_.backend, count * bytes);
  };
  if (Status s = provide(channels_, tracker::cells * tracker::channels * sizeof(float)); !s.ok())
    return s;
  if (Status s = provide(energies_, tracker::grid * sizeof(double)); !s.ok()) return s;
  stage::Channels::Problem problem = window_;
  problem.windows = windows;
  return workspace_.provide(device_.backend, channels_of_->workspace_bytes(problem, device_));
}

Result<SeenWindows> ChannelMaker::enqueue(const tracker::Look* looks, int first, int count) {
  stage::Channels::Problem problem = window_;
  problem.windows = count;
  float* const channels =
      channels_.as<float>() + std::int64_t{first} * tracker::cells * tracker::channels;
  double* const energies = energies_.as<double>() + std::int64_t{first} * tracker::grid;
  if (Status s = channels_of_->launch(
          problem, device_, {{workspace_.data(), {}}, pixels_, looks + first, channels, energies},
          nullptr);
      !s.ok())
    return s;
  return SeenWindows{count, looks + first, channels, energies};
}

}  // namespace xcorr
