// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Coefficients of B-splines on the GPU: a kernel for the rows, which leaves them in the workspace,
// and one for the columns. Pixels that the threads of a block have in common are in shared memory;
// both are bound by memory.
#include "cuda/common/launch.cuh"
#include "stages/spline.hpp"

namespace xcorr::cuda {
namespace {

constexpr int radius = SplineFilter::radius;

/// The filter at a place of shared memory, whose neighbours lie `step` apart.
__device__ float filtered(const SplineFilter& filter, const float* at, int step) {
  float sum = filter.of[0] * at[0];
#pragma unroll
  for (int k = 1; k <= radius; ++k) sum += filter.of[k] * (at[-k * step] + at[k * step]);
  return sum;
}

constexpr int row_threads = 256;

template <class T>
__global__ void __launch_bounds__(row_threads)
    filter_rows(stage::Spline::Problem p, SplineFilter filter, const std::uint8_t* pixels,
                float* to) {
  __shared__ float line[row_threads + 2 * radius];
  const int first = blockIdx.x * row_threads, x = first + threadIdx.x;
  for (int y = blockIdx.y; y < p.size.height; y += gridDim.y) {
    __syncthreads();  // the row before has been read
    for (int i = threadIdx.x; i < row_threads + 2 * radius; i += row_threads) {
      // Past the last pixel that is needed there may be no picture to mirror.
      const int from = first - radius + i;
      line[i] = from < p.size.width + radius
                    ? counted_pixel(row_of<T>(pixels, p.pitch, y)[mirrored(from, p.size.width)])
                    : 0;
    }
    __syncthreads();
    if (x < p.size.width)
      to[std::int64_t{y} * p.size.width + x] = filtered(filter, line + radius + threadIdx.x, 1);
  }
}

constexpr int columns = 32, threads_y = 8, rows = 64;

__global__ void __launch_bounds__(columns* threads_y)
    filter_columns(stage::Spline::Problem p, SplineFilter filter, const float* from, float* to) {
  __shared__ float tile[(rows + 2 * radius) * columns];
  const int x = blockIdx.x * columns + threadIdx.x;
  for (int top = blockIdx.y * rows; top < p.size.height; top += gridDim.y * rows) {
    __syncthreads();  // the tile before has been read
    for (int j = threadIdx.y; j < rows + 2 * radius; j += threads_y) {
      const int y = top - radius + j;
      tile[j * columns + threadIdx.x] =
          x < p.size.width && y < p.size.height + radius
              ? from[std::int64_t{mirrored(y, p.size.height)} * p.size.width + x]
              : 0;
    }
    __syncthreads();
    if (x < p.size.width)
      for (int j = threadIdx.y; j < rows && top + j < p.size.height; j += threads_y)
        to[std::int64_t{top + j} * p.size.width + x] =
            filtered(filter, tile + (j + radius) * columns + threadIdx.x, columns);
  }
}

std::size_t workspace(const stage::Spline::Problem& p, const Device&) {
  return static_cast<std::size_t>(p.size.area()) * sizeof(float);
}

Status launch(const stage::Spline::Problem& p, const Device&, const stage::Spline::Buffers& b,
              PlanState*) {
  const SplineFilter filter(p.degree);
  auto* between = static_cast<float*>(b.workspace);
  const auto filter_rows_of = p.type == ElementType::u8    ? filter_rows<std::uint8_t>
                              : p.type == ElementType::u16 ? filter_rows<std::uint16_t>
                                                           : filter_rows<float>;
  if (Status s = enqueue("spline rows", filter_rows_of,
                         dim3(ceil_div(p.size.width, row_threads), grid_extent(p.size.height)),
                         dim3(row_threads), 0, b.stream, p, filter, b.pixels, between);
      !s.ok())
    return s;
  return enqueue("spline columns", filter_columns,
                 dim3(ceil_div(p.size.width, columns), grid_extent(ceil_div(p.size.height, rows))),
                 dim3(columns, threads_y), 0, b.stream, p, filter,
                 static_cast<const float*>(between), b.coefficients);
}

constexpr Variant<stage::Spline> table[] = {
    {{"spline", Backend::cuda, {Feature::u8, Feature::u16, Feature::f32}},
     supports_all,
     launch,
     workspace},
};

}  // namespace

Family spline_family() { return Family(table); }

}  // namespace xcorr::cuda
