// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stages coarse_search and fused_coarse_search: integers until the last three
// operations, which are those of the header.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stages/poses/fused_coarse_search.hpp"

namespace xcorr::cpu {
namespace {

/// The sums of a window or a template, of each plane.
struct Sums {
  std::int64_t n;
  std::vector<std::int64_t> sums, squares;

  /// Of edges: of the bytes less 128.
  std::int64_t energy(Method method) const {
    std::int64_t energy = 0;
    for (std::size_t i = 0; i < sums.size(); ++i)
      energy += method == Method::ccoeff_normed ? n * squares[i] - sums[i] * sums[i]
                : method == Method::orientation ? squares[i] - 256 * sums[i] + 128 * 128 * n
                                                : squares[i];
    return energy;
  }
  float norm(Method method) const {
    return energy(method) > 0 ? 1 / std::sqrt(static_cast<float>(energy(method))) : 0;
  }
};

float as_it_counts(Polarity polarity, float score) {
  return polarity == Polarity::either     ? std::abs(score)
         : polarity == Polarity::inverted ? -score
                                          : score;
}

/// \param products  of each plane
float similarity(Method method, Polarity polarity, const std::vector<std::int64_t>& products,
                 const Sums& window, const Sums& image) {
  const std::int64_t product = std::accumulate(products.begin(), products.end(), std::int64_t{0});
  const float left = window.norm(method), right = image.norm(method);
  if (method == Method::sqdiff_normed) {
    std::int64_t difference = -2 * product;
    for (std::size_t i = 0; i < products.size(); ++i)
      difference += window.squares[i] + image.squares[i];
    return left > 0 && right > 0 ? std::fma(-(static_cast<float>(difference) * left), right, 1.0F)
                                 : 0;
  }
  std::int64_t value = product;
  if (method == Method::ccoeff_normed) {
    value *= window.n;
    for (std::size_t i = 0; i < products.size(); ++i) value -= window.sums[i] * image.sums[i];
  } else if (method == Method::orientation) {
    for (std::size_t i = 0; i < products.size(); ++i)
      value += 128 * (128 * window.n - window.sums[i] - image.sums[i]);
  }
  return as_it_counts(polarity, static_cast<float>(value) * left * right);
}

Status coarse_search(const stage::CoarseSearch::Problem& p, const Device&,
                     const stage::CoarseSearch::Buffers& b, PlanState*) {
  const Rect shifts = p.correlate.shifts;
  const Size size = p.correlate.right;
  const auto planes = static_cast<std::size_t>(p.correlate.planes);
  const int columns = (p.correlate.left.width + 3) / 4, rows = (p.correlate.left.height + 3) / 4;
  const auto* all_products = static_cast<const std::uint32_t*>(b.products);
  const auto* window_sums = static_cast<const std::uint32_t*>(b.window_sums);
  const auto* window_squares = static_cast<const std::uint32_t*>(b.window_squares);
  Sums window{p.pixels(), std::vector<std::int64_t>(planes), std::vector<std::int64_t>(planes)},
      image = window;
  std::vector<std::int64_t> products(planes);
  for (int r = 0; r < b.right_count; ++r) {
    const int right = b.first_right + r;
    for (std::size_t i = 0; i < planes; ++i) {
      const TemplateSums& sums = b.template_sums[i * p.correlate.rights + right];
      image.sums[i] = static_cast<std::int64_t>(sums.sum);
      image.squares[i] = static_cast<std::int64_t>(sums.squares);
    }
    CoarseKey* const best = b.best + std::int64_t{right} * columns * rows;
    std::fill_n(best, std::int64_t{columns} * rows, CoarseKey{0});
    for (int y = 0; y < shifts.height; ++y)
      for (int x = 0; x < shifts.width; ++x) {
        for (std::size_t i = 0; i < planes; ++i) {
          const std::int64_t at = (std::int64_t(i) * shifts.height + y) * shifts.width + x;
          window.sums[i] = window_sums[at];
          window.squares[i] = window_squares[at];
          products[i] = all_products[i * p.product_plane() + r * p.products_stride() +
                                     y * p.products_pitch() + x];
        }
        const float value = similarity(p.method, p.polarity, products, window, image);
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
  stage::CoarseSearch::Problem apart = p;
  apart.batch = b.right_count;
  std::vector<std::uint32_t> products;
  for (int plane = 0; plane < c.planes; ++plane)
    for (int r = 0; r < b.right_count; ++r)
      for (int y = 0; y < c.shifts.height; ++y)
        for (int x = 0; x < c.shifts.width; ++x) {
          std::uint32_t product = 0;
          for (int v = 0; v < c.right.height; ++v) {
            const auto* l = static_cast<const std::uint8_t*>(b.lefts) + plane * c.left_plane +
                            (y + v) * c.left_pitch + x;
            const auto* t = static_cast<const std::uint8_t*>(b.rights) +
                            (plane * c.rights + b.first_right + r) * c.right_stride +
                            v * c.right_pitch;
            for (int u = 0; u < c.right.width; ++u) product += std::uint32_t{l[u]} * t[u];
          }
          products.push_back(product);
        }
  return coarse_search(
      apart, device, {b, products.data(), b.window_sums, b.window_squares, b.template_sums, b.best},
      nullptr);
}

bool supports(const stage::CoarseSearch::Problem& p, const Device&) { return p.is_countable(); }

constexpr Variant<stage::CoarseSearch> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes,
                   Feature::pitched_output}},
     {.supports = supports, .launch = coarse_search}},
};

constexpr Variant<stage::FusedCoarseSearch> cells_table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::contrast, Feature::planes}},
     {.supports = supports, .launch = fused_coarse_search}},
};

}  // namespace

Family reference_coarse_search_family() { return Family(table, cells_table); }

}  // namespace xcorr::cpu
