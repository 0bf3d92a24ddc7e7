// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How a template takes up what was found, for every backend: a running average of each pixel. It is
// kept in single precision, since 8-bit pixels, rounded each time, would not move at all towards
// one that is less than 1 / (2 weight) away.
#pragma once

#include <cmath>
#include <cstdint>

#include "stages/host_device.hpp"

namespace xcorr {

/// (1 - weight) * average + weight * pixel, in this order of roundings.
XCORR_HD inline float blended_average(float average, float pixel, float weight) {
  return fmaf(weight, pixel - average, average);
}

/// The average as a pixel: for u8 the nearest one, of two the even one.
template <class T>
XCORR_HD T pixel_of(float average) {
  if constexpr (sizeof(T) == 1)
    return static_cast<T>(rintf(average));
  else
    return average;
}

}  // namespace xcorr
