// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Scores after the contrast test, one task per row of all templates, in plain loops that the
// compiler vectorises.
#include "stages/match/contrast_filter.hpp"

#include "cpu/common/common.hpp"
#include "stages/match/score.hpp"

namespace xcorr::cpu {
namespace {

/// A row of one template's scores.
void orient(Polarity polarity, const float* from, float* to, int count) {
  if (polarity == Polarity::either)
    for (int i = 0; i < count; ++i) to[i] = std::abs(from[i]);
  else if (polarity == Polarity::inverted)
    for (int i = 0; i < count; ++i) to[i] = -from[i];
  else if (to != from)
    std::copy_n(from, count, to);
}

/// \param T  as in WindowTerms
template <class T, class Sum, class Squares>
void contrast_filter(const stage::ContrastFilter::Problem& p,
                     const stage::ContrastFilter::Buffers& b) {
  const Rect shifts = p.correlate.shifts;
  const auto n = static_cast<T>(p.pixels());
  const auto* sums = static_cast<const Sum*>(b.window_sums);
  const auto* squares = static_cast<const Squares*>(b.window_squares);
  const float none = no_match(info(p.method).minimum);
  const int planes = p.correlate.planes;
  const std::int64_t plane = windows_of(p.correlate);
  parallel_for(0, shifts.height, [&](int y) {
    const std::int64_t row = std::int64_t{y} * shifts.width;
    for (int r = 0; r < b.right_count; ++r) {
      const std::int64_t first = r * shifts.size().area() + row;
      float* const contrast_filtered = b.contrast_filtered + first;
      orient(p.contrast.polarity, b.scores + first, contrast_filtered, shifts.width);
      if (!(p.contrast.least > 0)) continue;
      for (int x = 0; x < shifts.width; ++x) {
        T variance = 0;
        for (int c = 0; c < planes; ++c) {
          const std::int64_t at = c * plane + row + x;
          const auto sum = static_cast<T>(sums[at]);
          variance += n2_covariance(n, static_cast<T>(squares[at]), sum, sum);
        }
        if (lacks_contrast(n, variance, planes, p.contrast.least)) contrast_filtered[x] = none;
      }
    }
  });
}

Status launch(const stage::ContrastFilter::Problem& p, const Device&,
              const stage::ContrastFilter::Buffers& b, PlanState*) {
  if (p.correlate.type == ElementType::f32)
    contrast_filter<double, double, double>(p, b);
  else if (p.correlate.type == ElementType::u16)
    contrast_filter<Int128, std::uint64_t, std::uint64_t>(p, b);
  else if (p.correlate.output_type() == ElementType::u64)
    contrast_filter<std::int64_t, std::uint32_t, std::uint64_t>(p, b);
  else
    contrast_filter<std::int64_t, std::uint32_t, std::uint32_t>(p, b);
  return {};
}

constexpr Variant<stage::ContrastFilter> variants[] = {
    {{.name = "contrast_filter", .backend = Backend::cpu, .features = match_features},
     {.launch = launch}},
};

}  // namespace

Family contrast_filter_family() { return Family(variants); }

}  // namespace xcorr::cpu
