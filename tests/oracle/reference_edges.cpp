// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The oracle of the stage edges: a convolution with 7 x 7 weights that are made of binomials, pixel
// by pixel, and its unit vector.
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

Status edges(const stage::Edges::Problem& p, const Device&, const stage::Edges::Buffers& b,
             PlanState*) {
  const std::vector<int> along = binomial(7), across = convolved(binomial(5), {-1, 0, 1});
  const auto pixel = [&](int x, int y) -> int {
    return b
        .image[std::clamp(y, 0, p.size.height - 1) * p.pitch + std::clamp(x, 0, p.size.width - 1)];
  };
  const auto rounded = [](int sum) { return static_cast<int>(std::lround(sum / 16.0)); };
  for (int y = 0; y < p.region.height; ++y)
    for (int x = 0; x < p.region.width; ++x) {
      int sums[2] = {};
      for (int j = 0; j < 7; ++j)
        for (int i = 0; i < 7; ++i) {
          const int value = pixel(p.region.x + x + i - 3, p.region.y + y + j - 3);
          sums[0] += across[i] * along[j] * value;
          sums[1] += along[i] * across[j] * value;
        }
      const std::int64_t u = rounded(sums[0]), v = rounded(sums[1]), squares = u * u + v * v;
      std::array<float, 2> vector{};
      const auto length = p.rule.doubled ? float(squares) : std::sqrt(float(squares));
      const bool counts = !p.masked || b.mask[std::int64_t{y} * p.region.width + x];
      if (counts && squares >= p.rule.least)
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
    {{.name = "reference", .backend = Backend::cpu, .features = {Feature::u8, Feature::mask}},
     {.launch = edges}},
};

}  // namespace

Family reference_edges_family() { return Family(table); }

}  // namespace xcorr::cpu
