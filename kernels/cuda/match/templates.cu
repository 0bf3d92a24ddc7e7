// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is made of templates when they are new or take up a part of a frame: their sums and, for
// floating point, their pixels less the mean, by a block a template; and the running averages
// themselves, by a thread a pixel.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/blend.hpp"
#include "stages/score.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 512, warps = threads / 32;

/// Calls f(pixel, its place in bytes) for the thread's share of a template's pixels.
template <class In, class F>
__device__ void for_pixels(const Problem& p, const std::byte* right, F f) {
  for (int y = threadIdx.x / 32; y < p.right.height; y += warps)
    for (int x = threadIdx.x % 32; x < p.right.width; x += 32) {
      const std::int64_t at = y * p.right_pitch + x * static_cast<int>(sizeof(In));
      f(*reinterpret_cast<const In*>(right + at), at);
    }
}

__device__ RightSums sums_of(const Problem& p, const std::byte* right, std::uint8_t*) {
  unsigned long long sums[2] = {};
  for_pixels<std::uint8_t>(p, right, [&](unsigned v, std::int64_t) {
    sums[0] += v;
    sums[1] += v * v;
  });
  block_sums<warps>(sums);
  const auto sum = static_cast<std::int64_t>(sums[0]), squares = static_cast<std::int64_t>(sums[1]);
  return {static_cast<double>(sum), static_cast<double>(squares),
          static_cast<double>(deviation(p.right.area(), squares, sum, sum))};
}

/// Writes the pixels less their mean too.
__device__ RightSums sums_of(const Problem& p, const std::byte* right, float* centred) {
  double sums[2] = {};
  for_pixels<float>(p, right, [&](double v, std::int64_t) {
    sums[0] += v;
    sums[1] += v * v;
  });
  block_sums<warps>(sums);
  const double n = static_cast<double>(p.right.area()), mean = sums[0] / n;
  double deviations[1] = {};
  for_pixels<float>(p, right, [&](double v, std::int64_t at) {
    deviations[0] += (v - mean) * (v - mean);
    *reinterpret_cast<float*>(reinterpret_cast<std::byte*>(centred) + at) =
        static_cast<float>(v - mean);
  });
  block_sums<warps>(deviations);
  return {sums[0], sums[1], n * deviations[0]};
}

template <class In>
__global__ void __launch_bounds__(threads)
    right_sums(Problem p, int first_right, int right_count, const std::byte* templates,
               std::byte* centred, RightSums* right_sums) {
  for (int r = first_right + blockIdx.x; r < first_right + right_count; r += gridDim.x) {
    const std::int64_t at = r * p.right_stride;
    const RightSums sums = sums_of(p, templates + at, reinterpret_cast<In*>(centred + at));
    if (threadIdx.x == 0) right_sums[r] = sums;
  }
}

template <class In>
__global__ void __launch_bounds__(threads)
    blend(MatchProblem problem, int first_right, int right_count, const std::byte* left,
          const float* averages, float* next_averages, In* blended) {
  const Problem& p = problem.correlate;
  const std::int64_t area = p.right.area();
  for (int r = first_right + blockIdx.y; r < first_right + right_count; r += gridDim.y)
    for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < area;
         i += std::int64_t{gridDim.x} * threads) {
      const std::int64_t y = p.shifts.y + i / p.right.width, x = p.shifts.x + i % p.right.width;
      const auto* row = reinterpret_cast<const In*>(left + y * p.left_pitch);
      const std::int64_t at = r * area + i;
      const float average = blended_average(averages[at], row[x], problem.weight);
      next_averages[at] = average;
      blended[at] = pixel_of<In>(average);
    }
}

template <class In>
Status sum_up(const MatchProblem& p, const Buffers& b) {
  return enqueue("right_sums", right_sums<In>, grid_extent(b.right_count), threads, 0, b.stream,
                 p.correlate, b.first_right, b.right_count,
                 static_cast<const std::byte*>(b.templates), static_cast<std::byte*>(b.centred),
                 b.right_sums);
}

template <class In>
Status blend_as(const MatchProblem& p, const Buffers& b) {
  const dim3 grid(grid_extent(ceil_div(p.correlate.right.area(), threads)),
                  grid_extent(b.right_count));
  return enqueue("blend", blend<In>, grid, threads, 0, b.stream, p, b.first_right, b.right_count,
                 static_cast<const std::byte*>(b.lefts), b.averages, b.next_averages,
                 static_cast<In*>(b.blended));
}

Status launch_right_sums(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  return p.correlate.type == ElementType::u8 ? sum_up<std::uint8_t>(p, b) : sum_up<float>(p, b);
}

Status launch_blend(const MatchProblem& p, const Device&, const Buffers& b, PlanState*) {
  return p.correlate.type == ElementType::u8 ? blend_as<std::uint8_t>(p, b) : blend_as<float>(p, b);
}

constexpr Variant table[] = {
    {"right_sums", Stage::right_sums, Backend::cuda, true, supports_matching, no_workspace,
     launch_right_sums},
    {"blend", Stage::blend, Backend::cuda, true, supports_matching, no_workspace, launch_blend},
};

}  // namespace

Family templates_family() { return table; }

}  // namespace xcorr::cuda
