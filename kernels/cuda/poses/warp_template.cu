// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warped templates on the GPU, one block per image.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "cuda/common/row_words.cuh"
#include "cuda/common/tiles.cuh"
#include "stages/match/score.hpp"
#include "stages/poses/warp_template.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;

template <class T>
__global__ void __launch_bounds__(threads, 2)
    warp_template(stage::WarpTemplate::Problem p, stage::WarpTemplate::Buffers b) {
  // Integers in sums of words, whose order does not matter.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, unsigned long long>;
  for (int i = blockIdx.x; i < p.count; i += gridDim.x) {
    const WarpMap map = b.maps[i];
    const WarpedTemplate from(p.pyramid, static_cast<const T*>(b.pixels), b.mask, map.level,
                              p.shift_u, p.shift_v);
    const WarpedPlaces places(from, map);
    Sum totals[3] = {};
    for_tiles(p.most, threadIdx.x / 32, warps, [&](int x, int y) {
      WarpedPixel<T> pixel;
      if (x < map.width && y < map.height)
        pixel = WarpedPixel<T>(
            from, map.log2_samples, places.u, places.v, x, y, [](int f) { return CubicWeights(f); },
            ReadFour<T>());
      const std::int64_t at = i * p.most.area() + std::int64_t{y} * p.most.width + x;
      static_cast<T*>(b.images)[at] = static_cast<T>(pixel.value);
      b.masks[at] = pixel.counts;
      totals[0] += pixel.counts;
      totals[1] += Sum(pixel.value);
      totals[2] += Sum(pixel.value) * Sum(pixel.value);
    });
    block_sums<warps>(totals);
    if (threadIdx.x == 0) {
      const TermOf<T> counted = totals[0], sum = totals[1], squares = totals[2];
      b.sums[i] = {
          {double(sum), double(squares), double(n2_covariance(counted, squares, sum, sum))},
          double(counted)};
    }
  }
}

Status launch(const stage::WarpTemplate::Problem& p, const Device&,
              const stage::WarpTemplate::Buffers& b, PlanState*) {
  const auto kernel = p.type == ElementType::u8    ? warp_template<std::uint8_t>
                      : p.type == ElementType::u16 ? warp_template<std::uint16_t>
                                                   : warp_template<float>;
  return enqueue("warp_template", kernel, dim3(grid_extent(p.count)), dim3(threads), 0, b.stream, p,
                 b);
}

constexpr Variant<stage::WarpTemplate> table[] = {
    {{.name = "warp_template",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask}},
     {.launch = launch}},
};

}  // namespace

Family warp_template_family() { return Family(table); }

}  // namespace xcorr::cuda
