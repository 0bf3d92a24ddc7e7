// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage spline: a picture of bytes -> the coefficients of the B-spline through its pixels,
// which are mirrored at its edges. That is a separable filter whose weights fall so quickly that a
// finite number of them will do, which every pixel can be given at the same time.
#pragma once

#include <cmath>

#include "stages/host_device.hpp"
#include "stages/stage.hpp"

namespace xcorr {

/// The weights that make coefficients of pixels: of[0] of the pixel itself, of[i] of those i away.
struct SplineFilter {
  static constexpr int radius = 20;  ///< past it, less than 2e-7 of a coefficient is left
  float of[radius + 1];

  /// \param degree  3 or 5
  explicit SplineFilter(int degree) {
    // The filter is the inverse of the spline's values at whole pixels: two poles for degree 5.
    const double root = std::sqrt(4436.25);
    const double near =
        degree == 3 ? std::sqrt(3.0) - 2 : std::sqrt(67.5 - root) + std::sqrt(26.25) - 6.5;
    const double far = std::sqrt(67.5 + root) - std::sqrt(26.25) - 6.5;
    const auto part = [](double pole, int i) {
      return pole * std::pow(pole, i) / (1 - pole * pole);
    };
    double values[radius + 1], sum = 0;
    for (int i = 0; i <= radius; ++i) {
      values[i] = degree == 3 ? -part(near, i) : part(far, i) - part(near, i);
      sum += i == 0 ? values[i] : 2 * values[i];
    }
    for (int i = 0; i <= radius; ++i) of[i] = static_cast<float>(values[i] / sum);
  }
};

/// The pixel that stands where a row of `length` has none.
XCORR_HD inline int mirrored(int i, int length) {
  if (i >= 0 && i < length) return i;
  if (length == 1) return 0;
  const int period = 2 * (length - 1);
  i %= period;
  if (i < 0) i += period;
  return i < length ? i : period - i;
}

/// The weights of a B-spline's coefficients at a place t, 0 to 1, past the pixel before it, of
/// which there are degree + 1.
template <int degree>
struct SplineTaps;

template <>
struct SplineTaps<5> {
  static constexpr int count = 6, before = 2;
  float of[count];

  XCORR_HD explicit SplineTaps(float t) {
    constexpr float unit = 1.F / 120;
    const float s = 1 - t, t2 = t * t, s2 = s * s;
    of[0] = unit * s2 * s2 * s;
    of[1] = unit * (26 + t * (-50 + t * (20 + t * (20 + t * (-20 + t * 5)))));
    of[2] = unit * (66 + t2 * (-60 + t2 * (30 - 10 * t)));
    of[4] = unit * (1 + t * (5 + t * (10 + t * (10 + t * (5 - 5 * t)))));
    of[5] = unit * t2 * t2 * t;
    of[3] = 1 - of[0] - of[1] - of[2] - of[4] - of[5];
  }
};

template <>
struct SplineTaps<3> {
  static constexpr int count = 4, before = 1;
  float of[count];

  XCORR_HD explicit SplineTaps(float t) {
    constexpr float unit = 1.F / 6;
    const float s = 1 - t;
    of[0] = unit * s * s * s;
    of[1] = unit * (4 + t * t * (3 * t - 6));
    of[3] = unit * t * t * t;
    of[2] = 1 - of[0] - of[1] - of[3];
  }
};

/// A picture between its pixels.
struct SplinePicture {
  const float* coefficients;  ///< dense
  Size size;

  /// (t, s) past pixel (x, y), both from 0 to 1; pixels outside are mirrored.
  template <int degree>
  XCORR_HD float at(int x, int y, float t, float s) const {
    using Taps = SplineTaps<degree>;
    const Taps across(t), down(s);
    const int left = x - Taps::before, top = y - Taps::before;
    const bool inside = left >= 0 && top >= 0 && left + Taps::count <= size.width &&
                        top + Taps::count <= size.height;
    float value = 0;
    XCORR_UNROLL
    for (int j = 0; j < Taps::count; ++j) {
      const float* row =
          coefficients +
          std::int64_t{inside ? top + j : mirrored(top + j, size.height)} * size.width;
      float in_row = 0;
      if (inside) {
        XCORR_UNROLL
        for (int i = 0; i < Taps::count; ++i) in_row += across.of[i] * row[left + i];
      } else {
        XCORR_UNROLL
        for (int i = 0; i < Taps::count; ++i)
          in_row += across.of[i] * row[mirrored(left + i, size.width)];
      }
      value += down.of[j] * in_row;
    }
    return value;
  }
};

namespace stage {

struct Spline {
  static constexpr const char* name = "spline";

  struct Problem {
    Size size;
    std::int64_t pitch = 0;  ///< bytes
    int degree = 5;          ///< 3 or 5

    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;
    float* coefficients = nullptr;  ///< dense
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, matrices(ElementType::u8, p.size, p.pitch, 0, 1));
    visit("coefficients", &Buffers::coefficients, elements(ElementType::f32, p.size.area()));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
