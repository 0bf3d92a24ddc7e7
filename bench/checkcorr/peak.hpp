// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the bench reports of a GPU besides its name. Only a build with nvcc has the kernel that
// measures it (peak.cu), which registers itself here.
#pragma once

#include <string>

#include <xcorr/device.hpp>

namespace checkcorr {

struct PeakMeter {
  /// Multiply-adds a second of a device that does nothing else, of the type that sums of products
  /// are of: f32, f64, or 32-bit integers.
  xcorr::Result<double> (*rate)(const xcorr::Device& device, xcorr::ElementType products);
  std::string toolkit;  ///< which CUDA it was built with
};

/// Null without nvcc.
extern const PeakMeter* peak_meter;

}  // namespace checkcorr
