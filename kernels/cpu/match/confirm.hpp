// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at a window on the CPU, upright or at a pose.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "cpu/common/common.hpp"
#include "stages/match/confirm.hpp"

namespace xcorr::cpu {

/// A plane of a window and of its template, less their means by centred methods.
template <class T>
class PlanePair {
 public:
  /// \param mask  dense, of the template's size; null: all pixels count
  PlanePair(const Matrix<T>& window, const Matrix<T>& right, const std::uint8_t* mask, bool centred)
      : window_(window), right_(right), mask_(mask) {
    if (!centred) return;
    double n = 0, f_sum = 0, t_sum = 0;
    for_counted(whole(), [&](double f, double t) {
      ++n;
      f_sum += f;
      t_sum += t;
    });
    if (n == 0) return;
    f_mean_ = f_sum / n;
    t_mean_ = t_sum / n;
  }

  Size size() const { return right_.size; }
  Rect whole() const { return {0, 0, size().width, size().height}; }
  /// Calls visit(f, t) for each pixel of the part that counts.
  template <class Visit>
  void for_counted(const Rect& part, Visit visit) const {
    for (int y = part.y; y < part.y + part.height; ++y) {
      const T *f = window_.row(y), *t = right_.row(y);
      const std::uint8_t* const counts = mask_ ? mask_ + std::int64_t{y} * size().width : nullptr;
      for (int x = part.x; x < part.x + part.width; ++x)
        if (!counts || counts[x]) visit(f[x] - f_mean_, t[x] - t_mean_);
    }
  }

 private:
  Matrix<T> window_, right_;
  const std::uint8_t* mask_;
  double f_mean_ = 0, t_mean_ = 0;
};

/// The largest root mean square of the differences in a square of the planes.
template <class T>
float largest_difference(std::span<const PlanePair<T>> planes, Method method, bool inverted) {
  double window = 0, right = 0;
  for (const PlanePair<T>& plane : planes)
    plane.for_counted(plane.whole(), [&](double f, double t) {
      window += f * f;
      right += t * t;
    });
  const double gain = confirm_gain(method, window, right, inverted);
  const Size size = planes[0].size();
  const int count = static_cast<int>(planes.size());
  double worst = 0;
  for (int top = 0; top < size.height; top += confirm_side)
    for (int left = 0; left < size.width; left += confirm_side) {
      const Rect square{left, top, std::min(confirm_side, size.width - left),
                        std::min(confirm_side, size.height - top)};
      double squares = 0, pixels = 0;
      for (const PlanePair<T>& plane : planes)
        plane.for_counted(square, [&](double f, double t) {
          squares += (gain * f - t) * (gain * f - t);
          ++pixels;
        });
      worst = std::max(worst, confirm_mean(squares, pixels / count, count));
    }
  return static_cast<float>(std::sqrt(worst));
}

}  // namespace xcorr::cpu
