// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The second look at peaks, one task a peak: there are few.
#include "cpu/match/confirm.hpp"

#include <vector>

namespace xcorr::cpu {
namespace {

template <class T>
float difference_at(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b,
                    int right, const RefinedPeak& at) {
  const Problem& p = problem.correlate;
  std::vector<PlanePair<T>> planes;
  for (int plane = 0; plane < p.planes; ++plane) {
    Matrix<T> window = left_of<T>(p, b.lefts, 0, plane);
    window.data =
        reinterpret_cast<const std::byte*>(window.row(p.shifts.y + at.y) + p.shifts.x + at.x);
    planes.emplace_back(window, right_of<T>(p, b.templates, right, plane), b.mask,
                        info(problem.method).centred);
  }
  return largest_difference<T>(planes, problem.method, is_inverted(problem.polarity, at.score));
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
