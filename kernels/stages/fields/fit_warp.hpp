// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the pixels of a window lie in the frame, for the stage fit.
#pragma once

#include <type_traits>

#include "stages/fields/field.hpp"

namespace xcorr {

/// Where the pixels of a window lie in the frame: that of (u, v) from its centre at (u + dx +
/// dx_by_x u + dx_by_y v, v + dy + ...).
struct FieldWarp {
  float dx, dy, dx_by_x, dx_by_y, dy_by_x, dy_by_y;

  XCORR_HD float across(float u, float v) const { return dx + dx_by_x * u + dx_by_y * v; }
  XCORR_HD float down(float u, float v) const { return dy + dy_by_x * u + dy_by_y * v; }

  /// This one after the inverse of a small one.
  XCORR_HD FieldWarp after_inverse(const FieldWarp& step) const {
    const float a = 1 + step.dx_by_x, b = step.dx_by_y, c = step.dy_by_x, d = 1 + step.dy_by_y;
    const float det = a * d - b * c;
    const float ia = d / det, ib = -b / det, ic = -c / det, id = a / det;
    const float tx = -(ia * step.dx + ib * step.dy), ty = -(ic * step.dx + id * step.dy);
    const float p = 1 + dx_by_x, q = dx_by_y, r = dy_by_x, s = 1 + dy_by_y;
    return {dx + p * tx + q * ty, dy + r * tx + s * ty, p * ia + q * ic - 1,
            p * ib + q * id,      r * ia + s * ic,      r * ib + s * id - 1};
  }
};

/// The same of a window that is bent, too, in a way that is known.
struct BentWarp : FieldWarp {
  FieldBend bend;

  XCORR_HD float across(float u, float v) const {
    return FieldWarp::across(u, v) + bend.across(u, v);
  }
  XCORR_HD float down(float u, float v) const { return FieldWarp::down(u, v) + bend.down(u, v); }
};

template <int order>
using FitWarp = std::conditional_t<order == 2, BentWarp, FieldWarp>;

}  // namespace xcorr
