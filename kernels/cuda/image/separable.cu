// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Separable convolution: horizontal weights along the rows of a tile in shared memory, then
// vertical weights along the columns of the result. A thread computes `run` neighbours along the
// axis, so that an element read from shared memory is used for that many sums. In the horizontal
// pass a warp's lanes take successive rows, in the vertical pass adjacent columns; odd pitches keep
// both free of bank conflicts. A tile's halo is filled with the nearest pixels, so that the loops
// over the weights have no checks. Border handling and the type of sums are compared by A.
// Stoltidis and N. Koutsouchis in "GPU Programming with CUDA", 2021. Parameters:
//   fused     both passes in one kernel: little memory traffic, but the rows of the halo are made
//             twice; split: two kernels with the sums of the rows in the workspace, for large radii
//   radius    0: any; or known to the compiler, which then unrolls the loops over the weights
#include "cuda/common/launch.cuh"
#include "cuda/common/overlap.cuh"
#include "cuda/common/shared_memory.cuh"
#include "stages/common/variant_name.hpp"
#include "stages/image/filter.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 256, warps = threads / 32;
constexpr int run = 8;
constexpr int tile_height = 32;
constexpr std::size_t max_shared_bytes = 48 * 1024;  // what every device allows without opting in

template <class InType, class SumType>
struct Pixels {
  using In = InType;
  using Sum = SumType;
  static constexpr int tile_width = sizeof(Sum) == 4 ? 64 : 32;
};

/// Elements from row to row of a tile: an odd number of bank widths.
template <class T>
__host__ __device__ constexpr int pitch_of(int width) {
  constexpr int unit = sizeof(T) < 4 ? 4 / sizeof(T) : 1;
  return (ceil_div(width, unit) | 1) * unit;
}

__device__ inline int clamped(int i, int count) { return min(max(i, 0), count - 1); }

/// Fills a tile with the part of a matrix that `window` covers, the nearest elements where it
/// reaches over an edge.
template <class T>
__device__ void load(const DeviceMatrix<T>& from, Size size, const Rect& window, T* tile,
                     int pitch) {
  for (int i = threadIdx.x % 32; i < window.width; i += 32) {
    const int x = clamped(window.x + i, size.width);
#pragma unroll 4
    for (int j = threadIdx.x / 32; j < window.height; j += warps)
      tile[j * pitch + i] = from.row(clamped(window.y + j, size.height))[x];
  }
}

/// sums[o] = taps[0] read(o) + taps[1] read(o + 1) + ...
template <int fixed_radius, class Sum, class Read>
__device__ void convolve(const Sum* taps, int radius, Read read, Sum (&sums)[run]) {
  const int count = 2 * (fixed_radius ? fixed_radius : radius) + 1;
  constexpr int unrolled = fixed_radius ? 2 * fixed_radius + 1 : run;
  Sum window[run];
#pragma unroll
  for (int o = 0; o < run; ++o) {
    sums[o] = 0;
    if (o > 0) window[o] = read(o - 1);
  }
#pragma unroll unrolled
  for (int k = 0; k < count; ++k) {
#pragma unroll
    for (int o = 0; o + 1 < run; ++o) window[o] = window[o + 1];
    window[run - 1] = read(k + run - 1);
#pragma unroll
    for (int o = 0; o < run; ++o) sums[o] += taps[k] * window[o];
  }
}

/// The horizontal sums of `height` rows of a tile.
template <class P, int fixed_radius>
__device__ void sum_rows(const typename P::In* tile, int pitch, int height,
                         const Taps<typename P::Sum>& taps, typename P::Sum* out, int out_pitch) {
  using Sum = typename P::Sum;
  for (int t = threadIdx.x; t < height * (P::tile_width / run); t += threads) {
    const int j = t % height, first = t / height * run;
    const auto* row = tile + j * pitch;
    const auto read = [&](int i) { return Sum(row[first + i]); };
    Sum sums[run];
    convolve<fixed_radius>(taps.across, taps.radius_x, read, sums);
#pragma unroll
    for (int o = 0; o < run; ++o) out[j * out_pitch + first + o] = sums[o];
  }
}

