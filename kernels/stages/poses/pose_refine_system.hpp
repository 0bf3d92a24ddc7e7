// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The equations of the steps of the stage pose_refine: sums over the pixels of a template, and
// their solution.
#pragma once

#include <cmath>

#include "stages/common/least_squares.hpp"
#include "stages/match/contrast.hpp"
#include "stages/poses/smooth.hpp"

namespace xcorr {

/// Which of a pose's parts may change, besides its place, and which sign the gain may have.
struct PoseRefineFreedom {
  bool turns = false, scales = false;
  Polarity polarity = Polarity::same;

  /// Whether an unknown of PoseRefineEquation is sought.
  XCORR_HD bool is_free(int unknown) const {
    return unknown == 2 ? turns : unknown == 3 ? scales : true;
  }
};

/// What a step may change: -gain times its parts along u and v, its turn and its growth (as
/// distances at the radius), the gain, the offset.
inline constexpr int pose_refine_unknowns = 6;

/// About what pixels are, of bytes. The offset takes what template and frame are less, so sums are
/// smaller and lose less in single precision.
template <class Pixel>
inline constexpr float pose_refine_middle = sizeof(Pixel) == 1 ? 128 : 0;

/// A pixel's equation, that the frame there is gain * (template - slopes * step) + offset.
struct PoseRefineEquation {
  float of[pose_refine_unknowns];

  /// \param u, v  from the template's centre
  XCORR_HD PoseRefineEquation(float u, float v, const SmoothedPixel& pixel, float per_radius,
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
struct PoseRefineSums {
  static constexpr int count = sums;
  T of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (T& sum : of) sum = 0;
  }
  template <class Other>
  XCORR_HD void add(const PoseRefineSums<Other, count>& others) {
    XCORR_UNROLL
    for (int k = 0; k < count; ++k) of[k] += others.of[k];
  }
};

/// The lower half of the matrix, of the template.
struct PoseRefineMatrix
    : PoseRefineSums<double, pose_refine_unknowns*(pose_refine_unknowns + 1) / 2> {
  XCORR_HD void add_pixel(const PoseRefineEquation& equation) {
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < pose_refine_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += double(equation.of[i]) * equation.of[j];
    }
  }
};

/// Those without the offset, which is taken out of the equations: then those of planes with offsets
/// of their own may be added.
XCORR_HD inline PoseRefineMatrix without_offset(PoseRefineMatrix matrix) {
  constexpr int offset = pose_refine_unknowns - 1;
  constexpr double lost = 1e-12;  // what is left of it is rounding
  double* const last = matrix.of + offset * (offset + 1) / 2;
  int k = 0;
  for (int i = 0; i < offset; ++i)
    for (int j = 0; j <= i; ++j, ++k) {
      const double whole = matrix.of[k];
      matrix.of[k] -= last[i] * last[j] / last[offset];
      if (i == j && !(matrix.of[k] > lost * whole)) matrix.of[k] = 0;
    }
  for (int j = 0; j < offset; ++j) last[j] = 0;
  return matrix;
}

/// The right side at a pose, and the sum of the frame's squares.
/// T: float for some hundreds of pixels of 8 bits, double for all.
template <class T>
struct PoseRefineRightOf : PoseRefineSums<T, pose_refine_unknowns + 1> {
  /// \param here  the smoothed frame, less the middle
  XCORR_HD void add_pixel(const PoseRefineEquation& equation, float here) {
    XCORR_UNROLL
    for (int i = 0; i < pose_refine_unknowns; ++i) this->of[i] += T(equation.of[i]) * T(here);
    this->of[pose_refine_unknowns] += T(here) * T(here);
  }
};
using PoseRefineRight = PoseRefineRightOf<double>;

/// The same with the offset's part. `matrix`: with it, too.
XCORR_HD inline PoseRefineRight without_offset(PoseRefineRight right,
                                               const PoseRefineMatrix& matrix) {
  constexpr int offset = pose_refine_unknowns - 1;
  const double* const last = matrix.of + offset * (offset + 1) / 2;
  const double mean = right.of[offset] / last[offset];
  for (int i = 0; i < offset; ++i) right.of[i] -= last[i] * mean;
  right.of[pose_refine_unknowns] -= right.of[offset] * mean;
  right.of[offset] = 0;
  return right;
}

/// The equations of all steps but for their right side.
struct PoseRefineSystem {
  PoseRefineMatrix matrix;
  double inverse[pose_refine_unknowns][pose_refine_unknowns];
  bool has_inverse;

  /// Finds a column of the inverse, which may be done side by side. True: there is one.
  XCORR_HD bool invert(const PoseRefineFreedom& freedom, int column) {
    double lower[pose_refine_unknowns][pose_refine_unknowns], solution[pose_refine_unknowns];
    int k = 0;
    XCORR_UNROLL
    for (int i = 0; i < pose_refine_unknowns; ++i) {
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) lower[i][j] = matrix.of[k++];
      solution[i] = i == column;
    }
    XCORR_UNROLL
    for (int i = 2; i < 4; ++i) {
      XCORR_UNROLL
      for (int j = 0; j < pose_refine_unknowns; ++j) {
        double& value = j < i ? lower[i][j] : lower[j][i];
        if (!freedom.is_free(i)) value = j == i;
      }
    }
    // What may be left of a pivot by rounding: template and slopes are in single precision.
    constexpr double lost = 1e-12;
    const bool exists = solve_least_squares(lower, solution, lost);
    XCORR_UNROLL
    for (int i = 0; i < pose_refine_unknowns; ++i) inverse[i][column] = solution[i];
    return exists;
  }

  /// The least-squares solution.
  XCORR_HD void solve(const PoseRefineRight& right, const PoseRefineFreedom& freedom,
                      double (&solution)[pose_refine_unknowns]) const {
    XCORR_UNROLL
    for (int i = 0; i < pose_refine_unknowns; ++i) {
      solution[i] = 0;
      XCORR_UNROLL
      for (int j = 0; j < pose_refine_unknowns; ++j)
        if (freedom.is_free(j)) solution[i] += inverse[i][j] * right.of[j];
    }
  }

  /// The coefficient of correlation of the template and the frame, where both vary.
  XCORR_HD double fit(const PoseRefineRight& right) const {
    const double* last_row = matrix.of + matrix.count - pose_refine_unknowns;
    const double squares = last_row[-1], sum = last_row[4], n = last_row[5];
    const double product = right.of[4], frame = right.of[5], frames = right.of[6];
    return (n * product - sum * frame) /
           sqrt((n * squares - sum * sum) * (n * frames - frame * frame));
  }
};

}  // namespace xcorr
