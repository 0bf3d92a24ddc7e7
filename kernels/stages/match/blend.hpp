// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a template adapts to what was found, for every backend: a running average of each pixel. It
// is kept in single precision, since 8-bit pixels, rounded each time, would never move towards a
// value that is less than 1 / (2 weight) away.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "stages/common/host_device.hpp"

namespace xcorr {

/// (1 - weight) * average + weight * pixel, in this order of roundings; with weight 1 the very
/// pixel.
XCORR_HD inline float blended_average(float average, float pixel, float weight) {
  return weight == 1 ? pixel : fmaf(weight, pixel - average, average);
}

/// The average as a pixel: integers are rounded to the nearest, ties to even.
template <class T>
XCORR_HD T pixel_of(float average) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(rintf(average));
  else
    return average;
}

}  // namespace xcorr
