// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warped templates on the CPU, one task per image.
#include <algorithm>
#include <vector>

#include "cpu/common/common.hpp"
#include "cpu/poses/warped.hpp"

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
WarpedTemplateSums warped(const WarpedTemplate<T>& from, const WarpMap& map, std::int64_t pitch,
                          T* image, std::uint8_t* mask) {
  std::int64_t counted = 0;
  SumOf<T> sum = 0, squares = 0;
  const WarpedPlaces places(from, map);
  for (int y = 0; y < map.height; ++y) {
    for (int x = 0; x < map.width; ++x) {
      const WarpedPixel<T> pixel(
          from, map.log2_samples, places.u, places.v, x, y,
          [](int f) -> const CubicWeights& { return weights[f]; }, ReadEach());
      const std::int64_t at = y * pitch + x;
      image[at] = static_cast<T>(pixel.value);
      mask[at] = pixel.counts;
      counted += pixel.counts;
      sum += pixel.value;
      squares += SumOf<T>(pixel.value) * pixel.value;
    }
  }
  return warped_sums<T>(counted, sum, squares);
}

template WarpedTemplateSums warped(const WarpedTemplate<std::uint8_t>&, const WarpMap&,
                                   std::int64_t, std::uint8_t*, std::uint8_t*);
template WarpedTemplateSums warped(const WarpedTemplate<std::uint16_t>&, const WarpMap&,
                                   std::int64_t, std::uint16_t*, std::uint8_t*);
template WarpedTemplateSums warped(const WarpedTemplate<float>&, const WarpMap&, std::int64_t,
                                   float*, std::uint8_t*);

namespace {

template <class T>
void warp_template(const stage::WarpTemplate::Problem& p, const stage::WarpTemplate::Buffers& b) {
  parallel_for(0, p.count, [&](int i) {
    T* image = static_cast<T*>(b.images) + i * p.most.area();
    std::uint8_t* mask = b.masks + i * p.most.area();
    std::fill_n(image, p.most.area(), T{0});
    std::fill_n(mask, p.most.area(), std::uint8_t{0});
    const WarpedTemplate from(p.pyramid, static_cast<const T*>(b.pixels), b.mask, b.maps[i].level,
                              p.shift_u, p.shift_v);
    b.sums[i] = warped(from, b.maps[i], p.most.width, image, mask);
  });
}

/// Past an image's size there is no edge.
void warp_edges(const stage::WarpTemplate::Problem& p, const stage::WarpTemplate::Buffers& b) {
  parallel_for(0, p.count, [&](int i) {
    auto* const image = static_cast<std::uint8_t*>(b.images) + i * p.most.area();
    std::uint8_t* const mask = b.masks + i * p.most.area();
    for (int plane = 0; plane < edge_planes; ++plane)
      std::fill_n(image + plane * p.edges.plane, p.most.area(), std::uint8_t{no_edge});
    std::fill_n(mask, p.most.area(), std::uint8_t{0});
    const WarpMap& map = b.maps[i];
    for (int y = 0; y < map.height; ++y)
      std::fill_n(mask + std::int64_t{y} * p.most.width, map.width, std::uint8_t{1});
    b.sums[i] = warped_edges(p.pyramid, static_cast<const std::uint8_t*>(b.pixels), b.mask, map,
                             p.edges, p.most.width, image)[0];
  });
}

Status launch(const stage::WarpTemplate::Problem& p, const Device&,
              const stage::WarpTemplate::Buffers& b, PlanState*) {
  const auto run = p.edges.made                 ? warp_edges
                   : p.type == ElementType::u8  ? warp_template<std::uint8_t>
                   : p.type == ElementType::u16 ? warp_template<std::uint16_t>
                                                : warp_template<float>;
  run(p, b);
  return {};
}

/// Edges are those of bytes.
bool supports(const stage::WarpTemplate::Problem& p, const Device&) {
  return !p.edges.made || (p.type == ElementType::u8 && p.shift_u == 0 && p.shift_v == 0);
}

constexpr Variant<stage::WarpTemplate> table[] = {
    {{.name = "warp_template",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::planes}},
     {.supports = supports, .launch = launch}},
};

}  // namespace

Family warp_template_family() { return Family(table); }

}  // namespace xcorr::cpu
