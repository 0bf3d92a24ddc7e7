// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracles of the stages confirm and pose_confirm: the window as it would look with the
// template's mean and standard deviation, then square by square.
#include <algorithm>
#include <cmath>
#include <vector>

#include "oracle/oracle.hpp"
#include "oracle/reference_methods.hpp"
#include "oracle/reference_types.hpp"
#include "stages/common/rows.hpp"
#include "stages/poses/pose_confirm.hpp"

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

/// \param factor  the sign of the score
long double worst_of(Size size, const Mask& mask, Method method, long double factor,
                     const Picture& window, const Picture& pattern) {
  if (method == Method::ccoeff_normed || method == Method::ccorr_normed)
    if (window.energy > 0) factor *= std::sqrt(pattern.energy / window.energy);
  const auto planes = static_cast<long double>(window.planes.size());
  long double worst = 0;
  for (int top = 0; top < size.height; top += 8)
    for (int left = 0; left < size.width; left += 8) {
      long double squares = 0;
      int count = 0;
      for_counted(size, mask, [&](int x, int y) {
        if (x < left || y < top || x >= left + 8 || y >= top + 8) return;
        ++count;
        const std::int64_t at = std::int64_t{y} * size.width + x;
        for (std::size_t plane = 0; plane < window.planes.size(); ++plane)
          squares += std::pow(factor * window.planes[plane][at] - pattern.planes[plane][at], 2.0L);
      });
      worst = std::max(worst, squares / (planes * std::max(count, 16)));
    }
  return std::sqrt(worst);
}

template <class T>
long double difference_of(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b,
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
  return worst_of(p.right, mask, problem.method, sign_of(problem.polarity, peak.score), window,
                  pattern);
}

template <class T>
void confirm_as(const stage::Confirm::Problem& problem, const stage::Confirm::Buffers& b) {
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r)
    for (std::uint32_t i = 0; i < b.peak_counts[r]; ++i) {
      const std::int64_t index = std::int64_t{r} * problem.max_peaks + i;
      b.differences[index] = static_cast<float>(difference_of<T>(problem, b, r, b.peaks[index]));
    }
}

Status confirm(const stage::Confirm::Problem& problem, const Device&,
               const stage::Confirm::Buffers& b, PlanState*) {
  return for_type(confirm_as<std::uint8_t>, confirm_as<std::uint16_t>, confirm_as<float>, problem,
                  b);
}

/// The template as the stage warp_template turns it.
template <class T>
long double difference_at(const stage::PoseConfirm::Problem& p,
                          const stage::PoseConfirm::Buffers& b, const RefinedPose& pose, int sign) {
  const ConfirmedPart part(p.pyramid, p.frame, pose);
  const Size size = part.size();
  if (size.empty()) return 0;
  std::vector<T> image(p.planes * size.area());
  std::vector<std::uint8_t> counts(size.area());
  const stage::WarpTemplate::Problem warping{p.pyramid,    p.masking,    size,  1,
                                             part.shift_u, part.shift_v, p.type};
  const auto* const stage = oracle::variant_for<stage::WarpTemplate>(warping).value();
  WarpedTemplateSums unused{};
  for (int plane = 0; plane < p.planes; ++plane)
    stage->launch(warping, Device(),
                  {{},
                   b.pixels + plane * p.pyramid.area() * static_cast<std::int64_t>(sizeof(T)),
                   b.mask,
                   &part.map,
                   image.data() + plane * size.area(),
                   counts.data(),
                   &unused},
                  nullptr);
  if (std::ranges::count(counts, 1) == 0) return 0;
  const Mask mask{counts.data(), size.width};
  const bool centred = info(p.method).centred;
  const Picture window = picture_of(size, p.planes, mask, centred, [&](int plane, int x, int y) {
    return row_of<T>(b.frame + plane * p.plane, p.pitch, part.top + y)[part.left + x];
  });
  const Picture pattern = picture_of(size, p.planes, mask, centred, [&](int plane, int x, int y) {
    return image[(std::int64_t{plane} * size.height + y) * size.width + x];
  });
  return worst_of(size, mask, p.method, sign, window, pattern);
}

template <class T>
void pose_confirm_as(const stage::PoseConfirm::Problem& p, const stage::PoseConfirm::Buffers& b) {
  for (int i = 0; i < *b.candidate_count; ++i) {
    const auto difference = [&](const RefinedPose& pose, double score) {
      return static_cast<float>(difference_at<T>(p, b, pose, sign_of(p.polarity, score)));
    };
    const bool led = b.refinements[i].is_refined && b.rescored[i].is_inside;
    b.differences[2 * i] = difference(b.starts[i], b.candidates[i].score);
    b.differences[2 * i + 1] = led ? difference(b.refinements[i].pose, b.rescored[i].score) : 0;
  }
}

Status pose_confirm(const stage::PoseConfirm::Problem& p, const Device&,
                    const stage::PoseConfirm::Buffers& b, PlanState*) {
  return for_type(pose_confirm_as<std::uint8_t>, pose_confirm_as<std::uint16_t>,
                  pose_confirm_as<float>, p, b);
}

constexpr Variant<stage::Confirm> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::wide_sums,
                   Feature::several_peaks, Feature::mask, Feature::contrast, Feature::own_lefts,
                   Feature::planes}},
     {.launch = confirm}},
};

constexpr Variant<stage::PoseConfirm> pose_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes}},
     {.launch = pose_confirm}},
};

}  // namespace

Family reference_confirm_family() { return Family(table, pose_table); }

}  // namespace xcorr::cpu
