// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Answers of filters on the GPU. The products of window and filter are made by a warp a frequency,
// a lane a channel, of the whole filter and of its part on the target at once; then a block a
// window transforms both answers as the parts of one picture and finds their tops.
#include "cuda/common/block_sums.cuh"
#include "cuda/tracker/window_fft.cuh"
#include "stages/answer.hpp"

namespace xcorr::cuda {
namespace tracker {
namespace {

static_assert(channels == 32);
constexpr int frequencies_of_block = 8;
constexpr int threads = 256, warps = threads / 32;

__global__ void __launch_bounds__(32 * frequencies_of_block)
    multiply(const Look* looks, const float* spectra, const float* filters, TwoParts* products) {
  const std::int64_t window = blockIdx.y;
  const Look look = looks[window];
  const int frequency = blockIdx.x * frequencies_of_block + threadIdx.x / 32;
  if (look.side == 0 || frequency >= frequencies) return;
  const int re = frequency * 2 * channels + threadIdx.x % 32, im = re + channels;
  const auto at = [=](const float* spectrum) { return Value{spectrum[re], spectrum[im]}; };
  const float* const filter = filters + std::int64_t{2} * look.filter * spectrum_floats;
  const Value seen = at(spectra + window * spectrum_floats);
  const Value all = seen * conj(at(filter)), target = seen * conj(at(filter + spectrum_floats));
  const TwoParts sums{{warp_sum(all.re), warp_sum(all.im)},
                      {warp_sum(target.re), warp_sum(target.im)}};
  if (threadIdx.x % 32 == 0) products[window * frequencies + frequency] = sums;
}

/// The greatest value, of equal ones the first.
struct Top {
  float value;
  int place;

  __device__ void take(const Top& other) {
    if (other.value > value || (other.value == value && other.place < place)) *this = other;
  }
};

/// Both parts of the answer at every shift.
struct Surfaces {
  const Value* picture;

  __device__ float value(bool target, int place) const {
    const Value both = picture[place / grid * row_pitch + place % grid];
    return (target ? both.im : both.re) / cells;
  }

  /// The top of one part, for all threads. \param tops  shared memory
  __device__ int top(bool target, Top* tops) const {
    Top best{-INFINITY, 0};
    for (int i = threadIdx.x; i < cells; i += threads) best.take({value(target, i), i});
    for (int step = 16; step > 0; step /= 2)
      best.take({__shfl_xor_sync(~0u, best.value, step), __shfl_xor_sync(~0u, best.place, step)});
    if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = best;
    __syncthreads();
    best = tops[0];
    for (int i = 1; i < warps; ++i) best.take(tops[i]);
    __syncthreads();
    return best.place;
  }

