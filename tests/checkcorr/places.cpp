// SPDX-License-Identifier: LGPL-2.1-or-later
#include "places.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>

namespace checkcorr {
namespace {

constexpr double undecided = 2;  ///< from -1 to 1

enum class Sign : std::uint8_t { positive, not_positive, unknown };

Sign sign_of(double value, double error) {
  return value > error ? Sign::positive : value <= -error ? Sign::not_positive : Sign::unknown;
}

/// Of value / divisor, each off by as much as its error; the divisor is positive for certain.
double quotient_bound(double value, double value_error, double divisor, double divisor_error) {
  const double offset = std::abs(value / divisor);
  return std::min(undecided, (value_error + offset * divisor_error) / (divisor - divisor_error));
}

/// `curvature`: positive where the parabola has an extremum of the sort wanted.
double parabola_bound(double slope, double curvature, double error) {
  switch (sign_of(curvature, 4 * error)) {
    case Sign::positive:
      return quotient_bound(slope, error, curvature, 4 * error);
    case Sign::not_positive:
      return 0;
    case Sign::unknown:
      break;
  }
  return undecided;
}

}  // namespace

xcorr::Offset place_bound(const double (&s)[9], bool whole_x, bool whole_y, bool minimum,
                          double error) {
  const double up = minimum ? 1 : -1;
  const double x = whole_x ? up * (s[5] - s[3]) / 2 : 0, y = whole_y ? up * (s[7] - s[1]) / 2 : 0;
  const double xx = whole_x ? up * (s[3] - 2 * s[4] + s[5]) : 0;
  const double yy = whole_y ? up * (s[1] - 2 * s[4] + s[7]) : 0;
  if (whole_x && whole_y) {
    const double xy = up * (s[8] - s[2] - s[6] + s[0]) / 4;
    constexpr double eps = 4 * DBL_EPSILON;
    const double det = xx * yy - xy * xy;
    const double det_error = error * (4 * std::abs(xx) + 4 * std::abs(yy) + 2 * std::abs(xy)) +
                             17 * error * error + eps * (std::abs(xx * yy) + xy * xy);
    const auto bound = [&](double along, double across, double curvature) {
      const double value_error =
          error * (4 * std::abs(along) + std::abs(curvature) + std::abs(across) + std::abs(xy)) +
          5 * error * error + eps * (std::abs(curvature * along) + std::abs(xy * across));
      return quotient_bound(xy * across - curvature * along, value_error, det, det_error);
    };
    const Sign signs[] = {sign_of(det, det_error), sign_of(xx, 4 * error), sign_of(yy, 4 * error)};
    const auto any = [&](Sign sign) { return std::ranges::find(signs, sign) != std::end(signs); };
    if (!any(Sign::not_positive)) {
      if (any(Sign::unknown)) return {undecided, undecided};
      return {bound(x, y, yy), bound(y, x, xx)};
    }
  }
  return {whole_x ? parabola_bound(x, xx, error) : 0, whole_y ? parabola_bound(y, yy, error) : 0};
}

}  // namespace checkcorr
