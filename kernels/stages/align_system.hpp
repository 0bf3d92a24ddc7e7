// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The equations of the steps of the stage align: sums over the pixels of a template, and their
// solution.
#pragma once

#include <cmath>

#include "stages/contrast.hpp"
#include "stages/least_squares.hpp"
#include "stages/smooth.hpp"

namespace xcorr {

/// Which of a pose's parts may change, besides its place, and which sign the gain may have.
struct AlignFreedom {
  bool turns = false, scales = false;
  Polarity polarity = Polarity::same;

  /// Whether an unknown of AlignEquation is sought.
  XCORR_HD bool is_free(int unknown) const {
    return unknown == 2 ? turns : unknown == 3 ? scales : true;
  }
};

/// What a step may change: -gain times its parts along u and v, its turn and its growth (as
/// distances at the radius), the gain, the offset.
inline constexpr int align_unknowns = 6;

/// About what pixels are, of bytes. The offset takes what template and frame are less, so sums are
/// smaller and lose less in single precision.
template <class Pixel>
inline constexpr float align_middle = sizeof(Pixel) == 1 ? 128 : 0;

/// A pixel's equation, that the frame there is gain * (template - slopes * step) + offset.
struct AlignEquation {
  float of[align_unknowns];

  /// \param u, v  from the template's centre
  XCORR_HD AlignEquation(float u, float v, const SmoothedPixel& pixel, float per_radius,
                         float middle)
      // A turn moves (u, v) along (v, -u).
      : of{pixel.by_u,
           pixel.by_v,
           (pixel.by_u * v - pixel.by_v * u) * per_radius,
           (pixel.by_u * u + pixel.by_v * v) * per_radius,
           pixel.value - middle,
           1} {}
};

/// Sums over pixels; those of several parts may be added.
template <class T, int sums>
struct AlignSums {
  static constexpr int count = sums;
  T of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (T& sum : of) sum = 0;
  }
  template <class Other>
  XCORR_HD void add(const AlignSums<Other, count>& others) {
    XCORR_UNROLL
    for (int k = 0; k < count; ++k) of[k] += others.of[k];
  }
};

/// The lower half of the matrix, of the template.
struct AlignMatrix : AlignSums<double, align_unknowns*(align_unknowns + 1) / 2> {
  XCORR_HD void add_pixel(const AlignEquation& equation) {
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += double(equation.of[i]) * equation.of[j];
    }
  }
};

/// The right side at a pose, and the sum of the frame's squares.
/// T: float for some hundreds of pixels of 8 bits, double for all.
template <class T>
struct AlignRightOf : AlignSums<T, align_unknowns + 1> {
  /// \param here  the smoothed frame, less the middle
  XCORR_HD void add_pixel(const AlignEquation& equation, float here) {
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) this->of[i] += T(equation.of[i]) * T(here);
    this->of[align_unknowns] += T(here) * T(here);
  }
};
using AlignRight = AlignRightOf<double>;

/// The equations of all steps but for their right side.
struct AlignSystem {
  AlignMatrix matrix;
  double inverse[align_unknowns][align_unknowns];
  bool has_inverse;

  /// Finds a column of the inverse, which may be done side by side. True: there is one.
  XCORR_HD bool invert(const AlignFreedom& freedom, int column) {
    double lower[align_unknowns][align_unknowns], solution[align_unknowns];
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) lower[i][j] = matrix.of[k++];
      solution[i] = i == column;
    }
    XCORR_UNROLL
    for (int i = 2; i < 4; ++i) {
      XCORR_UNROLL
      for (int j = 0; j < align_unknowns; ++j) {
        double& value = j < i ? lower[i][j] : lower[j][i];
        if (!freedom.is_free(i)) value = j == i;
      }
    }
    // What may be left of a pivot by rounding: template and slopes are in single precision.
    constexpr double lost = 1e-12;
    const bool exists = solve_least_squares(lower, solution, lost);
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) inverse[i][column] = solution[i];
    return exists;
  }

  /// The least-squares solution.
  XCORR_HD void solve(const AlignRight& right, const AlignFreedom& freedom,
                      double (&solution)[align_unknowns]) const {
    XCORR_UNROLL
    for (int i = 0; i < align_unknowns; ++i) {
      solution[i] = 0;
      XCORR_UNROLL
      for (int j = 0; j < align_unknowns; ++j)
        if (freedom.is_free(j)) solution[i] += inverse[i][j] * right.of[j];
    }
  }

  /// The coefficient of correlation of the template and the frame, where both vary.
  XCORR_HD double fit(const AlignRight& right) const {
    const double* last_row = matrix.of + matrix.count - align_unknowns;
    const double squares = last_row[-1], sum = last_row[4], n = last_row[5];
    const double product = right.of[4], frame = right.of[5], frames = right.of[6];
    return (n * product - sum * frame) /
           sqrt((n * squares - sum * sum) * (n * frames - frame * frame));
  }
};

}  // namespace xcorr
