// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of the match methods (OpenCV's), from sums, for every backend: the same operations
// in the same order, so that the CPU and the GPU agree to the last bit. For 8-bit data every sum
// is an exact integer and only the last quotient rounds; a copy then scores exactly 1, because
// sqrt(x * x) == x in IEEE arithmetic.
#pragma once

#include <cmath>
#include <cstdint>

#include <xcorr/methods.hpp>

#include "host_device.hpp"
#include "variant.hpp"

namespace xcorr {

/// Sums over the n pixels under a shift. T: std::int64_t (8-bit data, n up to 11.9 million, so that
/// n^2 * 255^2 stays below 2^63) or double.
template <class T>
struct WindowTerms {
  T n, product, left_sum, left_squares;  ///< n, sum f t, sum f, sum f^2
  T right_sum, right_squares;            ///< sum t, sum t^2
};

/// Below this share of n * sum f^2 a floating-point variance is rounding noise: no variance.
inline constexpr double flat_share = 1e-12;

XCORR_HD inline bool is_flat_variance(std::int64_t deviation, std::int64_t /*n_squares*/) {
  return deviation == 0;
}
XCORR_HD inline bool is_flat_variance(double deviation, double n_squares) {
  return !(deviation > flat_share * n_squares);
}

XCORR_HD inline double clamp_score(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

/// n sum ab - sum a sum b: n^2 times the covariance, or with a = b the variance.
template <class T>
XCORR_HD T deviation(T n, T ab, T a, T b) {
  return n * ab - a * b;
}

/// The score of one window. A normed score is in [-1, 1] and never NaN: without variance (ccoeff)
/// or energy (ccorr) in the window or the template it is 0, and 1 for sqdiff-normed unless both
/// are without energy (0: they are equal).
template <class T>
XCORR_HD double score(Method method, const WindowTerms<T>& w) {
  switch (method) {
    case Method::sqdiff: {
      const T value = w.left_squares - 2 * w.product + w.right_squares;
      return value > 0 ? static_cast<double>(value) : 0.0;
    }
    case Method::sqdiff_normed: {
      const T value = w.left_squares - 2 * w.product + w.right_squares;
      if (!(value > 0)) return 0.0;
      if (!(w.left_squares > 0) || !(w.right_squares > 0)) return 1.0;
      const double norm = sqrt(static_cast<double>(w.left_squares) * static_cast<double>(w.right_squares));
      return clamp_score(static_cast<double>(value) / norm, 0.0, 1.0);
    }
    case Method::ccorr:
      return static_cast<double>(w.product);
    case Method::ccorr_normed: {
      if (!(w.left_squares > 0) || !(w.right_squares > 0)) return 0.0;
      const double norm = sqrt(static_cast<double>(w.left_squares) * static_cast<double>(w.right_squares));
      return clamp_score(static_cast<double>(w.product) / norm, -1.0, 1.0);
    }
    case Method::ccoeff:
      return static_cast<double>(deviation(w.n, w.product, w.left_sum, w.right_sum)) /
             static_cast<double>(w.n);
    case Method::ccoeff_normed: {
      const T left = deviation(w.n, w.left_squares, w.left_sum, w.left_sum);
      const T right = deviation(w.n, w.right_squares, w.right_sum, w.right_sum);
      if (is_flat_variance(left, w.n * w.left_squares) || is_flat_variance(right, w.n * w.right_squares))
        return 0.0;
      const double norm = sqrt(static_cast<double>(left) * static_cast<double>(right));
      return clamp_score(
          static_cast<double>(deviation(w.n, w.product, w.left_sum, w.right_sum)) / norm, -1.0, 1.0);
    }
  }
  return 0.0;
}

/// A score below which a window's contrast is lost in the error of an approximate product.
inline constexpr double noise_share = 0.02;

/// The score from a floating-point product with the template's mean removed, p = sum f (t - mean t).
/// `product_error` (see Buffers; 0: none) keeps windows of almost no contrast from scoring high by
/// accident: the norm is taken as at least the one at which the error is noise_share of a score.
XCORR_HD inline double centred_score(Method method, double n, double product, double left_sum,
                                     double left_squares, const RightSums& right,
                                     double product_error) {
  if (method == Method::ccoeff) return product;
  if (method == Method::ccoeff_normed) {
    const double left = deviation(n, left_squares, left_sum, left_sum);
    if (is_flat_variance(left, n * left_squares) ||
        is_flat_variance(right.deviation, n * right.squares))
      return 0.0;
    const double floor = product_error / noise_share;  // least norm of the window, sqrt(sum f'^2)
    const double window = sqrt(left / n);
    const double norm = (window > floor ? window : floor) * sqrt(right.deviation / n);
    return clamp_score(product / norm, -1.0, 1.0);
  }
  return score(method, WindowTerms<double>{n, product + left_sum * right.sum / n, left_sum,
                                           left_squares, right.sum, right.squares});
}

/// What a template's peaks must reach (or, for the minimum methods, not exceed), see
/// MatchSettings::threshold.
XCORR_HD inline double score_limit(Method method, double threshold, double n, const RightSums& right) {
  switch (method) {
    case Method::sqdiff: return (1 - threshold) * right.squares;
    case Method::sqdiff_normed: return 1 - threshold;
    case Method::ccorr: return threshold * right.squares;
    case Method::ccoeff: return threshold * right.deviation / n;
    case Method::ccorr_normed:
    case Method::ccoeff_normed: return threshold;
  }
  return 0.0;
}

}  // namespace xcorr
