// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From the weights that users give to those that the filter stage works with.
#pragma once

#include <cmath>

#include "stages/variant.hpp"

namespace xcorr {

/// Errors: invalid_argument.
Result<FilterWeights> filter_weights(ElementType type, const AxisWeights& across,
                                     const AxisWeights& down, ElementType sums);

/// The weights in the type of the sums, and in the order of the pixels that they meet, which is the
/// reverse of theirs.
template <class Sum>
struct Taps {
  int radius_x, radius_y;
  int shift;  ///< u8: of sums, to whole numbers
  Sum across[2 * max_filter_radius + 1], down[2 * max_filter_radius + 1];
};

template <class Sum>
Taps<Sum> taps_of(const FilterWeights& weights) {
  Taps<Sum> taps{weights.across.radius, weights.down.radius, 2 * weights.fraction_bits, {}, {}};
  const auto reverse = [&](const AxisWeights& axis, Sum* to) {
    for (int i = 0; i < axis.count(); ++i)
      to[i] =
          static_cast<Sum>(std::ldexp(axis.values[axis.count() - 1 - i], weights.fraction_bits));
  };
  reverse(weights.across, taps.across);
  reverse(weights.down, taps.down);
  return taps;
}

}  // namespace xcorr
