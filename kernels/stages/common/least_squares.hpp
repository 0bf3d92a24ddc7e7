// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The normal equations of least squares.
#pragma once

#include "stages/common/host_device.hpp"

namespace xcorr {

/// Solves the normal equations of a least-squares problem, `lower` being the lower half of their
/// matrix, which is overwritten, and `solution` their right side. False where there is no solution.
/// All loops have known ends: the arrays then stay in a kernel's registers. `lost`: what may be
/// left of a pivot by rounding.
template <class T, int n>
XCORR_HD bool solve_least_squares(T (&lower)[n][n], T (&solution)[n],
                                  T lost = T(sizeof(T) > 4 ? 1e-9 : 1e-5)) {
  T inverse[n];
  // L D L', a pivot that is lost in rounding leaves an unknown undetermined.
  bool determined = true;
  XCORR_UNROLL
  for (int i = 0; i < n; ++i) {
    const T whole = lower[i][i];
    T rest = whole;
    XCORR_UNROLL
    for (int m = 0; m < i; ++m) {
      const T scaled = lower[i][m];  // times D
      lower[i][m] = scaled * inverse[m];
      rest -= scaled * lower[i][m];
    }
    determined = determined && rest > lost * whole;
    inverse[i] = 1 / rest;
    XCORR_UNROLL
    for (int j = i + 1; j < n; ++j) {
      XCORR_UNROLL
      for (int m = 0; m < i; ++m) lower[j][i] -= lower[j][m] * lower[i][m];
    }
    XCORR_UNROLL
    for (int m = 0; m < i; ++m) solution[i] -= lower[i][m] * solution[m];
  }
  XCORR_UNROLL
  for (int i = n - 1; i >= 0; --i) {
    solution[i] *= inverse[i];
    XCORR_UNROLL
    for (int m = i + 1; m < n; ++m) solution[i] -= lower[m][i] * solution[m];
  }
  return determined;
}

}  // namespace xcorr
