// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Responses of filters on the GPU. A block transforms eight channels of a window and multiplies
// them with those of the whole filter and of its part on the target; spectra are never written.
// Then one block per window adds these products, transforms both responses as the parts of one
// image and finds their tops; of few windows two blocks do, of which one says where the top is and
// the other one how high and how sharp.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/shared_memory.cuh"
#include "cuda/tracker/window_fft.cuh"
#include "stages/tracker/filter_response.hpp"

namespace xcorr::cuda {
namespace tracker {
namespace {

constexpr int threads = threads_by_points, warps = threads / 32;

/// Of few windows each block has more threads.
constexpr int threads_of_few = 2 * threads_by_points, threads_of_many = threads_of(pairs_of_group);

/// Of many windows there are four blocks per multiprocessor, as many as have their images in its
/// shared memory (9.0).
template <int threads>
__global__ void __launch_bounds__(threads, threads == threads_of_many ? 4 : 1)
    multiply(const Look* looks, const float* channels_of, const double* energies,
             const float* filters, TwoParts* products) {
  Value* const images = dynamic_shared<Value>();
  const std::int64_t window = blockIdx.y;
  wait_for_previous();
  const Look look = looks[window];
  if (look.side == 0) return;
  read_channels<pairs_of_group, threads>(
      channels_of + (window * groups + blockIdx.x) * cells * group,
      energies + window * energy_parts, images);
  transform<Direction::forward, pairs_of_group>(images);
  const float* const filter = filters + std::int64_t{2} * look.filter * spectrum_floats +
                              real_place_of(0, blockIdx.x * group);
  TwoParts* const to = products + (window * groups + blockIdx.x) * frequencies;
#pragma unroll 2
  for (int i = threadIdx.x; i < frequencies; i += threads) {
    TwoParts seen[pairs_of_group];
#pragma unroll
    for (int p = 0; p < pairs_of_group; ++p) seen[p] = split(images + p * image_values, i);
    const auto response_of = [&](const float* spectrum) {
      Pairs<pairs_of_group> known;
      read_pairs(spectrum, i, known);
      Value sum{0, 0};
#pragma unroll
      for (int p = 0; p < pairs_of_group; ++p)
        sum = sum + seen[p].a * conj(known.a(p)) + seen[p].b * conj(known.b(p));
      return sum;
    };
    to[i] = {response_of(filter), response_of(filter + spectrum_floats)};
  }
}

/// The greatest value, of equal ones the first.
struct Top {
  float value;
  int place;

  __device__ void take(const Top& other) {
    if (other.value > value || (other.value == value && other.place < place)) *this = other;
  }
  /// The greatest one of a warp, for all of its threads.
  __device__ void share_in_warp() {
    for (int step = 16; step > 0; step /= 2)
      take({__shfl_xor_sync(~0u, value, step), __shfl_xor_sync(~0u, place, step)});
  }
};

/// Both parts of the response at every shift.
struct Surfaces {
  const Value* image;

  __device__ float value(bool target, int place) const {
    constexpr float share = 1.0f / cells;
    const Value both = image[place / grid * row_pitch + place % grid];
    return share * (target ? both.im : both.re);
  }

  /// The tops of both parts, for all threads. \param shared  memory that they share
  __device__ void tops(Top (&shared)[2][warps], int& of_all, int& on_target) const {
    Top best[2] = {{-INFINITY, 0}, {-INFINITY, 0}};
#pragma unroll
    for (int i = threadIdx.x; i < cells; i += threads) {
      best[0].take({value(false, i), i});
      best[1].take({value(true, i), i});
    }
#pragma unroll
    for (int part = 0; part < 2; ++part) {
      best[part].share_in_warp();
      if (threadIdx.x % 32 == 0) shared[part][threadIdx.x / 32] = best[part];
    }
    __syncthreads();
#pragma unroll
    for (int part = 0; part < 2; ++part)
      for (int i = 0; i < warps; ++i) best[part].take(shared[part][i]);
    of_all = best[0].place;
    on_target = best[1].place;
  }

  /// The top of one part together with what is added to it, for all threads.
  __device__ int top_with(const float* prior, bool target, Top (&shared)[warps]) const {
    Top best{-INFINITY, 0};
#pragma unroll
    for (int i = threadIdx.x; i < cells; i += threads) best.take({value(target, i) + prior[i], i});
    best.share_in_warp();
    __syncthreads();  // all have read what was shared before
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = best;
    __syncthreads();
    for (int i = 0; i < warps; ++i) best.take(shared[i]);
    return best.place;
  }

