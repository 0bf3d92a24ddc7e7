// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Four pixels of a row, which cubic splines and convolutions weigh.
#pragma once

#include "stages/common/host_device.hpp"

namespace xcorr {

template <class T>
struct FourPixels {
  T of[4];
};

/// Reads them one by one. Kernels have other ways, which may need pixels past the four.
struct ReadEach {
  static constexpr int past = 0;

  template <class T>
  XCORR_HD FourPixels<T> operator()(const T* first) const {
    return {first[0], first[1], first[2], first[3]};
  }
  /// Their sum, each times its weight, which has at most 16 bits.
  template <class Sum, class T>
  XCORR_HD Sum weighed(const T* first, const int (&weights)[4]) const {
    Sum sum = 0;
    XCORR_UNROLL
    for (int i = 0; i < 4; ++i) sum += Sum(weights[i]) * first[i];
    return sum;
  }
};

}  // namespace xcorr
