// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is computed from templates when they are new or were blended with a part of a frame: their
// sums and, for floating point, their pixels less the mean, one block per template; and the running
// averages themselves, one thread per pixel.
#include "cuda/common/block_sums.cuh"
#include "cuda/common/launch.cuh"
#include "stages/match/blend.hpp"
#include "stages/match/score.hpp"
#include "stages/match/templates.hpp"

namespace xcorr::cuda {
namespace {

constexpr int threads = 512, warps = threads / 32;

/// One template of the stage.
template <class T, class Operand = T>
struct Pixels {
  const T* pixels;
  Operand* operands;  ///< laid out like the pixels; null: there are none
  const std::uint8_t* mask;

  /// Calls f(pixel, its operand or null, how often it counts) for the thread's share.
  template <class F>
  __device__ void visit(const stage::TemplateSums::Problem& p, F f) const {
    const auto at = [&](auto* rows, int x, int y) {
      return rows + y * (p.pitch / static_cast<int>(sizeof(T))) + x;
    };
    for (int y = threadIdx.x / 32; y < p.size.height; y += warps)
      for (int x = threadIdx.x % 32; x < p.size.width; x += 32)
        f(*at(pixels, x, y), operands ? at(operands, x, y) : nullptr,
          mask ? mask[std::int64_t{y} * p.size.width + x] : 1);
  }
};

/// Pixels of integers.
template <class T, class Operand>
__device__ TemplateSums sums_of(const stage::TemplateSums::Problem& p,
                                const Pixels<T, Operand>& t) {
  unsigned long long sums[2] = {};
  t.visit(p, [&](unsigned pixel, Operand* operand, unsigned times) {
    const unsigned v = times * pixel;
    sums[0] += v;
    sums[1] += v * pixel;
    if (operand) *operand = static_cast<Operand>(v);
  });
  block_sums<warps>(sums);
  const auto sum = static_cast<std::int64_t>(sums[0]), squares = static_cast<std::int64_t>(sums[1]);
  return {static_cast<double>(sum), static_cast<double>(squares),
          static_cast<double>(
              n2_covariance<TermOf<Operand>>(p.masking.pixels(p.size), squares, sum, sum))};
}

template <>
__device__ TemplateSums sums_of(const stage::TemplateSums::Problem& p, const Pixels<float>& t) {
  double sums[2] = {};
  t.visit(p, [&](double pixel, float*, unsigned times) {
    const double v = times ? pixel : 0;
    sums[0] += v;
    sums[1] += v * v;
  });
  block_sums<warps>(sums);
  const double n = static_cast<double>(p.masking.pixels(p.size)), mean = sums[0] / n;
  double deviations[1] = {};
  t.visit(p, [&](double pixel, float* operand, unsigned times) {
    const double v = times ? pixel - mean : 0;
    deviations[0] += v * v;
    *operand = static_cast<float>(v);
  });
  block_sums<warps>(deviations);
  return {sums[0], sums[1], n * deviations[0]};
}

template <class In, class Operand>
__global__ void __launch_bounds__(threads)
    template_sums(stage::TemplateSums::Problem p, int first_right, int right_count,
                  const std::byte* templates, const std::uint8_t* mask, std::byte* operands,
                  TemplateSums* template_sums) {
  for (int r = first_right + blockIdx.x; r < first_right + right_count; r += gridDim.x) {
    const std::int64_t at = r * p.stride;
    constexpr std::int64_t wider = sizeof(Operand) / sizeof(In);
    const Pixels<In, Operand> pixels{
        reinterpret_cast<const In*>(templates + at),
        p.has_operands() ? reinterpret_cast<Operand*>(operands + wider * at) : nullptr, mask};
    const TemplateSums sums = sums_of(p, pixels);
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

template <class In, class Operand = In>
Status sum_up(const stage::TemplateSums::Problem& p, const stage::TemplateSums::Buffers& b) {
  return enqueue("template_sums", template_sums<In, Operand>, grid_extent(b.right_count), threads,
                 0, b.stream, p, b.first_right, b.right_count,
                 static_cast<const std::byte*>(b.templates), b.mask,
                 static_cast<std::byte*>(b.operands), b.template_sums);
}

Status launch_template_sums(const stage::TemplateSums::Problem& p, const Device&,
                            const stage::TemplateSums::Buffers& b, PlanState*) {
  return p.masking.weighted           ? sum_up<std::uint8_t, std::uint16_t>(p, b)
         : p.type == ElementType::u8  ? sum_up<std::uint8_t>(p, b)
         : p.type == ElementType::u16 ? sum_up<std::uint16_t>(p, b)
                                      : sum_up<float>(p, b);
}

bool supports_sums(const stage::TemplateSums::Problem& p, const Device&) {
  return p.masking.allows(p.type);
}

template <class In>
Status blend_as(const stage::Blend::Problem& p, const stage::Blend::Buffers& b) {
  return enqueue("blend", blend<In>, grid_extent(ceil_div(p.size.area(), threads)), threads, 0,
                 b.stream, p, static_cast<const std::byte*>(b.patch), b.averages, b.next_averages,
                 static_cast<In*>(b.blended));
}

Status launch_blend(const stage::Blend::Problem& p, const Device&, const stage::Blend::Buffers& b,
                    PlanState*) {
  return p.type == ElementType::u8    ? blend_as<std::uint8_t>(p, b)
         : p.type == ElementType::u16 ? blend_as<std::uint16_t>(p, b)
                                      : blend_as<float>(p, b);
}

constexpr Variant<stage::TemplateSums> sums_table[] = {
    {{.name = "template_sums",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32, Feature::mask, Feature::weights}},
     {.supports = supports_sums, .launch = launch_template_sums}},
};
constexpr Variant<stage::Blend> blend_table[] = {
    {{.name = "blend",
      .backend = Backend::cuda,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch_blend}},
};

}  // namespace

Family templates_family() { return Family(sums_table, blend_table); }

}  // namespace xcorr::cuda
