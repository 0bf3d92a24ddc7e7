// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The equations of the steps of the stage fit: sums over the pixels of a window, and their
// solution.
#pragma once

#include <cmath>

#include "stages/fields/field.hpp"

namespace xcorr {

/// A pixel of the reference with its slopes, less `origin`, which keeps sums small.
struct SlopedPixel {
  float value, by_x, by_y;

  XCORR_HD SlopedPixel(float value_, float by_x_, float by_y_)
      : value(value_), by_x(by_x_), by_y(by_y_) {}
  template <class Pixel>
  XCORR_HD SlopedPixel(const FieldPixels<Pixel>& image, int x, int y, float origin) {
    const auto in_row = [&](int i) { return image(kept(x + i, image.size.width), y); };
    const auto in_column = [&](int i) { return image(x, kept(y + i, image.size.height)); };
    value = in_row(0) - origin;
    by_x = (8 * (in_row(1) - in_row(-1)) - (in_row(2) - in_row(-2))) / 12;
    by_y = (8 * (in_column(1) - in_column(-1)) - (in_column(2) - in_column(-2))) / 12;
  }

 private:
  XCORR_HD static int kept(int i, int length) { return i < 0 ? 0 : i < length ? i : length - 1; }
};

/// Slopes of a warp are measured by what they move the window's rim.
template <int order>
inline constexpr int fit_unknowns = order == 0 ? 2 : 6;

/// The sums over a window of the reference. \tparam order  0: windows move; 1: they are stretched
/// and sheared, too; 2: the same of windows that are bent
template <int order>
struct FitSums {
  static constexpr int unknowns = fit_unknowns<order>;
  /// weight, value, value^2, the products of derivatives, derivatives, their products with value
  static constexpr int count = 3 + unknowns * (unknowns + 1) / 2 + 2 * unknowns;
  float of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (float& sum : of) sum = 0;
  }

  /// How the reference changes with each unknown.
  struct Derivatives {
    float of[unknowns];

    /// \param u, v  from the window's centre, by half its side
    XCORR_HD Derivatives(const SlopedPixel& pixel, float u, float v) {
      of[0] = pixel.by_x;
      of[1] = pixel.by_y;
      if constexpr (order > 0) {
        of[2] = pixel.by_x * u;
        of[3] = pixel.by_x * v;
        of[4] = pixel.by_y * u;
        of[5] = pixel.by_y * v;
      }
    }
  };

  XCORR_HD void add(const SlopedPixel& pixel, const Derivatives& by, float weight) {
    const float weighted = weight * pixel.value;
    of[0] += weight;
    of[1] += weighted;
    of[2] += weighted * pixel.value;
    int k = 3;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      const float derivative = weight * by.of[i];
      XCORR_UNROLL
      for (int j = 0; j <= i; ++j) of[k++] += derivative * by.of[j];
    }
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) {
      of[k] += weight * by.of[i];
      of[k + unknowns] += weighted * by.of[i];
      ++k;
    }
  }
};

/// The sums over a window of the reference and the frame under a warp.
template <int order>
struct WarpedSums {
  static constexpr int unknowns = fit_unknowns<order>;
  /// frame, frame^2, their product with the reference's value, with its derivatives
  static constexpr int count = 3 + unknowns;
  float of[count];

  XCORR_HD void clear() {
    XCORR_UNROLL
    for (float& sum : of) sum = 0;
  }
  XCORR_HD void add(const SlopedPixel& pixel, const typename FitSums<order>::Derivatives& by,
                    float weight, float frame) {
    const float weighted = weight * frame;
    of[0] += weighted;
    of[1] += weighted * frame;
    of[2] += weighted * pixel.value;
    XCORR_UNROLL
    for (int i = 0; i < unknowns; ++i) of[3 + i] += weighted * by.of[i];
  }
};

/// What is known of a window before the first step: arrays that a kernel must not keep in its
/// registers.
template <int order>
struct FitWindow {
  static constexpr int unknowns = fit_unknowns<order>;
  double inverse[unknowns][unknowns];  ///< of the matrix of the normal equations
  double lower[unknowns][unknowns];    ///< scratch
  double derivatives[unknowns], by_value[unknowns];
  double weight, mean, variance;

  /// False if the window does not determine the unknowns. invert() is to follow for each of them.
  XCORR_HD bool prepare(const FitSums<order>& sums) {
    weight = sums.of[0];
    mean = sums.of[1] / weight;
    variance = sums.of[2] - sums.of[1] * mean;
    int k = 3;
    for (int i = 0; i < unknowns; ++i)
      for (int j = 0; j <= i; ++j) lower[i][j] = sums.of[k++];
    for (int i = 0; i < unknowns; ++i) {
      derivatives[i] = sums.of[k];
      by_value[i] = sums.of[k + unknowns] - mean * sums.of[k];
      ++k;
    }
    // Of a window of one gray rounding leaves a share of the squares.
    return weight > 0 && variance > 1e-6 * sums.of[2] && decompose();
  }

  /// The k-th column of the inverse.
  XCORR_HD void invert(int k) {
    for (int i = 0; i < unknowns; ++i) {
      double value = i == k ? 1 : 0;
      for (int m = 0; m < i; ++m) value -= lower[i][m] * inverse[m][k];
      inverse[i][k] = value / lower[i][i];
    }
    for (int i = unknowns - 1; i >= 0; --i) {
      double value = inverse[i][k];
      for (int m = i + 1; m < unknowns; ++m) value -= lower[m][i] * inverse[m][k];
      inverse[i][k] = value / lower[i][i];
    }
  }

  /// Of one unknown in a step of the warp, by its number.
  XCORR_HD double step_of(int i, const WarpedSums<order>& sums) const {
    const double frame_mean = sums.of[0] / weight;
    const double gain = gain_of(sums);
    double step = 0;
    for (int j = 0; j < unknowns; ++j)
      step -= inverse[i][j] * (by_value[j] - gain * (sums.of[3 + j] - frame_mean * derivatives[j]));
    return step;
  }
  XCORR_HD double frame_variance(const WarpedSums<order>& sums) const {
    return sums.of[1] - double(sums.of[0]) * sums.of[0] / weight;
  }
  /// From the frame's contrast to the reference's.
  XCORR_HD double gain_of(const WarpedSums<order>& sums) const {
    return sqrt(variance / frame_variance(sums));
  }
  XCORR_HD double score_of(const WarpedSums<order>& sums) const {
    const double score = (sums.of[2] - mean * sums.of[0]) / sqrt(variance * frame_variance(sums));
    return score < -1 ? -1 : score > 1 ? 1 : score;
  }
  /// Of a component of the displacement: the squared differences that are left are 2 (1 - score)
  /// times the variance.
  XCORR_HD double sigma(double score) const {
    const double noise =
        2 * (1 - score) * variance / (weight > unknowns + 1 ? weight - unknowns : 1);
    return sqrt(noise * 0.5 * (inverse[0][0] + inverse[1][1]));
  }

 private:
  /// Cholesky's; a pivot that is lost in rounding leaves an unknown undetermined.
  XCORR_HD bool decompose() {
    for (int i = 0; i < unknowns; ++i)
      for (int j = 0; j <= i; ++j) {
        double rest = lower[i][j];
        for (int m = 0; m < j; ++m) rest -= lower[i][m] * lower[j][m];
        if (i != j) {
          lower[i][j] = rest / lower[j][j];
        } else if (rest > 1e-5 * lower[i][i]) {
          lower[i][i] = sqrt(rest);
        } else {
          return false;
        }
      }
    return true;
  }
};

}  // namespace xcorr
