// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The formulas of the match methods (OpenCV's), from sums, for every backend: the same operations
// in the same order, so that the CPU and the GPU agree to the last bit. For 8-bit and 16-bit data
// every sum is an exact integer and only the last quotient rounds; a copy then scores exactly 1,
// because sqrt(x * x) == x in IEEE arithmetic.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include <xcorr/methods.hpp>

#include "stages/common/host_device.hpp"
#include "stages/match/templates.hpp"

namespace xcorr {

/// What n sum ab - sum a sum b of 16-bit pixels needs.
__extension__ typedef __int128 Int128;

/// The type in which the sums of such pixels are put together. For 8 bits n is up to 11.9 million,
/// so that n^2 * 255^2 stays below 2^63.
template <class Pixel>
using TermOf = std::conditional_t<std::is_floating_point_v<Pixel>, double,
                                  std::conditional_t<sizeof(Pixel) == 1, std::int64_t, Int128>>;

/// What holds each of them: with 16 bits those of up to 2^31 pixels.
template <class Pixel>
using SumOf = std::conditional_t<std::is_floating_point_v<Pixel>, double, std::int64_t>;

/// Sums over the n pixels of the window at a shift. T: TermOf the pixels.
template <class T>
struct WindowTerms {
  T n, product, left_sum, left_squares;  ///< n, sum f t, sum f, sum f^2
  T right_sum, right_squares;            ///< sum t, sum t^2
};

/// The same of edges, as the numbers that they stand for.
template <class T>
XCORR_HD WindowTerms<T> signed_terms(const WindowTerms<T>& w) {
  constexpr int zero = no_edge;
  const auto squares = [&](T sum, T squares) {
    return squares - 2 * zero * sum + zero * zero * w.n;
  };
  return {w.n,
          w.product - zero * (w.left_sum + w.right_sum) + zero * zero * w.n,
          w.left_sum - zero * w.n,
          squares(w.left_sum, w.left_squares),
          w.right_sum - zero * w.n,
          squares(w.right_sum, w.right_squares)};
}

/// What a score is made of: each but n may be added over the planes of a picture, whose means are
/// taken off one by one.
template <class T>
struct ScoreTerms {
  T n, product, left_squares, right_squares;
  T covariance, left_variance, right_variance;  ///< of n2_covariance()

  ScoreTerms() = default;
  XCORR_HD explicit ScoreTerms(const WindowTerms<T>& w);

