// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Turned parts of a frame on the GPU, one thread per pixel.
#include "stages/tracker/crop.hpp"

#include "cuda/common/launch.cuh"

namespace xcorr::cuda {
namespace tracker {
namespace {

using namespace xcorr::tracker;

constexpr int wide = 32, high = 8;
static_assert(window_size % wide == 0 && window_size % high == 0);

__global__ void __launch_bounds__(wide* high) crop(stage::Crop::Problem p, stage::Crop::Buffers b) {
  const int x = static_cast<int>(blockIdx.x * wide + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * high + threadIdx.y);
  wait_for_previous();
  const Cropping from = b.croppings[blockIdx.z];
  if (from.samples == 0) return;
  b.images[(std::int64_t{blockIdx.z} * window_size + y) * window_size + x] =
      cropped<1>(p, b.pixels, from, x, y);
}

bool supports(const stage::Crop::Problem& p, const Device&) {
  return p.images <= 65535 && p.layout == PixelLayout();
}

Status launch(const stage::Crop::Problem& p, const Device& device, const stage::Crop::Buffers& b,
              PlanState*) {
  return enqueue_early(device, "crop", crop, dim3(window_size / wide, window_size / high, p.images),
                       dim3(wide, high), 0, b.stream, p, b);
}

constexpr Variant<stage::Crop> table[] = {
    {{.name = "crop", .backend = Backend::cuda, .features = Feature::u8},
     {.supports = supports, .launch = launch}},
};

}  // namespace
}  // namespace tracker

Family crop_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