template <class In, class Sum>
__device__ In stored(Sum sum, int shift) {
  if constexpr (sizeof(In) == 1)
    return In(clamped((sum + ((1 << shift) >> 1)) >> shift, 256));
  else if constexpr (sizeof(In) == 2)
    return In(fmin(fmax(floor(sum + 0.5), 0.0), 65535.0));
  else
    return In(sum);
}

/// The vertical sums of a tile of horizontal sums: writes those elements of `size` that exist to
/// `out`.
template <class P, int fixed_radius>
__device__ void sum_columns(const typename P::Sum* tile, int pitch,
                            const Taps<typename P::Sum>& taps, Size size, typename P::In* out,
                            std::int64_t out_pitch) {
  using Sum = typename P::Sum;
  for (int t = threadIdx.x; t < P::tile_width * (tile_height / run); t += threads) {
    const int i = t % P::tile_width, first = t / P::tile_width * run;
    if (i >= size.width) continue;
    const auto read = [&](int j) { return tile[(first + j) * pitch + i]; };
    Sum sums[run];
    convolve<fixed_radius>(taps.down, taps.radius_y, read, sums);
#pragma unroll
    for (int o = 0; o < run; ++o)
      if (first + o < size.height)
        out[(first + o) * out_pitch + i] = stored<typename P::In>(sums[o], taps.shift);
  }
}

template <class P, int fixed_radius>
__global__ void __launch_bounds__(threads)
    separable_fused(stage::Filter::Problem p, const std::byte* images,
                    const __grid_constant__ Taps<typename P::Sum> taps, typename P::In* out) {
  using In = typename P::In;
  const int radius_x = fixed_radius ? fixed_radius : taps.radius_x;
  const int radius_y = fixed_radius ? fixed_radius : taps.radius_y;
  const int x0 = blockIdx.x * P::tile_width, y0 = blockIdx.y * tile_height;
  const Rect window{p.region.x + x0 - radius_x, p.region.y + y0 - radius_y,
                    P::tile_width + 2 * radius_x, tile_height + 2 * radius_y};
  const int pitch = pitch_of<In>(window.width);
  constexpr int sum_pitch = pitch_of<typename P::Sum>(P::tile_width);
  auto* sums = dynamic_shared<typename P::Sum>();
  auto* tile = reinterpret_cast<In*>(sums + window.height * sum_pitch);

  load(DeviceMatrix<In>{images + blockIdx.z * p.stride, p.pitch}, p.size, window, tile, pitch);
  __syncthreads();
  sum_rows<P, fixed_radius>(tile, pitch, window.height, taps, sums, sum_pitch);
  __syncthreads();
  sum_columns<P, fixed_radius>(sums, sum_pitch, taps, {p.region.width - x0, p.region.height - y0},
                               out + blockIdx.z * p.stride_out() + y0 * p.pitch_out() + x0,
                               p.pitch_out());
}

/// The rows of an image that its region needs, whose horizontal sums lie in the workspace.
__host__ __device__ inline Span rows_needed(const stage::Filter::Problem& p, int radius_y) {
  const int end = p.region.y + p.region.height + radius_y;
  return {p.region.y > radius_y ? p.region.y - radius_y : 0,
          end < p.size.height ? end : p.size.height};
}

