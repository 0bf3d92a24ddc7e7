// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage edges: a convolution with 5 x 5 weights that are made of binomials, pixel
// by pixel, of the plane where it is longest, its unit vector, and whether a pixel or one beside it
// is longest across its edge.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "stages/image/edges.hpp"

namespace xcorr::cpu {
namespace {

std::vector<int> convolved(const std::vector<int>& a, const std::vector<int>& b) {
  std::vector<int> both(a.size() + b.size() - 1);
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.size(); ++j) both[i + j] += a[i] * b[j];
  return both;
}

/// The row of Pascal's triangle with so many numbers.
std::vector<int> binomial(int count) {
  return count == 1 ? std::vector{1} : convolved(binomial(count - 1), {1, 1});
}

struct Gradient {
  std::int64_t x, y;
  std::int64_t square() const { return x * x + y * y; }
};

Gradient gradient_of_plane(const stage::Edges::Problem& p, const std::uint8_t* image, int x,
                           int y) {
  static const std::vector<int> along = binomial(5), across = convolved(binomial(3), {-1, 0, 1});
  Gradient sums{};
  for (int j = 0; j < 5; ++j)
    for (int i = 0; i < 5; ++i) {
      const int u = std::clamp(p.region.x + x + i - 2, 0, p.size.width - 1);
      const int v = std::clamp(p.region.y + y + j - 2, 0, p.size.height - 1);
      const int value = image[v * p.pitch + u];
      sums.x += across[i] * along[j] * value;
      sums.y += along[i] * across[j] * value;
    }
  return sums;
}

Gradient gradient(const stage::Edges::Problem& p, const std::uint8_t* image, int x, int y) {
  std::vector<Gradient> all;
  for (int i = 0; i < p.planes; ++i) all.push_back(gradient_of_plane(p, image + i * p.plane, x, y));
  return *std::ranges::max_element(all, {}, &Gradient::square);  // the first of them
}

bool is_longest_across(const stage::Edges::Problem& p, const std::uint8_t* image, int x, int y) {
  const Gradient g = gradient(p, image, x, y);
  int dx = g.x < 0 ? -1 : 1, dy = g.y < 0 ? -1 : 1;
  if (5 * std::abs(g.y) < 2 * std::abs(g.x)) dy = 0;
  if (5 * std::abs(g.x) < 2 * std::abs(g.y)) dx = 0;
  return g.square() >= p.rule.least && g.square() >= gradient(p, image, x + dx, y + dy).square() &&
         g.square() >= gradient(p, image, x - dx, y - dy).square();
}

Status edges(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
             PlanState*) {
  const auto ridge = [&](int x, int y) { return is_longest_across(p, b.image, x, y); };
  for (int y = 0; y < p.region.height; ++y)
    for (int x = 0; x < p.region.width; ++x) {
      const auto [u, v] = gradient(p, b.image, x, y);
      const std::int64_t squares = u * u + v * v;
      std::array<float, 2> vector{};
      const auto length = p.rule.doubled ? float(squares) : std::sqrt(float(squares));
      const bool counts = !p.masked || b.mask[std::int64_t{y} * p.region.width + x];
      if (counts && squares >= p.rule.least &&
          (ridge(x, y) || ridge(x - 1, y) || ridge(x + 1, y) || ridge(x, y - 1) || ridge(x, y + 1)))
        vector = p.rule.doubled
                     ? std::array{float(u * u - v * v) / length, float(2 * u * v) / length}
                     : std::array{float(u) / length, float(v) / length};
      for (int plane = 0; plane < 2; ++plane) {
        const float value = 127 * vector[plane] * (p.rule.inverted ? -1.0f : 1.0f);
        b.edges[plane * p.edge_plane + y * p.edge_pitch + x] =
            static_cast<std::uint8_t>(128 + std::lrint(value));
      }
    }
  return {};
}

constexpr Variant<stage::Edges> table[] = {
    {{.name = "reference",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::mask, Feature::planes}},
     {.launch = edges}},
};

}  // namespace

Family reference_edges_family() { return Family(table); }

}  // namespace xcorr::cpu