  /// The best of what lies on the target within a cell of one.
  __device__ float near(int place) const {
    float most = value(true, place);
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x)
        most = fmaxf(most, value(true, beside(place / grid, y) * grid + beside(place % grid, x)));
    return most;
  }
};

__device__ double sharpness(const FilterShape& shape, const Surfaces& surfaces, int best) {
  double sums[3] = {};
  for (int i = threadIdx.x; i < cells; i += threads) {
    if (near_target(shape, i % grid, i / grid, best)) continue;
    const double value = surfaces.value(true, i);
    sums[0] += value;
    sums[1] += value * value;
    sums[2] += 1;
  }
  block_sums<warps>(sums);
  if (sums[2] == 0) return 0;
  const double mean = sums[0] / sums[2], variance = sums[1] / sums[2] - mean * mean;
  return variance > 0 ? (surfaces.near(best) - mean) / sqrt(variance) : 0;
}

/// How many waves there are from top to bottom in a row of a spectrum.
__device__ int wave_of(int row) { return row > grid / 2 ? row - grid : row; }

struct Wave {
  double re, im;
};

/// As the CPU's, by all threads. \param waves  shared memory for those along x, then those along y
__device__ void climb(const TwoParts* spectrum, bool target, Wave* waves, double& x, double& y) {
  constexpr double turn = 2 * std::numbers::pi / grid;
  double at_x = x, at_y = y;
  for (int step = 0; step < climbing_steps; ++step) {
    if (const int i = threadIdx.x; i < half + grid) {
      const int j = i - half;
      const double angle = i < half ? i * at_x : wave_of(j) * at_y;
      const double length = i > 0 && 2 * i < grid ? 2 : 1;  // so many columns have that angle
      waves[i] = {length * cospi(2 * angle / grid), length * sinpi(2 * angle / grid)};
    }
    __syncthreads();
    Slope slope;
    for (int f = threadIdx.x; f < frequencies; f += threads) {
      const int k = f / grid, j = f % grid;
      const Value part = target ? spectrum[f].b : spectrum[f].a;
      const Wave across = waves[k], down = waves[half + j];
      const double re = across.re * down.re - across.im * down.im,
                   im = across.re * down.im + across.im * down.re;
      slope.add(part.re * re - part.im * im, part.re * im + part.im * re, turn * k,
                turn * wave_of(j));
    }
    double sums[] = {slope.gx, slope.gy, slope.hxx, slope.hxy, slope.hyy};
    block_sums<warps>(sums);
    slope = {sums[0], sums[1], sums[2], sums[3], sums[4]};
    if (!slope.climb(at_x, at_y)) return;
    if (fabs(at_x - x) > 1 || fabs(at_y - y) > 1) return;
  }
  x = at_x;
  y = at_y;
}

__global__ void __launch_bounds__(threads)
    find_top(const Look* looks, const TwoParts* products, const FilterShape* shapes,
             xcorr::tracker::Answer* answers) {
  __shared__ Value picture[picture_values];
  __shared__ Top tops[warps];
  __shared__ Wave waves[half + grid];
  const std::int64_t window = blockIdx.x;
  const Look look = looks[window];
  if (look.side == 0) return;
  const TwoParts* const spectrum = products + window * frequencies;
  for (int i = threadIdx.x; i < frequencies; i += threads) join(spectrum[i], i, picture);
  transform<Direction::inverse>(picture, 1);

  const Surfaces surfaces{picture};
  const int best_of_all = surfaces.top(false, tops), best_on_target = surfaces.top(true, tops);
  // The surroundings may stay as they are while the target is gone, or jumps away.
  const bool jumped =
      surfaces.value(true, best_on_target) > most_elsewhere * surfaces.near(best_of_all);
  const int best = jumped ? best_on_target : best_of_all;
  double x = best % grid, y = best / grid;
  climb(spectrum, jumped, waves, x, y);
  const double sharp = sharpness(shapes[look.filter], surfaces, best);
  if (threadIdx.x == 0)
    answers[window] = {from_middle(x), from_middle(y), surfaces.near(best), sharp};
}

bool supports(const stage::Answer::Problem& p, const Device&) { return p.windows <= 65535; }

std::size_t workspace(const stage::Answer::Problem& p, const Device&) {
  return static_cast<std::size_t>(p.windows) * frequencies * sizeof(TwoParts);
}

Status launch(const stage::Answer::Problem& p, const Device&, const stage::Answer::Buffers& b,
              PlanState*) {
  auto* const products = static_cast<TwoParts*>(b.workspace);
  if (Status s =
          enqueue("answer: multiply", multiply,
                  dim3(ceil_div(frequencies, frequencies_of_block), p.windows),
                  32 * frequencies_of_block, 0, b.stream, b.looks, b.spectra, b.filters, products);
      !s.ok())
    return s;
  return enqueue("answer: find_top", find_top, p.windows, threads, 0, b.stream, b.looks, products,
                 b.shapes, b.answers);
}

constexpr Variant<stage::Answer> table[] = {
    {{"answer", Backend::cuda, Feature::f32}, supports, launch, workspace},
};

}  // namespace
}  // namespace tracker

Family answer_family() { return Family(tracker::table); }

}  // namespace xcorr::cuda
