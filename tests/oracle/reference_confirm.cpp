// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage confirm: the window as it would look with the template's mean and
// standard deviation, then square by square.
#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/reference_methods.hpp"
#include "oracle/reference_types.hpp"
#include "stages/match/confirm.hpp"

namespace xcorr::cpu {
namespace {

using namespace plain;
using Plane = std::vector<long double>;  ///< the pixels that count, 0 elsewhere

struct Picture {
  std::vector<Plane> planes;
  long double energy = 0;
};

/// `pixel(plane, x, y)`
template <class Pixel>
Picture picture_of(Size size, int planes, const Mask& mask, bool centred, Pixel pixel) {
  Picture made;
  for (int plane = 0; plane < planes; ++plane) {
    long double sum = 0;
    const auto n = for_counted(size, mask, [&](int x, int y) { sum += pixel(plane, x, y); });
    const long double mean = centred ? sum / static_cast<long double>(n) : 0;
    Plane& to = made.planes.emplace_back(size.area());
    for_counted(size, mask, [&](int x, int y) {
      const long double value = pixel(plane, x, y) - mean;
      to[std::int64_t{y} * size.width + x] = value;
      made.energy += value * value;
    });
  }
  return made;
}

template <class T>
long double worst_of(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b,
                     int r, const RefinedPeak& peak) {
  const Problem& p = problem.correlate;
  const Mask mask{b.mask, p.right.width};
  const bool centred = info(problem.method).centred;
  const Picture window = picture_of(p.right, p.planes, mask, centred, [&](int plane, int x, int y) {
    return left_of_right<T>(p, b.lefts, r, plane)
        .at(p.shifts.x + peak.x + x, p.shifts.y + peak.y + y);
  });
  const Picture pattern =
      picture_of(p.right, p.planes, mask, centred, [&](int plane, int x, int y) {
        return right_of<T>(p, b.templates, std::int64_t{plane} * p.rights + r).at(x, y);
      });
  long double factor = sign_of(problem.polarity, peak.score);
  if (problem.method == Method::ccoeff_normed || problem.method == Method::ccorr_normed)
    if (window.energy > 0) factor *= std::sqrt(pattern.energy / window.energy);
  long double worst = 0;
  for (int top = 0; top < p.right.height; top += 8)
    for (int left = 0; left < p.right.width; left += 8) {
      long double squares = 0;
      int count = 0;
      for_counted(p.right, mask, [&](int x, int y) {
        if (x < left || y < top || x >= left + 8 || y >= top + 8) return;
        ++count;
        const std::int64_t at = std::int64_t{y} * p.right.width + x;
        for (int plane = 0; plane < p.planes; ++plane)
          squares += std::pow(factor * window.planes[plane][at] - pattern.planes[plane][at], 2.0L);
      });
      worst = std::max(worst, squares / (p.planes * std::max(count, 16)));
    }
  return std::sqrt(worst);
}

template <class T>
void confirm_as(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b) {
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    for (std::uint32_t i = 0; i < b.peak_counts[r]; ++i) {
      const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
      b.differences[index] = static_cast<float>(worst_of<T>(problem, b, r, b.peaks[index]));
    }
}

Status confirm(const stage::Confirm::Problem& problem, const Device&,
               const stage::Confirm::Buffers& b, PlanState*) {
  return for_type(confirm_as<std::uint8_t>, confirm_as<std::uint16_t>, confirm_as<float>, problem,
                  b);
}

constexpr Variant<stage::Confirm> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums,
                   Feature::several_peaks, Feature::mask, Feature::contrast, Feature::own_lefts,
                   Feature::planes}},
     {.launch = confirm}},
};

}  // namespace

Family reference_confirm_family() { return Family(table); }

}  // namespace xcorr::cpu
