// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From warp to warp by the steps of the stage fit, and when they end.
#pragma once

#include <cmath>

#include "stages/fields/fit_sums.hpp"
#include "stages/fields/fit_warp.hpp"

namespace xcorr {

/// The steps of one window.
template <int order>
class FitSteps {
 public:
  static constexpr int most = 10, unknowns = fit_unknowns<order>;

  /// Before the first step. Not a constructor, which what lies in shared memory cannot have.
  /// \param bend  the window's, with order 2
  XCORR_HD static FitSteps begin(const InterrogationWindow& window, const FieldBend* bend,
                                 int size) {
    FitSteps steps;
    steps.half_ = 0.5F * static_cast<float>(size);
    steps.start_x_ = window.dx;
    steps.start_y_ = window.dy;
    steps.affine() = {window.dx, window.dy, 0, 0, 0, 0};
    if constexpr (order > 0)
      steps.affine() = {window.dx,      window.dy,      window.dx_by_x,
                        window.dx_by_y, window.dy_by_x, window.dy_by_y};
    if constexpr (order == 2) steps.warp_.bend = *bend;
    steps.score_ = 0;
    steps.is_fitted_ = false;
    return steps;
  }

  XCORR_HD const FitWarp<order>& warp() const { return warp_; }
  /// Half the window's side.
  XCORR_HD float half() const { return half_; }

  /// Takes FitWindow::step_of() of all unknowns at warp(); false: that was the last step.
  XCORR_HD bool step(const double (&found)[unknowns], double score) {
    score_ = static_cast<float>(score);
    FieldWarp change{static_cast<float>(found[0]), static_cast<float>(found[1]), 0, 0, 0, 0};
    double length = found[0] * found[0] + found[1] * found[1];
    if constexpr (order > 0) {
      XCORR_UNROLL
      for (int i = 2; i < unknowns; ++i) length += found[i] * found[i];
      change.dx_by_x = static_cast<float>(found[2]) / half_;
      change.dx_by_y = static_cast<float>(found[3]) / half_;
      change.dy_by_x = static_cast<float>(found[4]) / half_;
      change.dy_by_y = static_cast<float>(found[5]) / half_;
    }
    // A step so long has left what it was made for; NaN, too, ends here.
    is_fitted_ = length < double(half_) * half_;
    if (!is_fitted_) return false;
    affine() = warp_.after_inverse(change);
    const float far_x = fabsf(warp_.dx - start_x_), far_y = fabsf(warp_.dy - start_y_);
    is_fitted_ = far_x <= reach() && far_y <= reach();
    // What is left after a step of so little, in pixels squared, is far below what noise does.
    return is_fitted_ && length > 1e-5;
  }

  XCORR_HD bool is_fitted() const { return is_fitted_ && score_ > 0; }

  /// What the fit gives; `window` as in the constructor.
  XCORR_HD FieldVector result(const InterrogationWindow& window, int size, bool symmetric,
                              double sigma) const {
    FieldVector vector;
    place_vector(window, size, vector);
    vector.dx = warp_.dx;
    vector.dy = warp_.dy;
    vector.dx_by_x = warp_.dx_by_x;
    vector.dx_by_y = warp_.dx_by_y;
    vector.dy_by_x = warp_.dy_by_x;
    vector.dy_by_y = warp_.dy_by_y;
    vector.score = score_;
    vector.sigma = static_cast<float>(sigma);
    if (symmetric)
      move_to_node(window,
                   order > 0
                       ? FieldSlopes{warp_.dx_by_x, warp_.dx_by_y, warp_.dy_by_x, warp_.dy_by_y}
                       : window.slopes(),
                   vector);
    if constexpr (order == 2)
      if (symmetric) {
        const float x = window.node_x - 0.5F * warp_.dx, y = window.node_y - 0.5F * warp_.dy;
        vector.dx += warp_.bend.across(x, y);
        vector.dy += warp_.bend.down(x, y);
      }
    return vector;
  }

 private:
  /// How far a window may move from where it is expected: it still overlaps what was seen there.
  XCORR_HD float reach() const { return half_ / 2 > 2 ? half_ / 2 : 2; }

  XCORR_HD FieldWarp& affine() { return warp_; }

  float half_, start_x_, start_y_;
  FitWarp<order> warp_;
  float score_;
  bool is_fitted_;
};

}  // namespace xcorr
