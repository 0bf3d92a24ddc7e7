// SPDX-License-Identifier: LGPL-2.1-or-later
#include "match/tracker/spectrum_maker.hpp"

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

Result<SpectrumMaker> SpectrumMaker::make(const Device& device) {
  SpectrumMaker maker;
  maker.device_ = device;
  if (Status s = choose_into(maker.channels_of_, {}, device); !s.ok()) return s;
  if (Status s = choose_into(maker.spectra_of_, {}, device); !s.ok()) return s;
  return maker;
}

Status SpectrumMaker::take(const MatrixView& frame, std::span<const tracker::Look> looks,
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

Status SpectrumMaker::provide(int windows) {
  const auto count = static_cast<std::size_t>(windows);
  const auto provide = [&](Block& block, std::size_t bytes) {
    return block.provide(device_.backend, count * bytes);
  };
  if (Status s = provide(channels_, tracker::cells * tracker::channels * sizeof(float)); !s.ok())
    return s;
  if (Status s = provide(energies_, tracker::grid * sizeof(double)); !s.ok()) return s;
  if (Status s = provide(spectra_, tracker::spectrum_floats * sizeof(float)); !s.ok()) return s;
  stage::Channels::Problem problem = window_;
  problem.windows = windows;
  return workspace_.provide(device_.backend, channels_of_->workspace_bytes(problem, device_));
}

Status SpectrumMaker::enqueue(const tracker::Look* looks, int first, int count) {
  stage::Channels::Problem problem = window_;
  problem.windows = count;
  float* const channels =
      channels_.as<float>() + std::int64_t{first} * tracker::cells * tracker::channels;
  double* const energies = energies_.as<double>() + std::int64_t{first} * tracker::grid;
  float* const spectra = spectra_.as<float>() + std::int64_t{first} * tracker::spectrum_floats;
  const stage::Channels::Buffers seen{
      {workspace_.data(), {}}, pixels_, looks + first, channels, energies};
  if (Status s = channels_of_->launch(problem, device_, seen, nullptr); !s.ok()) return s;
  return spectra_of_->launch({count}, device_, {{}, looks + first, channels, energies, spectra},
                             nullptr);
}

}  // namespace xcorr
