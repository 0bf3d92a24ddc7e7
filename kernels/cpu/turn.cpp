// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned and scaled templates on the CPU, a picture a task.
#include <algorithm>
#include <vector>

#include "cpu/common.hpp"
#include "cpu/turned.hpp"

namespace xcorr::cpu {
namespace {

/// By the fraction: computing them takes longer than using them.
const auto weights = [] {
  std::vector<CubicWeights> all;
  for (int fraction = 0; fraction < 128; ++fraction) all.emplace_back(fraction);
  return all;
}();

}  // namespace

template <class T>
TurnedSums turned(const TurnedTemplate<T>& from, const TurnMap& map, std::int64_t pitch, T* picture,
                  std::uint8_t* mask) {
  std::int64_t counted = 0;
  SumOf<T> sum = 0, squares = 0;
  for (int y = 0; y < map.height; ++y) {
    const TurnedRow row(from, map, y);
    for (int x = 0; x < map.width; ++x) {
      const TurnedPixel<T> pixel(
          from, map, row, x, y, [](int f) -> const CubicWeights& { return weights[f]; },
          ReadEach());
      const std::int64_t at = y * pitch + x;
      picture[at] = pixel.value;
      mask[at] = pixel.counts;
      counted += pixel.counts;
      sum += pixel.value;
      squares += SumOf<T>(pixel.value) * pixel.value;
    }
  }
  return turned_sums<T>(counted, sum, squares);
}

template TurnedSums turned(const TurnedTemplate<std::uint8_t>&, const TurnMap&, std::int64_t,
                           std::uint8_t*, std::uint8_t*);
template TurnedSums turned(const TurnedTemplate<std::uint16_t>&, const TurnMap&, std::int64_t,
                           std::uint16_t*, std::uint8_t*);
template TurnedSums turned(const TurnedTemplate<float>&, const TurnMap&, std::int64_t, float*,
                           std::uint8_t*);

namespace {

template <class T>
void turn(const stage::Turn::Problem& p, const stage::Turn::Buffers& b) {
  tbb::parallel_for(0, p.count, [&](int i) {
    T* picture = static_cast<T*>(b.pictures) + i * p.most.area();
    std::uint8_t* mask = b.masks + i * p.most.area();
    std::fill_n(picture, p.most.area(), T{0});
    std::fill_n(mask, p.most.area(), std::uint8_t{0});
    const TurnedTemplate from(p.pyramid, static_cast<const T*>(b.pixels), b.mask, b.maps[i].level,
                              p.shift_u, p.shift_v);
    b.sums[i] = turned(from, b.maps[i], p.most.width, picture, mask);
  });
}

Status launch(const stage::Turn::Problem& p, const Device&, const stage::Turn::Buffers& b,
              PlanState*) {
  const auto run = p.type == ElementType::u8    ? turn<std::uint8_t>
                   : p.type == ElementType::u16 ? turn<std::uint16_t>
                                                : turn<float>;
  run(p, b);
  return {};
}

constexpr Variant<stage::Turn> table[] = {
    {{"turn", Backend::cpu, {Feature::u8, Feature::u16, Feature::f32, Feature::mask}},
     supports_all,
     launch},
};

}  // namespace

Family turn_family() { return Family(table); }

}  // namespace xcorr::cpu
