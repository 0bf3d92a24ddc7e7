// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Times of work on a device. A sample is the time of a batch of launches by the device's clock,
// which hides the host's cost of a launch as long as it is less than the device's.
#pragma once

#include <functional>
#include <vector>

#include <xcorr/device.hpp>

namespace checkcorr {

/// Of samples without those further than 1.5 interquartile ranges from the quartiles.
struct Timing {
  double median = 0, least = 0, mean = 0;  ///< seconds
  std::size_t samples = 0;                 ///< that were kept
};

Timing summarise(std::vector<double> samples);

/// Times `work`, batches of it, until there are enough samples. A variant far slower than the best
/// of its problem gets few.
xcorr::Result<Timing> time(xcorr::Backend backend, double least_seconds, double best,
                           const std::function<xcorr::Status()>& work);

}  // namespace checkcorr