  XCORR_HD ScoreTerms& operator+=(const ScoreTerms& other) {
    product += other.product;
    left_squares += other.left_squares;
    right_squares += other.right_squares;
    covariance += other.covariance;
    left_variance += other.left_variance;
    right_variance += other.right_variance;
    return *this;
  }
};

/// Below this share of n * sum f^2 a floating-point variance is rounding noise: no variance.
inline constexpr double flat_share = 1e-12;

XCORR_HD inline bool is_flat_variance(std::int64_t n2_variance, std::int64_t /*n_squares*/) {
  return n2_variance == 0;
}
XCORR_HD inline bool is_flat_variance(Int128 n2_variance, Int128 /*n_squares*/) {
  return n2_variance == 0;
}
XCORR_HD inline bool is_flat_variance(double n2_variance, double n_squares) {
  return !(n2_variance > flat_share * n_squares);
}

XCORR_HD inline double clamp_score(double value, double low, double high) {
  return value < low ? low : value > high ? high : value;
}

/// n sum ab - sum a sum b: n^2 times the covariance, or with a = b the variance.
template <class T>
XCORR_HD T n2_covariance(T n, T ab, T a, T b) {
  return n * ab - a * b;
}

template <class T>
XCORR_HD ScoreTerms<T>::ScoreTerms(const WindowTerms<T>& w)
    : n(w.n),
      product(w.product),
      left_squares(w.left_squares),
      right_squares(w.right_squares),
      covariance(n2_covariance(w.n, w.product, w.left_sum, w.right_sum)),
      left_variance(n2_covariance(w.n, w.left_squares, w.left_sum, w.left_sum)),
      right_variance(n2_covariance(w.n, w.right_squares, w.right_sum, w.right_sum)) {}

/// The terms of one plane.
template <class T>
XCORR_HD ScoreTerms<T> score_terms(Method method, const WindowTerms<T>& w) {
  return ScoreTerms<T>(method == Method::orientation ? signed_terms(w) : w);
}

/// value / sqrt(left * right) in [-1, 1]; 0 when either has no energy.
XCORR_HD inline double quotient(double value, double left, double right) {
  if (!(left > 0) || !(right > 0)) return 0.0;
  return clamp_score(value / sqrt(left * right), -1.0, 1.0);
}

/// sqdiff-normed from sum (f - t)^2: 0 when they are equal, else 1 when either has no energy.
XCORR_HD inline double sqdiff_quotient(double value, double left, double right) {
  if (!(value > 0)) return 0.0;
  if (!(left > 0) || !(right > 0)) return 1.0;
  return clamp_score(value / sqrt(left * right), 0.0, 1.0);
}

/// The method by whose scores places are chosen: these are kept in single precision, in which many
/// windows of words or floats have a ccorr-normed of 1 where contrast is little beside brightness.
/// How far they are from 1 is told apart by all digits.
constexpr Method chosen_by(Method method, ElementType type) {
  return method == Method::ccorr_normed && type != ElementType::u8 ? Method::cosine_distance
                                                                   : method;
}

/// The score of one window from sums of its pixels. A normed score is in [-1, 1] and never NaN:
/// without variance (ccoeff) or energy (ccorr) in the window or the template it is 0.
template <class T>
XCORR_HD double score(Method method, const ScoreTerms<T>& w) {
  switch (method) {
    case Method::sqdiff:
    case Method::sqdiff_normed: {
      const T sum = w.left_squares - 2 * w.product + w.right_squares;
      const double value = sum > 0 ? static_cast<double>(sum) : 0.0;
      if (method == Method::sqdiff) return value;
      return sqdiff_quotient(value, static_cast<double>(w.left_squares),
                             static_cast<double>(w.right_squares));
    }
    case Method::ccorr:
      return static_cast<double>(w.product);
    case Method::ccorr_normed:
    case Method::cosine_distance: {
      const double cosine =
          quotient(static_cast<double>(w.product), static_cast<double>(w.left_squares),
                   static_cast<double>(w.right_squares));
      return method == Method::cosine_distance ? 1 - cosine : cosine;
    }
    case Method::ccoeff:
      return static_cast<double>(w.covariance) / static_cast<double>(w.n);
    case Method::ccoeff_normed: {
      // The quotient first: compilers then turn the test into a select and vectorise the loop.
      const double value =
          quotient(static_cast<double>(w.covariance), static_cast<double>(w.left_variance),
                   static_cast<double>(w.right_variance));
      return is_flat_variance(w.left_variance, w.n * w.left_squares) ||
                     is_flat_variance(w.right_variance, w.n * w.right_squares)
                 ? 0.0
                 : value;
    }
    case Method::orientation:  // the mean over the template's edges
      return w.right_squares > 0 ? clamp_score(static_cast<double>(w.product) /
                                                   static_cast<double>(w.right_squares),
                                               -1.0, 1.0)
                                 : 0.0;
  }
  return 0.0;
}
template <class T>
XCORR_HD double score(Method method, const WindowTerms<T>& w) {
  return score(method, ScoreTerms<T>(w));
}

/// Sums of floating-point pixels computed in two passes, means first, which keeps their precision.
struct CentredTerms {
  double left_squares, right_squares, product;   ///< sum f^2, sum t^2, sum f t
  double difference;                             ///< sum (f - t)^2
  double left_variance_sum, right_variance_sum;  ///< sum f'^2, sum t'^2
  double covariance;                             ///< sum f' t'

