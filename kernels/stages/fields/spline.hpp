// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage spline: an image -> the coefficients of the B-spline through its pixels,
// which are mirrored at its edges. That is a separable filter whose weights fall so quickly that a
// finite number of them will do, which every pixel can be given at the same time.
#pragma once

#include <cmath>

#include "stages/fields/field.hpp"

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

/// Rows of coefficients that are made at a time, so that images of any height take little memory
/// besides.
struct SplineBand {
  int top, bottom;  ///< the first row, and one past the last
  int from, until;  ///< the same of the filtered rows that they are made of

  SplineBand(int first, int rows, int height)
      : top(first),
        bottom(rows < height - first ? first + rows : height),
        from(top < SplineFilter::radius ? 0 : top - SplineFilter::radius),
        until(bottom > height - SplineFilter::radius ? height : bottom + SplineFilter::radius) {}

  /// How many rows to make at a time, if so many pixels of filtered ones may be kept.
  static int rows(Size size, std::int64_t pixels) {
    constexpr int besides = 2 * SplineFilter::radius, least = 2 * besides;
    const std::int64_t most = pixels / size.width - besides;
    return static_cast<int>(most > size.height ? size.height : most > least ? most : least);
  }
  /// The pixels of filtered rows that are kept.
  static std::int64_t pixels(Size size, int rows) {
    const std::int64_t most = std::int64_t{rows} + 2 * SplineFilter::radius;
    return (most < size.height ? most : size.height) * size.width;
  }
};

/// The weights of a B-spline's coefficients at a place t, 0 to 1, past the pixel before it, of
/// which there are degree + 1.
template <int degree>
struct SplineTaps;

template <>
struct SplineTaps<5> {
  static constexpr int count = 6, before = 2;
  float of[count];

  XCORR_HD explicit SplineTaps(float t) {
    const float s = 1 - t, t2 = t * t, s2 = s * s;
    of[0] = s2 * s2 * (s * (1.F / 120));
    of[1] = second(t);
    of[2] = 0.55F + t2 * (-0.5F + t2 * (0.25F - t * (1.F / 12)));
    of[4] = second(s);
    of[5] = t2 * t2 * (t * (1.F / 120));
    of[3] = 1 - of[0] - of[1] - of[2] - of[4] - of[5];
  }

 private:
  XCORR_HD static float second(float t) {
    constexpr float unit = 1.F / 120;
    return 26 * unit +
           t * (-50 * unit + t * (20 * unit + t * (20 * unit + t * (-20 * unit + t * (5 * unit)))));
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

/// A spline's value (t, s) past a pixel, both from 0 to 1. \param row  row(j) is the j-th row of
/// coefficients from the upper left one on: something that [i] gives the i-th of
template <int degree, class Row>
XCORR_HD float spline_value(float t, float s, Row row) {
  using Taps = SplineTaps<degree>;
  const Taps across(t), down(s);
  float value = 0;
  XCORR_UNROLL
  for (int j = 0; j < Taps::count; ++j) {
    const auto in = row(j);
    float in_row = 0;
    XCORR_UNROLL
    for (int i = 0; i < Taps::count; ++i) in_row += across.of[i] * in[i];
    value += down.of[j] * in_row;
  }
  return value;
}

/// An image between its pixels.
struct SplineImage {
  const float* coefficients;  ///< dense
  Size size;

  /// A row that is mirrored at its ends, from a pixel on.
  struct MirroredRow {
    const float* row;
    int left, width;
    XCORR_HD float operator[](int i) const { return row[mirrored(left + i, width)]; }
  };

  XCORR_HD float coefficient(int x, int y) const {
    return coefficients[std::int64_t{mirrored(y, size.height)} * size.width +
                        mirrored(x, size.width)];
  }

  /// (t, s) past pixel (x, y), both from 0 to 1; pixels outside are mirrored.
  template <int degree>
  XCORR_HD float at(int x, int y, float t, float s) const {
    using Taps = SplineTaps<degree>;
    const int left = x - Taps::before, top = y - Taps::before;
    if (left >= 0 && top >= 0 && left + Taps::count <= size.width &&
        top + Taps::count <= size.height) {
      const float* const first = coefficients + std::int64_t{top} * size.width + left;
      return spline_value<degree>(t, s,
                                  [&](int j) { return first + std::int64_t{j} * size.width; });
    }
    return spline_value<degree>(t, s, [&](int j) {
      return MirroredRow{coefficients + std::int64_t{mirrored(top + j, size.height)} * size.width,
                         left, size.width};
    });
  }
};

namespace stage {

struct Spline {
  static constexpr const char* name = "spline";

  struct Problem {
    Size size;
    std::int64_t pitch = 0;  ///< bytes
    int degree = 5;          ///< 3 or 5
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type); }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;  ///< their rows' bytes
    float* coefficients = nullptr;         ///< dense
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, matrices(p.type, p.size, p.pitch, 0, 1));
    visit("coefficients", &Buffers::coefficients, elements(ElementType::f32, p.size.area()));
  }
};

}  // namespace stage
}  // namespace xcorr
