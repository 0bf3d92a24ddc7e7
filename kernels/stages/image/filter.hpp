// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage filter: images -> a part of them, convolved with horizontal and vertical weights, see
// <xcorr/filter.hpp>.
#pragma once

#include <cmath>

#include <xcorr/filter.hpp>

#include "stages/common/stage.hpp"

namespace xcorr {

/// The weights as variants use them.
struct FilterWeights {
  AxisWeights across, down;  ///< u8: multiples of 2^-fraction_bits; u16: of 2^-11
  /// u8: the most bits for which sums of weighted pixels, in units of 2^(-2 fraction_bits), plus a
  /// half, fit signed 32 bits.
  int fraction_bits = 0;
  ElementType sums = ElementType::f32;  ///< see FilterProblem::sums
};

/// Errors: invalid_argument.
Result<FilterWeights> filter_weights(ElementType type, const AxisWeights& across,
                                     const AxisWeights& down, ElementType sums);

/// The weights in the type of the sums, and in the order of the pixels that they meet, which is the
/// reverse of theirs.
template <class Sum>
struct Taps {
  int radius_x, radius_y;
  int shift;  ///< u8: from sums to integers
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

namespace stage {

struct Filter {
  static constexpr const char* name = "filter";

  /// The names are those of FilterProblem.
  struct Problem {
    ElementType type = ElementType::u8;
    Size size;
    Rect region;
    int count = 1;
    std::int64_t pitch = 0, stride = 0;  ///< bytes
    /// Elements from row to row of the result, and from one image's to the next. 0: dense.
    std::int64_t filtered_pitch = 0, filtered_stride = 0;
    const FilterWeights* weights = nullptr;

    constexpr std::int64_t pitch_out() const {
      return filtered_pitch ? filtered_pitch : region.width;
    }
    constexpr std::int64_t stride_out() const {
      return filtered_stride ? filtered_stride : region.size().area();
    }
    constexpr Features features() const {
      return feature_of(type)
          .with(Feature::several_images, count > 1)
          .with(Feature::pitched_output, filtered_pitch != 0);
    }
  };

  struct Buffers : Launch {
    const void* images = nullptr;
    void* filtered = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("images", &Buffers::images, matrices(p.type, p.size, p.pitch, p.stride, p.count));
    visit("filtered", &Buffers::filtered, elements(p.type, p.count * p.stride_out()));
  }
};

}  // namespace stage
}  // namespace xcorr
