// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Coefficients of B-splines on the GPU: a kernel for the rows, which leaves them in the workspace,
// and one for the columns, of some thousands of rows of a large image at a time. Pixels that the
// threads of a block have in common are in shared memory; both are bound by memory.
#include "cuda/common/launch.cuh"
#include "stages/fields/spline.hpp"

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
    filter_rows(stage::Spline::Problem p, SplineFilter filter, SplineBand band,
                const std::uint8_t* pixels, float* to) {
  __shared__ float line[row_threads + 2 * radius];
  const int first = blockIdx.x * row_threads, x = first + threadIdx.x;
  for (int y = band.from + blockIdx.y; y < band.until; y += gridDim.y) {
    __syncthreads();  // the row before has been read
    for (int i = threadIdx.x; i < row_threads + 2 * radius; i += row_threads) {
      // Past the last pixel that is needed there may be no image to mirror.
      const int from = first - radius + i;
      line[i] = from < p.size.width + radius
                    ? counted_pixel(row_of<T>(pixels, p.pitch, y)[mirrored(from, p.size.width)])
                    : 0;
    }
    __syncthreads();
    if (x < p.size.width)
      to[std::int64_t{y - band.from} * p.size.width + x] =
          filtered(filter, line + radius + threadIdx.x, 1);
  }
}

constexpr int columns = 32, threads_y = 8, rows = 64;

__global__ void __launch_bounds__(columns* threads_y)
    filter_columns(stage::Spline::Problem p, SplineFilter filter, SplineBand band,
                   const float* from, float* to) {
  __shared__ float tile[(rows + 2 * radius) * columns];
  const int x = blockIdx.x * columns + threadIdx.x;
  for (int top = band.top + blockIdx.y * rows; top < band.bottom; top += gridDim.y * rows) {
    __syncthreads();  // the tile before has been read
    for (int j = threadIdx.y; j < rows + 2 * radius; j += threads_y) {
      const int y = top - radius + j;
      tile[j * columns + threadIdx.x] =
          x < p.size.width && y < band.bottom + radius
              ? from[std::int64_t{mirrored(y, p.size.height) - band.from} * p.size.width + x]
              : 0;
    }
    __syncthreads();
    if (x < p.size.width)
      for (int j = threadIdx.y; j < rows && top + j < band.bottom; j += threads_y)
        to[std::int64_t{top + j} * p.size.width + x] =
            filtered(filter, tile + (j + radius) * columns + threadIdx.x, columns);
  }
}

/// Of a band. In the CPU emulation as few as there may be, so that small images have several.
int band_rows(const stage::Spline::Problem& p) {
#ifdef XCORR_SIMT
  constexpr std::int64_t most = 0;
#else
  constexpr std::int64_t most = std::int64_t{1} << 25;  // of filtered pixels: 134 MB
#endif
  return SplineBand::rows(p.size, most);
}

std::size_t workspace(const stage::Spline::Problem& p, const Device&) {
  return static_cast<std::size_t>(SplineBand::pixels(p.size, band_rows(p))) * sizeof(float);
}

Status launch(const stage::Spline::Problem& p, const Device&, const stage::Spline::Buffers& b,
              PlanState*) {
  const SplineFilter filter(p.degree);
  auto* between = static_cast<float*>(b.workspace);
  const auto filter_rows_of = p.type == ElementType::u8    ? filter_rows<std::uint8_t>
                              : p.type == ElementType::u16 ? filter_rows<std::uint16_t>
                                                           : filter_rows<float>;
  const int rows_of_band = band_rows(p);
  for (int top = 0; top < p.size.height; top += rows_of_band) {
    const SplineBand band(top, rows_of_band, p.size.height);
    if (Status s =
            enqueue("spline rows", filter_rows_of,
                    dim3(ceil_div(p.size.width, row_threads), grid_extent(band.until - band.from)),
                    dim3(row_threads), 0, b.stream, p, filter, band, b.pixels, between);
        !s.ok())
      return s;
    if (Status s = enqueue("spline columns", filter_columns,
                           dim3(ceil_div(p.size.width, columns),
                                grid_extent(ceil_div(band.bottom - band.top, rows))),
                           dim3(columns, threads_y), 0, b.stream, p, filter, band,
                           static_cast<const float*>(between), b.coefficients);
        !s.ok())
      return s;
  }
  return {};
}

constexpr Variant<stage::Spline> table[] = {
    {{.name = "spline",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace

Family spline_family() { return Family(table); }

}  // namespace xcorr::cuda