  XCORR_HD CentredTerms& operator+=(const CentredTerms& other) {
    left_squares += other.left_squares;
    right_squares += other.right_squares;
    product += other.product;
    difference += other.difference;
    left_variance_sum += other.left_variance_sum;
    right_variance_sum += other.right_variance_sum;
    covariance += other.covariance;
    return *this;
  }
};

XCORR_HD inline double score(Method method, const CentredTerms& w) {
  switch (method) {
    case Method::sqdiff:
      return w.difference;
    case Method::sqdiff_normed:
      return sqdiff_quotient(w.difference, w.left_squares, w.right_squares);
    case Method::ccorr:
      return w.product;
    case Method::ccorr_normed:
    case Method::cosine_distance: {
      const double cosine = quotient(w.product, w.left_squares, w.right_squares);
      return method == Method::cosine_distance ? 1 - cosine : cosine;
    }
    case Method::ccoeff:
      return w.covariance;
    case Method::ccoeff_normed:
      if (is_flat_variance(w.left_variance_sum, w.left_squares) ||
          is_flat_variance(w.right_variance_sum, w.right_squares))
        return 0.0;
      return quotient(w.covariance, w.left_variance_sum, w.right_variance_sum);
    case Method::orientation:  // is of bytes
      break;
  }
  return 0.0;
}

/// A score below which a window's contrast is lost in the error of an approximate product.
inline constexpr double noise_share = 0.02;

/// sqrt(sum f'^2) of n pixels whose n2_covariance() it is; 0 without variance.
XCORR_HD inline double norm_of(double n, double n2_variance, double squares) {
  return is_flat_variance(n2_variance, n * squares) ? 0.0 : sqrt(n2_variance / n);
}

/// ccoeff-normed (ZNCC) from a floating-point product with the template's mean removed, sum f (t -
/// mean t). `product_error` (see stage::Normalise::Buffers; 0: none) keeps windows of almost no
/// contrast from scoring high by accident: the window's norm is raised to at least the one at which
/// the error is noise_share of a score.
XCORR_HD inline double centred_quotient(double product, double window_norm, double right_norm,
                                        double product_error) {
  if (!(window_norm > 0) || !(right_norm > 0)) return 0.0;
  const double floor = product_error / noise_share;
  return clamp_score(product / ((window_norm > floor ? window_norm : floor) * right_norm), -1.0,
                     1.0);
}

/// The terms of a window with such a product, which is the covariance itself.
XCORR_HD inline ScoreTerms<double> centred_terms(double n, double product, double left_sum,
                                                 double left_squares, const TemplateSums& right) {
  ScoreTerms<double> terms(WindowTerms<double>{n, product + left_sum * right.sum / n, left_sum,
                                               left_squares, right.sum, right.squares});
  terms.covariance = product;
  terms.right_variance = right.n2_variance;
  return terms;
}

/// The score of any method from them.
XCORR_HD inline double centred_score(Method method, const ScoreTerms<double>& w,
                                     double product_error) {
  if (method == Method::ccoeff) return w.covariance;
  if (method == Method::ccoeff_normed)
    return centred_quotient(w.covariance, norm_of(w.n, w.left_variance, w.left_squares),
                            norm_of(w.n, w.right_variance, w.right_squares), product_error);
  return score(method, w);
}

/// What a score is made of besides the product, which is plain or centred as in centred_score().
XCORR_HD constexpr bool needs_window_sums(Method method, bool centred) {
  return method == Method::ccoeff_normed || method == Method::orientation ||
         (method == Method::ccoeff) != centred;
}
XCORR_HD constexpr bool needs_window_squares(Method method) {
  return method != Method::ccorr && method != Method::ccoeff && method != Method::orientation;
}

/// Where the parabola through (-1, before), (0, here), (1, after) has its extremum, in [-0.5, 0.5];
/// 0 where it has no extremum of the requested kind.
XCORR_HD inline double parabola_offset(double before, double here, double after, bool minimum) {
  const double curvature = before - 2 * here + after;
  if (minimum ? !(curvature > 0) : !(curvature < 0)) return 0.0;
  return clamp_score(0.5 * (before - after) / curvature, -0.5, 0.5);
}

/// From a whole-pixel position to the extremum near it, in pixels.
struct Offset {
  double dx, dy;
};

/// Where the quadratic through the scores around a position has its extremum, in [-1, 1] along each
/// axis: on a texture of slanted waves it can lie more than half a pixel away. It includes the term
/// x y, without which a texture of slanted lines biases the position. Where a neighbour is missing
/// or the quadratic has no extremum of the requested kind: a parabola along each axis. \param
/// scores  [(dy + 1) * 3 + dx + 1]; missing ones are not read \param whole_x, whole_y  the
/// neighbours in x, in y exist; those at the corners if both do
XCORR_HD inline Offset subpixel_offset(const double (&scores)[9], bool whole_x, bool whole_y,
                                       bool minimum) {
  const double here = scores[4];
  if (whole_x && whole_y) {
    const double gx = 0.5 * (scores[5] - scores[3]), gy = 0.5 * (scores[7] - scores[1]);
    const double xx = scores[3] - 2 * here + scores[5], yy = scores[1] - 2 * here + scores[7];
    const double xy = 0.25 * (scores[8] - scores[2] - scores[6] + scores[0]);
    // Explicit fma: if compilers were free to fuse a product and a sum, each backend would round
    // differently.
    const double det = fma(xx, yy, -(xy * xy));
    // det > 0: xx and yy have the same sign.
    if (det > 0 && (minimum ? xx > 0 : xx < 0))
      return {clamp_score(fma(xy, gy, -(yy * gx)) / det, -1.0, 1.0),
              clamp_score(fma(xy, gx, -(xx * gy)) / det, -1.0, 1.0)};
  }
  return {whole_x ? parabola_offset(scores[3], here, scores[5], minimum) : 0.0,
          whole_y ? parabola_offset(scores[1], here, scores[7], minimum) : 0.0};
}

/// The score that a template's peaks must reach (or, for the minimum methods, not exceed), see
/// MatchSettings::threshold. Infinite where a copy scores 0: such a template cannot match.
XCORR_HD inline double score_limit(Method method, double threshold, double n,
                                   const TemplateSums& right) {
  const auto share_of = [&](double copy) { return copy > 0 ? threshold * copy : INFINITY; };
  switch (method) {
    case Method::sqdiff:
      return (1 - threshold) * right.squares;
    case Method::sqdiff_normed:
    case Method::cosine_distance:
      return 1 - threshold;
    case Method::ccorr:
      return share_of(right.squares);
    case Method::ccoeff:
      return share_of(
          is_flat_variance(right.n2_variance, n * right.squares) ? 0 : right.n2_variance / n);
    case Method::ccorr_normed:
    case Method::ccoeff_normed:
    case Method::orientation:
      return threshold;
  }
  return 0.0;
}

inline bool misses(Method method, double score, double limit) {
  return info(method).minimum ? score > limit : score < limit;
}

}  // namespace xcorr