  /// The best of what lies on the target within a cell of one, for all threads of a warp.
  __device__ float near(int place) const {
    const int i = threadIdx.x % 32 % 9;
    Top best{value(true, beside(place / grid, i / 3 - 1) * grid + beside(place % grid, i % 3 - 1)),
             0};
    best.share_in_warp();
    return best.value;
  }
};

/// For all threads. \param top  of the surface
__device__ double psr(const FilterShape& shape, const Surfaces& surfaces, int best, float top) {
  const TargetReach target(shape);
  double sums[2] = {};
#pragma unroll
  for (int i = threadIdx.x; i < cells; i += threads) {
    const double value = target.has(i % grid, i / grid, best) ? 0 : surfaces.value(true, i);
    sums[0] += value;
    sums[1] += value * value;
  }
  block_sums<warps>(sums);
  const int count = cells - target.count();
  if (count == 0) return 0;
  const double mean = sums[0] / count, variance = sums[1] / count - mean * mean;
  return variance > 0 ? (top - mean) / sqrt(variance) : 0;
}

/// How many waves there are from top to bottom in a row of a spectrum.
__device__ int wave_of(int row) { return row > grid / 2 ? row - grid : row; }

/// A block's share of the frequencies, by thread.
constexpr int own_frequencies = ceil_div(frequencies, threads);

/// For all threads. \param own    the response at the thread's frequencies
///                  \param waves  shared memory for those along x, then those along y
__device__ Slope slope_at(const Value (&own)[own_frequencies], Value* waves, double x, double y) {
  if (const int i = threadIdx.x; i < half + grid) {
    const double turns = (i < half ? i * x : wave_of(i - half) * y) * (1.0 / grid);
    const float length = i > 0 && 2 * i < grid ? 2 : 1;  // so many columns have that angle
    const auto angle = static_cast<float>(2 * (turns - rint(turns)));
    const float cosine = cospi(angle), sine = sinpi(angle);
    waves[i] = {length * cosine, length * sine};
  }
  __syncthreads();
  // By waves a window instead of by angles a cell, which come at the end.
  float sums[5] = {};
#pragma unroll
  for (int k = 0; k < own_frequencies; ++k) {
    const int f = threadIdx.x + k * threads;
    if (f >= frequencies) break;
    const Value term = own[k] * (waves[f / grid] * waves[half + f % grid]);
    const auto wx = static_cast<float>(f / grid), wy = static_cast<float>(wave_of(f % grid));
    sums[0] -= wx * term.im;
    sums[1] -= wy * term.im;
    sums[2] -= wx * wx * term.re;
    sums[3] -= wx * wy * term.re;
    sums[4] -= wy * wy * term.re;
  }
  block_sums<warps>(sums);
  constexpr double turn = 2 * std::numbers::pi / grid;
  return {turn * sums[0], turn * sums[1], turn * turn * sums[2], turn * turn * sums[3],
          turn * turn * sums[4]};
}

__global__ void __launch_bounds__(threads)
    find_top(const Look* looks, const TwoParts* products, const FilterShape* shapes,
             const float* priors, int prior_count, xcorr::tracker::ResponsePeak* response_peaks) {
  __shared__ Value image[image_values];
  __shared__ Top tops[2][warps];
  __shared__ Value waves[half + grid];
  const std::int64_t window = blockIdx.x;
  const bool climbs = blockIdx.y == 0, rates = blockIdx.y == gridDim.y - 1;
  wait_for_previous();
  const Look look = looks[window];
  if (look.side == 0) return;
  TwoParts own[own_frequencies];
#pragma unroll
  for (int k = 0; k < own_frequencies; ++k) {
    const int f = threadIdx.x + k * threads;
    if (f >= frequencies) break;
    TwoParts sum{};
#pragma unroll
    for (int block = 0; block < groups; ++block) {
      const TwoParts part = products[(window * groups + block) * frequencies + f];
      sum = {sum.a + part.a, sum.b + part.b};
    }
    own[k] = sum;
    join(sum, f, image);
  }
  transform<Direction::inverse, 1>(image);

  const Surfaces surfaces{image};
  int best_of_all, best_on_target;
  surfaces.tops(tops, best_of_all, best_on_target);
  // The surroundings may stay as they are while the target is gone, or jumps away.
  const bool jumped =
      surfaces.value(true, best_on_target) > most_elsewhere * surfaces.near(best_of_all);
  const int best = prior_count > 0
                       ? surfaces.top_with(priors + window % prior_count * cells, jumped, tops[0])
                   : jumped ? best_on_target
                            : best_of_all;
  xcorr::tracker::ResponsePeak& peak = response_peaks[window];
  if (climbs) {
    Value chosen[own_frequencies];
#pragma unroll
    for (int k = 0; k < own_frequencies; ++k) chosen[k] = jumped ? own[k].b : own[k].a;
    double x = best % grid, y = best / grid;
    climb(x, y, [&](double at_x, double at_y) { return slope_at(chosen, waves, at_x, at_y); });
    if (threadIdx.x == 0) peak.x = from_middle(x), peak.y = from_middle(y);
  }
  if (rates) {
    const float top = surfaces.near(best);
    const double sharp = psr(shapes[look.filter], surfaces, best, top);
    if (threadIdx.x == 0) peak.response = top, peak.psr = sharp;
  }
}

bool supports(const stage::FilterResponse::Problem& p, const Device&) { return p.windows <= 65535; }

std::size_t workspace(const stage::FilterResponse::Problem& p, const Device&) {
  return static_cast<std::size_t>(p.windows) * groups * frequencies * sizeof(TwoParts);
}

Status launch(const stage::FilterResponse::Problem& p, const Device& device,
              const stage::FilterResponse::Buffers& b, PlanState*) {
  auto* const products = static_cast<TwoParts*>(b.workspace);
  const auto multiply_by = [&](int threads, auto kernel) {
    return enqueue_early(device, "filter_response: multiply", kernel, dim3(groups, p.windows),
                         threads, bytes_of_pairs(pairs_of_group), b.stream, b.looks, b.channels,
                         b.energies, b.filters, products);
  };
  if (Status s = groups * p.windows <= device.multiprocessors
                     ? multiply_by(threads_of_few, multiply<threads_of_few>)
                     : multiply_by(threads_of_many, multiply<threads_of_many>);
      !s.ok())
    return s;
  const unsigned blocks = 2 * p.windows <= device.multiprocessors ? 2 : 1;
  return enqueue_early(device, "filter_response: find_top", find_top, dim3(p.windows, blocks),
                       threads, 0, b.stream, b.looks, products, b.shapes, b.priors, p.priors,
                       b.response_peaks);
}

constexpr Variant<stage::FilterResponse> table[] = {
    {{.name = "filter_response", .backend = Backend::cuda, .features = Feature::f32},
     {.supports = supports, .launch = launch, .workspace = workspace}},
};

}  // namespace
}  // namespace tracker

Family filter_response_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
