// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Exact scores of the candidates and their four neighbours, recomputed from the pixels, and the
// sub-pixel place by a parabola through three of them on each axis. It needs no score surface, so
// it gives the same peaks whichever way they were found. A block does one candidate, a row of its
// threads one of the five places.
#include "../score.hpp"
#include "launch.cuh"

namespace xcorr::cuda {
namespace {

constexpr int threads = 128, warps = threads / 32, places = 5;

/// Replaces each value by its sum over the threads of a row (threadIdx.y), for all of them; the
/// order of additions is the same for all sums.
template <int count, class T>
__device__ void row_sums(T (&values)[count]) {
  __shared__ T partial[places][warps][count];
  const int row = threadIdx.y, warp = threadIdx.x / 32;
#pragma unroll
  for (T& value : values) {
    for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
    if (threadIdx.x % 32 == 0) partial[row][warp][&value - values] = value;
  }
  __syncthreads();
#pragma unroll
  for (T& value : values) {
    value = 0;
    for (int i = 0; i < warps; ++i) value += partial[row][i][&value - values];
  }
  __syncthreads();  // partial is written anew by the next sums
}

/// The window and the template, pixel by pixel, shared among the threads of a row: a warp takes a
/// row of pixels. `end_row` follows each.
template <class In, class F, class G>
__device__ void for_pixels(const Problem& p, const std::byte* window, const In* right, F f,
                           G end_row) {
  const int lane = threadIdx.x % 32;
#pragma unroll 4
  for (int y = threadIdx.x / 32; y < p.right.height; y += warps) {
    const auto* left_row = reinterpret_cast<const In*>(window + y * p.left_pitch);
    const auto* right_row = reinterpret_cast<const In*>(
        reinterpret_cast<const std::byte*>(right) + y * p.right_pitch);
#pragma unroll 2
    for (int x = lane; x < p.right.width; x += 32) f(left_row[x], right_row[x]);
    end_row();
  }
}

__device__ double exact_score(const MatchProblem& p, const std::byte* window,
                              const std::uint8_t* right, const RightSums& sums) {
  // 32 bits hold a thread's share of any row.
  unsigned product = 0, sum = 0, squares = 0;
  unsigned long long totals[3] = {};
  for_pixels(
      p.correlate, window, right,
      [&](unsigned f, unsigned t) {
        product += f * t;
        sum += f;
        squares += f * f;
      },
      [&] {
        totals[0] += product;
        totals[1] += sum;
        totals[2] += squares;
        product = sum = squares = 0;
      });
  row_sums(totals);
  using T = std::int64_t;
  return score(p.method,
               WindowTerms<T>{p.correlate.right.area(), static_cast<T>(totals[0]),
                              static_cast<T>(totals[1]), static_cast<T>(totals[2]),
                              static_cast<T>(sums.sum), static_cast<T>(sums.squares)});
}

__device__ double exact_score(const MatchProblem& p, const std::byte* window, const float* right,
                              const RightSums&) {
  double means[2] = {};
  for_pixels(
      p.correlate, window, right,
      [&](double f, double t) {
        means[0] += f;
        means[1] += t;
      },
      [] {});
  row_sums(means);
  for (double& mean : means) mean /= static_cast<double>(p.correlate.right.area());
  double s[7] = {};
  for_pixels(
      p.correlate, window, right,
      [&](double f, double t) {
        const double a = f - means[0], b = t - means[1];
        s[0] += f * f;
        s[1] += t * t;
        s[2] += f * t;
        s[3] += (f - t) * (f - t);
        s[4] += a * a;
        s[5] += b * b;
        s[6] += a * b;
      },
      [] {});
  row_sums(s);
  CentredTerms w;
  w.left_squares = s[0];
  w.right_squares = s[1];
  w.product = s[2];
  w.difference = s[3];
  w.left_deviation = s[4];
  w.right_deviation = s[5];
  w.covariance = s[6];
  return score(p.method, w);
}

template <class In>
__global__ void __launch_bounds__(threads* places)
    refine(MatchProblem p, bool minimum, const std::byte* left, const std::byte* templates,
           const RightSums* right_sums, int first_right, int right_count,
           const Candidate* candidates, const std::uint32_t* counts, RefinedPeak* peaks) {
  __shared__ double scores[places];
  constexpr int offset_x[places] = {0, -1, 1, 0, 0}, offset_y[places] = {0, 0, 0, -1, 1};
  const Rect area = p.correlate.shifts;
  for (int r = first_right + blockIdx.y; r < first_right + right_count; r += gridDim.y) {
    if (blockIdx.x >= counts[r]) continue;
    const std::int64_t place = std::int64_t{r} * p.max_peaks + blockIdx.x;
    const Candidate c = candidates[place];
    const bool fits_x = p.subpixel && c.x > 0 && c.x < area.width - 1;
    const bool fits_y = p.subpixel && c.y > 0 && c.y < area.height - 1;
    // A place that is not wanted repeats the middle, so that all threads reach the barriers.
    const int x = area.x + c.x + (fits_x ? offset_x[threadIdx.y] : 0);
    const int y = area.y + c.y + (fits_y ? offset_y[threadIdx.y] : 0);
    const double exact = exact_score(
        p, left + y * p.correlate.left_pitch + x * static_cast<int>(sizeof(In)),
        reinterpret_cast<const In*>(templates + r * p.correlate.right_stride), right_sums[r]);
    if (threadIdx.x == 0) scores[threadIdx.y] = exact;
    __syncthreads();
    if (threadIdx.x == 0 && threadIdx.y == 0)
      peaks[place] = {
          scores[0], fits_x ? parabola_offset(scores[1], scores[0], scores[2], minimum) : 0.0,
          fits_y ? parabola_offset(scores[3], scores[0], scores[4], minimum) : 0.0, c.x, c.y};
    __syncthreads();
  }
}

Status launch(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  const auto kernel = p.correlate.type == ElementType::u8 ? refine<std::uint8_t> : refine<float>;
  kernel<<<dim3(p.max_peaks, grid_extent(b.right_count)), dim3(threads, places), 0,
           native(b.stream)>>>(p, info(p.method).minimum, static_cast<const std::byte*>(b.lefts),
                               static_cast<const std::byte*>(b.templates), b.right_sums,
                               b.first_right, b.right_count, b.candidates, b.counts, b.peaks);
  return launched("refine");
}

constexpr Variant table[] = {
    {"refine", Stage::refine, Backend::cuda, true, supports_matching, no_workspace, launch},
};

}  // namespace

Family refine_family() { return table; }

}  // namespace xcorr::cuda
