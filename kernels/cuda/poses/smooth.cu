// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Smoothed templates on the GPU, one thread per pixel.
#include "cuda/common/launch.cuh"
#include "stages/poses/smooth.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256;

template <class T>
__global__ void __launch_bounds__(threads)
    smooth(stage::Smooth::Problem p, const void* pixels, const std::uint8_t* counted,
           SmoothedPixel* smoothed) {
  const T* from = static_cast<const T*>(pixels);
  const std::int64_t step = std::int64_t{gridDim.x} * threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < p.size.area();
       i += step)
    smoothed[i] = counted[i] ? smoothed_pixel(from + i, p.size.width) : SmoothedPixel{};
}

Status launch(const stage::Smooth::Problem& p, const Device&, const stage::Smooth::Buffers& b,
              PlanState*) {
  const auto kernel = p.type == ElementType::u8    ? smooth<std::uint8_t>
                      : p.type == ElementType::u16 ? smooth<std::uint16_t>
                                                   : smooth<float>;
  return enqueue("smooth", kernel, dim3(grid_extent(ceil_div(p.size.area(), threads))),
                 dim3(threads), 0, b.stream, p, b.pixels, b.counted, b.smoothed);
}

constexpr Variant<stage::Smooth> table[] = {
    {{.name = "smooth",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace

Family smooth_family() { return Family(table); }

}  // namespace xcorr::cuda
