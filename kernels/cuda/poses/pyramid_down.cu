// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids on the GPU, one thread per pixel of the result, of all planes at once. Like a copy, it
// is bound by memory.
#include "cuda/common/launch.cuh"
#include "stages/poses/pyramid_down.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8;

template <class T>
__global__ void __launch_bounds__(threads_x* threads_y)
    pyramid_down(stage::PyramidDown::Problem p, const std::byte* pixels, std::byte* halved) {
  wait_for_previous();
  pixels += blockIdx.z * p.plane;
  halved += blockIdx.z * p.half_plane;
  const int x = blockIdx.x * threads_x + threadIdx.x;
  if (x >= p.half.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < p.half.height;
       y += gridDim.y * threads_y) {
    const T *upper, *lower;
    p.rows(pixels, y, upper, lower);
    row_of<T>(halved, p.half_pitch, y)[x] = p.pixel(upper, lower, x);
  }
}

Status launch(const stage::PyramidDown::Problem& p, const Device& device,
              const stage::PyramidDown::Buffers& b, PlanState*) {
  const dim3 grid(ceil_div(p.half.width, threads_x),
                  grid_extent(ceil_div(p.half.height, threads_y)), static_cast<unsigned>(p.planes));
  const auto kernel = p.type == ElementType::u8    ? pyramid_down<std::uint8_t>
                      : p.type == ElementType::u16 ? pyramid_down<std::uint16_t>
                                                   : pyramid_down<float>;
  return enqueue_early(device, "pyramid_down", kernel, grid, dim3(threads_x, threads_y), 0,
                       b.stream, p, static_cast<const std::byte*>(b.pixels),
                       static_cast<std::byte*>(b.halved));
}

constexpr Variant<stage::PyramidDown> table[] = {
    {{.name = "pyramid_down",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::planes}},
     {.launch = launch}},
};

}  // namespace

Family pyramid_down_family() { return Family(table); }

}  // namespace xcorr::cuda
