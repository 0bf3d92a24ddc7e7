// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled templates on the CPU, a picture a task.
#include <algorithm>
#include <vector>

#include "cpu/common.hpp"
#include "cpu/turned.hpp"
#include "stages/score.hpp"

namespace xcorr::cpu {
namespace {

/// By the fraction: computing them takes longer than using them.
const auto weights = [] {
  std::vector<CubicWeights> all;
  for (int fraction = 0; fraction < 128; ++fraction) all.emplace_back(fraction);
  return all;
}();

}  // namespace

TurnedSums turned(const TurnedTemplate& from, const TurnMap& map, std::int64_t pitch,
                  std::uint8_t* picture, std::uint8_t* mask) {
  std::int64_t counted = 0, sum = 0, squares = 0;
  for (int y = 0; y < map.height; ++y)
    for (int x = 0; x < map.width; ++x) {
      const TurnedPixel pixel(from, map, x, y,
                              [](int f) -> const CubicWeights& { return weights[f]; });
      const std::int64_t at = y * pitch + x;
      picture[at] = pixel.value;
      mask[at] = pixel.counts;
      counted += pixel.counts;
      sum += pixel.value;
      squares += pixel.value * pixel.value;
    }
  return {{double(sum), double(squares), double(n2_covariance(counted, squares, sum, sum))},
          double(counted)};
}

namespace {

Status launch(const stage::Turn::Problem& p, const Device&, const stage::Turn::Buffers& b,
              PlanState*) {
  tbb::parallel_for(0, p.count, [&](int i) {
    std::uint8_t* picture = b.pictures + i * p.most.area();
    std::uint8_t* mask = b.masks + i * p.most.area();
    std::fill_n(picture, p.most.area(), std::uint8_t{0});
    std::fill_n(mask, p.most.area(), std::uint8_t{0});
    const TurnedTemplate from(p.pyramid, b.pixels, b.mask, b.maps[i].level, p.shift_u, p.shift_v);
    b.sums[i] = turned(from, b.maps[i], p.most.width, picture, mask);
  });
  return {};
}

constexpr Variant<stage::Turn> table[] = {
    {{"turn", Backend::cpu, {Feature::u8, Feature::mask}}, supports_all, launch},
};

}  // namespace

Family turn_family() { return Family(table); }

}  // namespace xcorr::cpu
