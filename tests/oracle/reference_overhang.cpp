// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of overhang_scores: window by window, from the sums over the window, which has zeros
// where the picture ends, and those over the template's pixels inside.
#include <vector>

#include "oracle/reference_methods.hpp"
#include "oracle/reference_types.hpp"
#include "stages/match/overhang_scores.hpp"

namespace xcorr::cpu {
namespace {

using namespace plain;

/// What window and template are at a place.
template <class T, class Product, class Sum, class Squares>
Terms terms_of_sums(const stage::OverhangScores::Problem& problem,
                    const stage::OverhangScores::Buffers& b, int r, int x, int y, int plane,
                    const Mask& seen) {
  const Problem& p = problem.correlate;
  const std::int64_t window = plane * windows_of(p) + std::int64_t{y} * p.shifts.width + x;
  const std::int64_t right = std::int64_t{plane} * p.rights + b.first_right + r;
  const auto f = static_cast<const Sum*>(b.window_sums)[window];
  const auto ff = static_cast<const Squares*>(b.window_squares)[window];
  const auto product = static_cast<const Product*>(
      b.products)[plane * problem.product_plane() + r * problem.products_stride() +
                  y * problem.products_pitch() + x];
  const Matrix<T> pattern = right_of<T>(p, b.templates, right);
  Wide<T> t = 0, tt = 0;
  const std::int64_t n = for_counted(p.right, seen, [&](int u, int v) {
    const Wide<T> pixel = pattern.at(u, v);
    t += pixel;
    tt += pixel * pixel;
  });
  if constexpr (std::is_integral_v<Product>) {
    return integer_terms(n, f, ff, t, tt, product);
  } else {
    const double count = double(n), sum = f, squares = double(ff), right_sum = double(t);
    // A product of the template less its mean.
    const double ft = product + sum * b.template_sums[right].sum / double(problem.pixels());
    const double left_spread = squares - sum * sum / count;
    const double right_spread = double(tt) - right_sum * right_sum / count;
    return {.difference = std::max(0.0, squares - 2 * ft + double(tt)),
            .product = ft,
            .left_energy = squares,
            .right_energy = double(tt),
            .covariance = ft - sum * right_sum / count,
            .left_spread = left_spread,
            .right_spread = right_spread,
            .scale = 1,
            .flat = is_flat(left_spread, squares) || is_flat(right_spread, double(tt))};
  }
}

template <class T, class Product, class Sum, class Squares>
void overhang_scores_as(const stage::OverhangScores::Problem& problem,
                        const stage::OverhangScores::Buffers& b) {
  const Problem& p = problem.correlate;
  const float none = info(problem.method).minimum ? HUGE_VALF : -HUGE_VALF;
  const Mask mask{problem.masking ? b.mask : nullptr, p.right.width};
  std::int64_t i = 0;
  for (int r = 0; r < b.right_count; ++r)
    for (int y = 0; y < p.shifts.height; ++y)
      for (int x = 0; x < p.shifts.width; ++x, ++i) {
        const auto seen = seen_mask(p, problem.overhang, mask, x, y);
        const auto n = static_cast<double>(std::ranges::count(seen.bytes, 1));
        b.overhang_scores[i] = b.contrast_filtered[i];
        if (seen.is_whole) continue;
        const Rect& reach = problem.overhang.reach;
        const int left = p.shifts.x + x - reach.x, top = p.shifts.y + y - reach.y;
        const double outside = static_cast<double>(problem.pixels()) - n;
        if (left < 0 || top < 0 || left + p.right.width > reach.width ||
            top + p.right.height > reach.height || n == 0 ||
            outside > problem.overhang.most * static_cast<double>(problem.pixels())) {
          b.overhang_scores[i] = none;
          continue;
        }
        const Terms terms = over_planes(p, [&](int plane) {
          return terms_of_sums<T, Product, Sum, Squares>(problem, b, r, x, y, plane, seen.mask());
        });
        const double variance = terms.left_spread / terms.scale / n / p.planes;
        const double score = method_score(problem.method, terms);
        b.overhang_scores[i] =
            std::sqrt(std::max(0.0, variance)) < problem.contrast.least
                ? none
                : static_cast<float>(sign_of(problem.contrast.polarity, score) * score);
      }
}

Status overhang_scores(const stage::OverhangScores::Problem& problem, const Device&,
                       const stage::OverhangScores::Buffers& b, PlanState*) {
  using u8 = std::uint8_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  if (problem.correlate.type == ElementType::f32)
    overhang_scores_as<float, float, double, double>(problem, b);
  else if (problem.correlate.type == ElementType::u16)
    overhang_scores_as<std::uint16_t, u64, u64, u64>(problem, b);
  else if (problem.correlate.output_type() == ElementType::u64)
    overhang_scores_as<u8, u64, u32, u64>(problem, b);
  else
    overhang_scores_as<u8, u32, u32, u32>(problem, b);
  return {};
}

constexpr Variant<stage::OverhangScores> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::contrast,
                   Feature::planes, Feature::overhang, Feature::wide_sums,
                   Feature::pitched_output}},
     {.launch = overhang_scores}},
};

}  // namespace

Family reference_overhang_family() { return Family(table); }

}  // namespace xcorr::cpu
