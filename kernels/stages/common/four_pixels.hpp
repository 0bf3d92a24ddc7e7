// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Four pixels of a row, and four such rows, which cubic splines and convolutions weigh.
#pragma once

#include "stages/common/host_device.hpp"

namespace xcorr {

template <class T>
struct FourPixels {
  T of[4];
};

/// Reads them one by one. Kernels have other ways, which may need pixels past four.
struct ReadEach {
  static constexpr int past = 0;

  template <class T>
  XCORR_HD FourPixels<T> operator()(const T* first) const {
    return {first[0], first[1], first[2], first[3]};
  }
  /// The sum of four rows of four from `pixels[first]` on, each times its weights. These have at
  /// most 16 bits.
  template <class Sum, class T>
  XCORR_HD Sum weighed(const T* pixels, int first, int pitch, const int (&across)[4],
                       const int (&down)[4]) const {
    Sum sum = 0;
    for (int j = 0; j < 4; ++j) {
      const T* const row = pixels + first + j * pitch;
      Sum in_row = 0;
      XCORR_UNROLL
      for (int i = 0; i < 4; ++i) in_row += Sum(across[i]) * row[i];
      sum += down[j] * in_row;
    }
    return sum;
  }
};

}  // namespace xcorr