template <class P>
__global__ void __launch_bounds__(threads)
    separable_rows(stage::Filter::Problem p, const std::byte* images,
                   const __grid_constant__ Taps<typename P::Sum> taps, typename P::Sum* out) {
  using In = typename P::In;
  const Span rows = rows_needed(p, taps.radius_y);
  const int x0 = blockIdx.x * P::tile_width, y0 = blockIdx.y * tile_height;
  const Rect window{p.region.x + x0 - taps.radius_x, rows.begin + y0,
                    P::tile_width + 2 * taps.radius_x, tile_height};
  const int pitch = pitch_of<In>(window.width);
  constexpr int sum_pitch = pitch_of<typename P::Sum>(P::tile_width);
  auto* sums = dynamic_shared<typename P::Sum>();
  auto* tile = reinterpret_cast<In*>(sums + tile_height * sum_pitch);

  load(DeviceMatrix<In>{images + blockIdx.z * p.stride, p.pitch}, p.size, window, tile, pitch);
  __syncthreads();
  sum_rows<P, 0>(tile, pitch, tile_height, taps, sums, sum_pitch);
  __syncthreads();
  const int height = rows.end - rows.begin;
  for (int j = threadIdx.x / 32; j < tile_height && y0 + j < height; j += warps) {
    const std::int64_t row = (std::int64_t{blockIdx.z} * height + y0 + j) * p.region.width + x0;
    for (int i = threadIdx.x % 32; i < P::tile_width && x0 + i < p.region.width; i += 32)
      out[row + i] = sums[j * sum_pitch + i];
  }
}

template <class P>
__global__ void __launch_bounds__(threads)
    separable_columns(stage::Filter::Problem p, const typename P::Sum* row_sums,
                      const __grid_constant__ Taps<typename P::Sum> taps, typename P::In* out) {
  using Sum = typename P::Sum;
  const Span rows = rows_needed(p, taps.radius_y);
  const Size size{p.region.width, rows.end - rows.begin};
  const int x0 = blockIdx.x * P::tile_width, y0 = blockIdx.y * tile_height;
  const Rect window{x0, p.region.y + y0 - taps.radius_y - rows.begin, P::tile_width,
                    tile_height + 2 * taps.radius_y};
  constexpr int pitch = pitch_of<Sum>(P::tile_width);
  auto* tile = dynamic_shared<Sum>();
  const auto* from = reinterpret_cast<const std::byte*>(row_sums + blockIdx.z * size.area());

  load(DeviceMatrix<Sum>{from, std::int64_t{size.width} * std::int64_t{sizeof(Sum)}}, size, window,
       tile, pitch);
  __syncthreads();
  sum_columns<P, 0>(tile, pitch, taps, {p.region.width - x0, p.region.height - y0},
                    out + blockIdx.z * p.stride_out() + y0 * p.pitch_out() + x0, p.pitch_out());
}

// ---- launch ---------------------------------------------------------------------------------

/// Bytes of a tile with its halo, and of the horizontal sums of its rows.
template <class P>
std::size_t tile_bytes(int radius_x, int height) {
  const int sum_pitch = pitch_of<typename P::Sum>(P::tile_width);
  const int pitch = pitch_of<typename P::In>(P::tile_width + 2 * radius_x);
  return height * (sizeof(typename P::Sum) * sum_pitch + sizeof(typename P::In) * pitch);
}

template <class P>
dim3 grid_of(const stage::Filter::Problem& p, int height) {
  return {static_cast<unsigned>(ceil_div(p.region.width, P::tile_width)),
          static_cast<unsigned>(ceil_div(height, tile_height)), static_cast<unsigned>(p.count)};
}

template <class F>
auto with_pixels(const stage::Filter::Problem& p, F f) {
  switch (p.type) {
    case ElementType::u8:
      return f.template operator()<Pixels<std::uint8_t, int>>();
    case ElementType::u16:
      return f.template operator()<Pixels<std::uint16_t, double>>();
    case ElementType::f64:
      return f.template operator()<Pixels<double, double>>();
    default:
      return p.weights->sums == ElementType::f64 ? f.template operator()<Pixels<float, double>>()
                                                 : f.template operator()<Pixels<float, float>>();
  }
}

