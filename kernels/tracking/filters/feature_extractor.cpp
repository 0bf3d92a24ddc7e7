// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/feature_extractor.hpp"

#include "select/select.hpp"

namespace xcorr {
Result<FeatureExtractor> FeatureExtractor::make(const Device& device) {
  FeatureExtractor maker;
  maker.device_ = device;
  if (Status s = choose_into(maker.feature_maps_, {}, device); !s.ok()) return s;
  return maker;
}

Status FeatureExtractor::provide(int windows) {
  const auto count = static_cast<std::size_t>(windows);
  const auto provide = [&](Block& block, std::size_t bytes) {
    return block.provide(device_.backend, count * bytes);
  };
  if (Status s = provide(channels_, tracker::cells * tracker::channels * sizeof(float)); !s.ok())
    return s;
  if (Status s = provide(energies_, tracker::energy_parts * sizeof(double)); !s.ok()) return s;
  stage::FeatureMaps::Problem problem;
  problem.windows = windows;
  return workspace_.provide(device_.backend, feature_maps_->workspace_bytes(problem, device_));
}

SeenWindows FeatureExtractor::seen(const tracker::Look* looks, int first, int count) const {
  return {count, looks + first,
          channels_.as<float>() + std::int64_t{first} * tracker::cells * tracker::channels,
          energies_.as<double>() + std::int64_t{first} * tracker::energy_parts};
}

Status FeatureExtractor::enqueue(const SeenFrame& frame, const tracker::Look* looks,
                                 const tracker::Cropping* croppings, int first, int count,
                                 Stream stream) {
  stage::FeatureMaps::Problem problem = frame.window;
  problem.windows = count;
  const SeenWindows to = seen(looks, first, count);
  return feature_maps_->launch(problem, device_,
                               {{workspace_.data(), stream},
                                frame.pixels,
                                to.looks,
                                frame.planes[0],
                                frame.planes[1],
                                frame.planes[2],
                                croppings + first,
                                const_cast<float*>(to.channels),
                                const_cast<double*>(to.energies)},
                               nullptr);
}

}  // namespace xcorr
