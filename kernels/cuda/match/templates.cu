// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is computed from templates when they are new or were blended with a part of a frame: their
// sums and, for floating point, their pixels less the mean, one block per template; and the running
// averages themselves, one thread per pixel.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/blend.hpp"
#include "stages/score.hpp"
#include "stages/templates.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 512, warps = threads / 32;

/// Calls f(pixel, its byte offset) for the thread's share of a template's pixels.
template <class In, class F>
__device__ void for_pixels(const stage::TemplateSums::Problem& p, const std::byte* pixels, F f) {
  for (int y = threadIdx.x / 32; y < p.size.height; y += warps)
    for (int x = threadIdx.x % 32; x < p.size.width; x += 32) {
      const std::int64_t at = y * p.pitch + x * static_cast<int>(sizeof(In));
      f(*reinterpret_cast<const In*>(pixels + at), at);
    }
}

__device__ TemplateSums sums_of(const stage::TemplateSums::Problem& p, const std::byte* pixels,
                                std::uint8_t*) {
  unsigned long long sums[2] = {};
  for_pixels<std::uint8_t>(p, pixels, [&](unsigned v, std::int64_t) {
    sums[0] += v;
    sums[1] += v * v;
  });
  block_sums<warps>(sums);
  const auto sum = static_cast<std::int64_t>(sums[0]), squares = static_cast<std::int64_t>(sums[1]);
  return {static_cast<double>(sum), static_cast<double>(squares),
          static_cast<double>(n2_covariance(p.size.area(), squares, sum, sum))};
}

/// Also writes the pixels less their mean.
__device__ TemplateSums sums_of(const stage::TemplateSums::Problem& p, const std::byte* pixels,
                                float* centred) {
  double sums[2] = {};
  for_pixels<float>(p, pixels, [&](double v, std::int64_t) {
    sums[0] += v;
    sums[1] += v * v;
  });
  block_sums<warps>(sums);
  const double n = static_cast<double>(p.size.area()), mean = sums[0] / n;
  double deviations[1] = {};
  for_pixels<float>(p, pixels, [&](double v, std::int64_t at) {
    deviations[0] += (v - mean) * (v - mean);
    *reinterpret_cast<float*>(reinterpret_cast<std::byte*>(centred) + at) =
        static_cast<float>(v - mean);
  });
  block_sums<warps>(deviations);
  return {sums[0], sums[1], n * deviations[0]};
}

template <class In>
__global__ void __launch_bounds__(threads)
    template_sums(stage::TemplateSums::Problem p, int first_right, int right_count,
                  const std::byte* templates, std::byte* centred, TemplateSums* template_sums) {
  for (int r = first_right + blockIdx.x; r < first_right + right_count; r += gridDim.x) {
    const std::int64_t at = r * p.stride;
    const TemplateSums sums = sums_of(p, templates + at, reinterpret_cast<In*>(centred + at));
    if (threadIdx.x == 0) template_sums[r] = sums;
  }
}

template <class In>
__global__ void __launch_bounds__(threads)
    blend(stage::Blend::Problem p, const std::byte* patch, const float* averages,
          float* next_averages, In* blended) {
  const std::int64_t area = p.size.area();
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < area;
       i += std::int64_t{gridDim.x} * threads) {
    const auto* row = reinterpret_cast<const In*>(patch + i / p.size.width * p.patch_pitch);
    const float average = blended_average(averages[i], row[i % p.size.width], p.weight);
    next_averages[i] = average;
    blended[i] = pixel_of<In>(average);
  }
}

template <class In>
Status sum_up(const stage::TemplateSums::Problem& p, const stage::TemplateSums::Buffers& b) {
  return enqueue("template_sums", template_sums<In>, grid_extent(b.right_count), threads, 0,
                 b.stream, p, b.first_right, b.right_count,
                 static_cast<const std::byte*>(b.templates), static_cast<std::byte*>(b.centred),
                 b.template_sums);
}

Status launch_template_sums(const stage::TemplateSums::Problem& p, const Device&,
                            const stage::TemplateSums::Buffers& b, PlanState*) {
  return p.type == ElementType::u8 ? sum_up<std::uint8_t>(p, b) : sum_up<float>(p, b);
}

template <class In>
Status blend_as(const stage::Blend::Problem& p, const stage::Blend::Buffers& b) {
  return enqueue("blend", blend<In>, grid_extent(ceil_div(p.size.area(), threads)), threads, 0,
                 b.stream, p, static_cast<const std::byte*>(b.patch), b.averages, b.next_averages,
                 static_cast<In*>(b.blended));
}

Status launch_blend(const stage::Blend::Problem& p, const Device&, const stage::Blend::Buffers& b,
                    PlanState*) {
  return p.type == ElementType::u8 ? blend_as<std::uint8_t>(p, b) : blend_as<float>(p, b);
}

constexpr Variant<stage::TemplateSums> sums_table[] = {
    {{"template_sums", Backend::cuda, {Feature::u8, Feature::f32}},
     supports_all,
     launch_template_sums},
};
constexpr Variant<stage::Blend> blend_table[] = {
    {{"blend", Backend::cuda, {Feature::u8, Feature::f32}}, supports_all, launch_blend},
};

}  // namespace

Family templates_family() { return Family(sums_table, blend_table); }

}  // namespace xcorr::cuda
