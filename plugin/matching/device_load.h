// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The load that this process puts on each GPU, so that elements that may take any GPU spread over
// all of them. Other processes are not seen.
#pragma once

#include <span>
#include <vector>

namespace cudaxcorr {

/// An element's work on GPUs, which counts while this lives: one for each.
class DeviceClaim {
 public:
  DeviceClaim() = default;
  /// \param ordinals  CUDA's numbers
  explicit DeviceClaim(std::vector<int> ordinals);
  /// The one with the least work, of equal ones the first. There must be one.
  static DeviceClaim on_least_loaded(std::span<const int> ordinals);
  DeviceClaim(DeviceClaim&& other) noexcept;
  DeviceClaim& operator=(DeviceClaim&& other) noexcept;
  ~DeviceClaim();

  const std::vector<int>& ordinals() const { return ordinals_; }

 private:
  std::vector<int> ordinals_;
};

}  // namespace cudaxcorr
