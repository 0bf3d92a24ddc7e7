// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is computed from templates when they are new or were blended with a part of a frame: their
// sums and, for floating point, their pixels less the mean; and the running averages themselves.
// Templates are few and small compared with frames, so one thread is enough.
#include "stages/templates.hpp"
#include "cpu/common.hpp"
#include "stages/blend.hpp"

namespace xcorr::cpu {
namespace {

/// Calls f for each pixel, row by row.
template <class T, class F>
void for_pixels(const Matrix<T>& m, F f) {
  for (int y = 0; y < m.size.height; ++y)
    for (int x = 0; x < m.size.width; ++x) f(m.row(y)[x]);
}

TemplateSums sums_of(const Matrix<std::uint8_t>& right) {
  std::int64_t sum = 0, squares = 0;
  for_pixels(right, [&](std::int64_t v) {
    sum += v;
    squares += v * v;
  });
  return {double(sum), double(squares), double(right.size.area() * squares - sum * sum)};
}

TemplateSums sums_of(const Matrix<float>& right) {
  TemplateSums sums;
  for_pixels(right, [&](double v) {
    sums.sum += v;
    sums.squares += v * v;
  });
  const double n = double(right.size.area()), mean = sums.sum / n;
  for_pixels(right, [&](double v) { sums.n2_variance += (v - mean) * (v - mean); });
  sums.n2_variance *= n;
  return sums;
}

/// The pixels less their mean, in the same layout.
void centre(const Matrix<float>& right, const TemplateSums& sums, std::byte* out) {
  const double mean = sums.sum / double(right.size.area());
  for (int y = 0; y < right.size.height; ++y)
    std::transform(right.row(y), right.row(y) + right.size.width,
                   reinterpret_cast<float*>(out + y * right.pitch),
                   [mean](float v) { return static_cast<float>(v - mean); });
}

template <class T>
Matrix<T> template_of(const stage::TemplateSums::Problem& p, const void* templates, int index) {
  return {static_cast<const std::byte*>(templates) + index * p.stride, p.pitch, p.size};
}

Status template_sums(const stage::TemplateSums::Problem& p, const Device&,
                     const stage::TemplateSums::Buffers& b, PlanState*) {
  for (int r = b.first_right; r < b.first_right + b.right_count; ++r) {
    if (p.type == ElementType::u8) {
      b.template_sums[r] = sums_of(template_of<std::uint8_t>(p, b.templates, r));
      continue;
    }
    const auto pixels = template_of<float>(p, b.templates, r);
    b.template_sums[r] = sums_of(pixels);
    centre(pixels, b.template_sums[r], static_cast<std::byte*>(b.centred) + r * p.stride);
  }
  return {};
}

template <class T>
void blend_as(const stage::Blend::Problem& p, const stage::Blend::Buffers& b) {
  std::int64_t at = 0;
  for (int y = 0; y < p.size.height; ++y) {
    const T* patch =
        reinterpret_cast<const T*>(static_cast<const std::byte*>(b.patch) + y * p.patch_pitch);
    for (int x = 0; x < p.size.width; ++x, ++at) {
      b.next_averages[at] = blended_average(b.averages[at], patch[x], p.weight);
      static_cast<T*>(b.blended)[at] = pixel_of<T>(b.next_averages[at]);
    }
  }
}

Status blend(const stage::Blend::Problem& p, const Device&, const stage::Blend::Buffers& b,
             PlanState*) {
  p.type == ElementType::u8 ? blend_as<std::uint8_t>(p, b) : blend_as<float>(p, b);
  return {};
}

constexpr Variant<stage::TemplateSums> sums_table[] = {
    {{"template_sums", Backend::cpu, {Feature::u8, Feature::f32}}, supports_all, template_sums},
};
constexpr Variant<stage::Blend> blend_table[] = {
    {{"blend", Backend::cpu, {Feature::u8, Feature::f32}}, supports_all, blend},
};

}  // namespace

Family templates_family() { return Family(sums_table, blend_table); }

}  // namespace xcorr::cpu
