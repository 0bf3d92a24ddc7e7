// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks, one task a peak: there are few.
#include <algorithm>
#include <cmath>
#include <vector>

#include "cpu/common/common.hpp"
#include "stages/match/confirm.hpp"

namespace xcorr::cpu {
namespace {

/// A plane of a window and of its template, less their means by centred methods.
template <class T>
class PlanePair {
 public:
  PlanePair(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b, int right,
            const RefinedPeak& at, int plane)
      : window_(left_of<T>(problem.correlate, b.lefts, 0, plane)),
        template_(right_of<T>(problem.correlate, b.templates, right, plane)),
        mask_(b.mask) {
    const Rect& shifts = problem.correlate.shifts;
    window_.data =
        reinterpret_cast<const std::byte*>(window_.row(shifts.y + at.y) + shifts.x + at.x);
    if (!info(problem.method).centred) return;
    double n = 0, f_sum = 0, t_sum = 0;
    for_counted(whole(), [&](double f, double t) {
      ++n;
      f_sum += f;
      t_sum += t;
    });
    f_mean_ = f_sum / n;
    t_mean_ = t_sum / n;
  }

  Rect whole() const { return {0, 0, template_.size.width, template_.size.height}; }
  /// Calls visit(f, t) for each pixel of the part that counts.
  template <class Visit>
  void for_counted(const Rect& part, Visit visit) const {
    for (int y = part.y; y < part.y + part.height; ++y) {
      const T *f = window_.row(y), *t = template_.row(y);
      const std::uint8_t* const counts =
          mask_ ? mask_ + std::int64_t{y} * template_.size.width : nullptr;
      for (int x = part.x; x < part.x + part.width; ++x)
        if (!counts || counts[x]) visit(f[x] - f_mean_, t[x] - t_mean_);
    }
  }

 private:
  Matrix<T> window_, template_;
  const std::uint8_t* mask_;
  double f_mean_ = 0, t_mean_ = 0;
};

template <class T>
float difference_at(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b,
                    int right, const RefinedPeak& at) {
  std::vector<PlanePair<T>> planes;
  for (int plane = 0; plane < problem.correlate.planes; ++plane)
    planes.emplace_back(problem, b, right, at, plane);
  double window = 0, templ = 0;
  for (const PlanePair<T>& plane : planes)
    plane.for_counted(plane.whole(), [&](double f, double t) {
      window += f * f;
      templ += t * t;
    });
  const double gain =
      confirm_gain(problem.method, window, templ, is_inverted(problem.polarity, at.score));
  const Size size = problem.correlate.right;
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
      const int count = problem.correlate.planes;
      worst = std::max(worst, confirm_mean(squares, pixels / count, count));
    }
  return static_cast<float>(std::sqrt(worst));
}

Status launch(const stage::Confirm::Problem& problem, const Device&,
              const stage::Confirm::Buffers& b, PlanState*) {
  const ElementType type = problem.correlate.type;
  const auto one = type == ElementType::u8    ? difference_at<std::uint8_t>
                   : type == ElementType::u16 ? difference_at<std::uint16_t>
                                              : difference_at<float>;
  const std::int64_t places = std::int64_t{b.right_count} * problem.max_peaks;
  parallel_for(std::int64_t{0}, places, [&](std::int64_t place) {
    const int r = b.first_right + static_cast<int>(place / problem.max_peaks);
    if (place % problem.max_peaks >= b.peak_counts[r]) return;
    const std::int64_t index = std::int64_t{b.first_right} * problem.max_peaks + place;
    b.differences[index] = one(problem, b, r, b.peaks[index]);
  });
  return {};
}

bool supports(const stage::Confirm::Problem& p, const Device&) {
  return stage::can_be_confirmed(p);
}

constexpr Variant<stage::Confirm> table[] = {
    {{.name = "confirm", .backend = Backend::cpu, .features = match_features},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family confirm_family() { return Family(table); }

}  // namespace xcorr::cpu
