// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images deformed on the GPU: one thread per pixel. The taps of neighbours are neighbours, too, and
// come from the first cache.
#include "cuda/common/launch.cuh"
#include "stages/fields/deform.hpp"

namespace xcorr::cuda {
namespace {

constexpr int columns = 32, rows = 8;

template <int degree, class T>
__global__ void __launch_bounds__(columns* rows, 3)
    deform(stage::Deform::Problem p, const float* coefficients, const FieldVector* vectors,
           std::uint8_t* deformed) {
  const int x = blockIdx.x * columns + threadIdx.x;
  const Size made = p.deformed_size();
  if (x >= made.width) return;
  for (int y = blockIdx.y * rows + threadIdx.y; y < made.height; y += gridDim.y * rows) {
    const DeformedPlace place({vectors, p.grid}, p.share, p.size, x - p.margin, y - p.margin);
    row_of<T>(deformed, p.pitch, y)[x] = gray_of<T>(
        SplineImage{coefficients, p.size}.at<degree>(place.x, place.y, place.t, place.s));
  }
}

template <class T>
auto kernel_of(int degree) {
  return degree == 3 ? deform<3, T> : deform<5, T>;
}

Status launch(const stage::Deform::Problem& p, const Device&, const stage::Deform::Buffers& b,
              PlanState*) {
  const Size made = p.deformed_size();
  const auto kernel = p.type == ElementType::u8    ? kernel_of<std::uint8_t>(p.degree)
                      : p.type == ElementType::u16 ? kernel_of<std::uint16_t>(p.degree)
                                                   : kernel_of<float>(p.degree);
  return enqueue("deform", kernel,
                 dim3(ceil_div(made.width, columns), grid_extent(ceil_div(made.height, rows))),
                 dim3(columns, rows), 0, b.stream, p, b.coefficients, b.vectors, b.deformed);
}

constexpr Variant<stage::Deform> table[] = {
    {{.name = "deform",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace

Family deform_family() { return Family(table); }

}  // namespace xcorr::cuda
