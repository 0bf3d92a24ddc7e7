// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pyramids of templates on the GPU, one thread per pixel: those of small ones, which may be made
// anew in every frame, by one block in one launch, others level by level.
#include "cuda/common/launch.cuh"
#include "stages/poses/build_pyramid.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 512;

/// Levels from `first` to `last`: by one block, if there are several.
template <class T>
__global__ void __launch_bounds__(threads)
    build_pyramid(stage::BuildPyramid::Problem p, const void* pixels, T* pyramid, int first,
                  int last) {
  const int step = gridDim.x * threads;
  for (int level = first; level <= last; ++level) {
    const Size size = p.pyramid.rimmed_size_of(level);
    T* const to = pyramid + p.pyramid.begin_of(level);
    for (int i = blockIdx.x * threads + threadIdx.x; i < size.width * size.height; i += step)
      to[i] =
          stage::BuildPyramid::pixel<T>(p, pixels, pyramid, level, i % size.width, i / size.width);
    __syncthreads();
  }
}

template <class T>
Status launch_as(const stage::BuildPyramid::Problem& p, const stage::BuildPyramid::Buffers& b) {
  constexpr std::int64_t small = 16 * threads;
  const TemplatePyramid& pyramid = p.pyramid;
  const int at_once = pyramid.rimmed_size_of(0).area() <= small ? pyramid.halvings : 0;
  for (int level = 0; level <= pyramid.halvings; level += at_once + 1) {
    const auto blocks =
        at_once > 0 ? 1 : grid_extent(ceil_div(pyramid.rimmed_size_of(level).area(), threads));
    if (Status s =
            enqueue("build_pyramid", build_pyramid<T>, dim3(blocks), dim3(threads), 0, b.stream, p,
                    b.pixels, static_cast<T*>(b.pyramid), level, level + at_once);
        !s.ok())
      return s;
  }
  return {};
}

Status launch(const stage::BuildPyramid::Problem& p, const Device&,
              const stage::BuildPyramid::Buffers& b, PlanState*) {
  const auto run = p.type == ElementType::u8    ? launch_as<std::uint8_t>
                   : p.type == ElementType::u16 ? launch_as<std::uint16_t>
                                                : launch_as<float>;
  return run(p, b);
}

constexpr Variant<stage::BuildPyramid> table[] = {
    {{.name = "build_pyramid",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace

Family build_pyramid_family() { return Family(table); }

}  // namespace xcorr::cuda
