// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids on the GPU, a thread a pixel of the result. Like a copy, it is bound by memory.
#include "cuda/common/launch.cuh"
#include "stages/halve.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads_x = 32, threads_y = 8;

__global__ void __launch_bounds__(threads_x* threads_y)
    halve(stage::Halve::Problem p, const std::uint8_t* pixels, std::uint8_t* halved) {
  const int x = blockIdx.x * threads_x + threadIdx.x;
  if (x >= p.half.width) return;
  for (int y = blockIdx.y * threads_y + threadIdx.y; y < p.half.height;
       y += gridDim.y * threads_y) {
    const std::uint8_t* upper = pixels + 2 * y * p.pitch + 2 * x;
    const std::uint8_t* lower = upper + p.pitch;
    halved[y * p.half_pitch + x] = mean_of_four(upper[0], upper[1], lower[0], lower[1]);
  }
}

Status launch(const stage::Halve::Problem& p, const Device&, const stage::Halve::Buffers& b,
              PlanState*) {
  const dim3 grid(ceil_div(p.half.width, threads_x),
                  grid_extent(ceil_div(p.half.height, threads_y)));
  return enqueue("halve", halve, grid, dim3(threads_x, threads_y), 0, b.stream, p, b.pixels,
                 b.halved);
}

constexpr Variant<stage::Halve> table[] = {
    {{"halve", Backend::cuda, Feature::u8}, supports_all, launch},
};

}  // namespace

Family halve_family() { return Family(table); }

}  // namespace xcorr::cuda
