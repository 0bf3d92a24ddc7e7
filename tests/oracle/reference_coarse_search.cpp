// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages coarse_search and fused_coarse_search: integers until the last three
// operations, which are those of the header.
#include <cmath>
#include <vector>

#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr::cpu {
namespace {

/// The sums of a window or a template.
struct Sums {
  std::int64_t n, sum, squares;

  std::int64_t energy(Method method) const {
    return method == Method::ccoeff_normed ? n * squares - sum * sum : squares;
  }
  float norm(Method method) const {
    return energy(method) > 0 ? 1 / std::sqrt(static_cast<float>(energy(method))) : 0;
  }
};

float similarity(Method method, Polarity polarity, std::int64_t product, const Sums& window,
                 const Sums& image) {
  const float left = window.norm(method), right = image.norm(method);
  if (method == Method::sqdiff_normed) {
    const auto difference = static_cast<float>(window.squares - 2 * product + image.squares);
    return left > 0 && right > 0 ? std::fma(-(difference * left), right, 1.0F) : 0;
  }
  const std::int64_t value =
      method == Method::ccoeff_normed ? window.n * product - window.sum * image.sum : product;
  const float score = static_cast<float>(value) * left * right;
  return polarity == Polarity::either     ? std::abs(score)
         : polarity == Polarity::inverted ? -score
                                          : score;
}

Status coarse_search(const stage::CoarseSearch::Problem& p, const Device&,
                     const stage::CoarseSearch::Buffers& b, PlanState*) {
  const Rect shifts = p.correlate.shifts;
  const Size size = p.correlate.right;
  const int columns = (p.correlate.left.width + 3) / 4, rows = (p.correlate.left.height + 3) / 4;
  const auto* products = static_cast<const std::uint32_t*>(b.products);
  for (int r = 0; r < b.right_count; ++r) {
    const int right = b.first_right + r;
    const TemplateSums& sums = b.template_sums[right];
    const Sums image{p.pixels(), std::int64_t(sums.sum), std::int64_t(sums.squares)};
    CoarseKey* const best = b.best + std::int64_t{right} * columns * rows;
    std::fill_n(best, std::int64_t{columns} * rows, CoarseKey{0});
    for (int y = 0; y < shifts.height; ++y)
      for (int x = 0; x < shifts.width; ++x) {
        const std::int64_t at = std::int64_t{y} * shifts.width + x;
        const Sums window{p.pixels(), static_cast<const std::uint32_t*>(b.window_sums)[at],
                          static_cast<const std::uint32_t*>(b.window_squares)[at]};
        const float value = similarity(
            p.method, p.polarity, products[r * p.products_stride() + y * p.products_pitch() + x],
            window, image);
        // In eighths of a cell, from twice the centre.
        const int u = 2 * x + size.width - 1, v = 2 * y + size.height - 1;
        const std::int64_t cell = std::int64_t{v / 8} * columns + u / 8;
        const std::int64_t place =
            ((p.first_image + right) * std::int64_t{columns} * rows + cell) * 16 + v % 8 / 2 * 4 +
            u % 8 / 2;
        best[cell] = std::max(best[cell], coarse_key(value, static_cast<std::uint32_t>(place)));
      }
  }
  return {};
}

Status fused_coarse_search(const stage::FusedCoarseSearch::Problem& p, const Device& device,
                           const stage::FusedCoarseSearch::Buffers& b, PlanState*) {
  const Problem& c = p.correlate;
  std::vector<std::uint32_t> products;
  for (int right = b.first_right; right < b.first_right + b.right_count; ++right)
    for (int y = 0; y < c.shifts.height; ++y)
      for (int x = 0; x < c.shifts.width; ++x) {
        std::uint32_t sum = 0;
        for (int v = 0; v < c.right.height; ++v) {
          const auto* l = static_cast<const std::uint8_t*>(b.lefts) + (y + v) * c.left_pitch + x;
          const auto* r = static_cast<const std::uint8_t*>(b.rights) + right * c.right_stride +
                          v * c.right_pitch;
          for (int u = 0; u < c.right.width; ++u) sum += std::uint32_t{l[u]} * r[u];
        }
        products.push_back(sum);
      }
  return coarse_search(
      p, device, {b, products.data(), b.window_sums, b.window_squares, b.template_sums, b.best},
      nullptr);
}

bool supports(const stage::CoarseSearch::Problem& p, const Device&) { return p.is_countable(); }

constexpr Variant<stage::CoarseSearch> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::pitched_output}},
     {.supports = supports, .launch = coarse_search}},
};

constexpr Variant<stage::FusedCoarseSearch> cells_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast}},
     {.supports = supports, .launch = fused_coarse_search}},
};

}  // namespace

Family reference_coarse_search_family() { return Family(table, cells_table); }

}  // namespace xcorr::cpu