template <int fixed_radius>
Status launch_fused(const stage::Filter::Problem& p, const Device&, const stage::Filter::Buffers& b,
                    PlanState*) {
  return with_pixels(p, [&]<class P>() {
    const auto taps = taps_of<typename P::Sum>(*p.weights);
    return enqueue(
        "separable_fused", separable_fused<P, fixed_radius>, grid_of<P>(p, p.region.height),
        threads, tile_bytes<P>(taps.radius_x, tile_height + 2 * taps.radius_y), b.stream, p,
        static_cast<const std::byte*>(b.images), taps, static_cast<typename P::In*>(b.filtered));
  });
}

Status launch_split(const stage::Filter::Problem& p, const Device&, const stage::Filter::Buffers& b,
                    PlanState*) {
  return with_pixels(p, [&]<class P>() {
    using Sum = typename P::Sum;
    const auto taps = taps_of<Sum>(*p.weights);
    const Span rows = rows_needed(p, taps.radius_y);
    Status status =
        enqueue("separable_rows", separable_rows<P>, grid_of<P>(p, rows.end - rows.begin), threads,
                tile_bytes<P>(taps.radius_x, tile_height), b.stream, p,
                static_cast<const std::byte*>(b.images), taps, static_cast<Sum*>(b.workspace));
    if (!status.ok()) return status;
    const std::size_t shared =
        sizeof(Sum) * pitch_of<Sum>(P::tile_width) * (tile_height + 2 * taps.radius_y);
    return enqueue("separable_columns", separable_columns<P>, grid_of<P>(p, p.region.height),
                   threads, shared, b.stream, p, static_cast<const Sum*>(b.workspace), taps,
                   static_cast<typename P::In*>(b.filtered));
  });
}

std::size_t split_workspace(const stage::Filter::Problem& p, const Device&) {
  const Span rows = rows_needed(p, p.weights->down.radius);
  return with_pixels(p, [&]<class P>() {
    return sizeof(typename P::Sum) * p.count * p.region.width * (rows.end - rows.begin);
  });
}

/// A grid has at most 65,535 rows of tiles, and as many images.
bool supports_split(const stage::Filter::Problem& p, const Device&) {
  return p.count <= 65535 && p.region.height + 2 * p.weights->down.radius <= 65535LL * tile_height;
}

template <int fixed_radius>
bool supports_fused(const stage::Filter::Problem& p, const Device& device) {
  if (!supports_split(p, device)) return false;
  const int radius_x = p.weights->across.radius, radius_y = p.weights->down.radius;
  if (fixed_radius && (radius_x != fixed_radius || radius_y != fixed_radius)) return false;
  return with_pixels(p, [&]<class P>() {
    return tile_bytes<P>(radius_x, tile_height + 2 * radius_y) <= max_shared_bytes;
  });
}

constexpr Features features{Feature::u8,
                            Feature::u16,
                            Feature::f32,
                            Feature::f64,
                            Feature::several_images,
                            Feature::pitched_output};

template <int fixed_radius>
constexpr VariantName fused_name = [] {
  VariantName name = variant_name("separable.fused");
  name.add_if(fixed_radius > 0, "_r", fixed_radius);
  return name;
}();

struct Tuning {
  int radius = 0;  ///< that it is for; 0: for all
  int rank;        ///< as measured, see Variant
};

template <Tuning t>
constexpr Variant<stage::Filter> fused() {
  return {{.name = fused_name<t.radius>.text,
           .backend = Backend::cuda,
           .features = features,
           .rank = t.rank},
          {.supports = supports_fused<t.radius>, .launch = launch_fused<t.radius>}};
}

constexpr Variant<stage::Filter> table[] = {
    {{.name = "separable.split", .backend = Backend::cuda, .features = features},
     {.supports = supports_split, .launch = launch_split, .workspace = split_workspace}},
    fused<Tuning{.rank = 1}>(),
    fused<Tuning{.radius = 3, .rank = 2}>(),
    fused<Tuning{.radius = 6, .rank = 2}>(),
};

}  // namespace

Family separable_family() { return Family(table); }

}  // namespace xcorr::cuda
