// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Coefficients of B-splines on the CPU: rows of the image, some thousands of a large one at a
// time, are filtered into the workspace, and that from row to row. Loops over a row are plain C++
// that the compiler vectorises; the file is compiled once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fields/spline.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_SPLINE_JOB
#define XCORR_CPU_SPLINE_JOB
#include "cpu/common/common.hpp"
#include "stages/fields/spline.hpp"

namespace xcorr::cpu::spline {

constexpr int radius = SplineFilter::radius;

/// The lines at each distance from the one that is made, before and after it.
struct Lines {
  const float* before[radius + 1];
  const float* after[radius + 1];
};

}  // namespace xcorr::cpu::spline
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::spline::HWY_NAMESPACE {

HWY_FLATTEN void filter(const SplineFilter& weights, const Lines& lines, int width,
                        float* HWY_RESTRICT to) {
  constexpr int block = 64;
  for (int x = 0; x < width; x += block) {
    const int count = std::min(block, width - x);
    float sums[block] = {};
    for (int k = 0; k <= radius; ++k) {
      const float* HWY_RESTRICT before = lines.before[k] + x;
      const float* HWY_RESTRICT after = lines.after[k] + x;
      const float weight = k == 0 ? 0.5F * weights.of[0] : weights.of[k];
      if (count == block)
        for (int i = 0; i < block; ++i) sums[i] += weight * (before[i] + after[i]);
      else
        for (int i = 0; i < count; ++i) sums[i] += weight * (before[i] + after[i]);
    }
    std::copy_n(sums, count, to + x);
  }
}

}  // namespace xcorr::cpu::spline::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace spline {

HWY_EXPORT(filter);

constexpr int rows_at_a_time = 32;

/// Of a band: so many pixels of filtered rows, which are 64 MB.
int band_rows(const stage::Spline::Problem& p) {
  return SplineBand::rows(p.size, std::int64_t{1} << 24);
}

/// A row's pixels.
template <class T>
void fill_with(const stage::Spline::Problem& p, const stage::Spline::Buffers& b, int y,
               float* line) {
  const T* pixels = row_of<T>(b.pixels, p.pitch, y);
  for (int x = 0; x < p.size.width; ++x) line[x] = counted_pixel(pixels[x]);
}
void fill(const stage::Spline::Problem& p, const stage::Spline::Buffers& b, int y, float* line) {
  (p.type == ElementType::u8    ? fill_with<std::uint8_t>
   : p.type == ElementType::u16 ? fill_with<std::uint16_t>
                                : fill_with<float>)(p, b, y, line);
}

std::size_t line_bytes(const stage::Spline::Problem& p) {
  return static_cast<std::size_t>(p.size.width + 2 * radius) * sizeof(float);
}

std::size_t workspace(const stage::Spline::Problem& p, const Device&) {
  return SlotMemory::total(line_bytes(p)) +
         static_cast<std::size_t>(SplineBand::pixels(p.size, band_rows(p))) * sizeof(float);
}

Status launch(const stage::Spline::Problem& p, const Device&, const stage::Spline::Buffers& b,
              PlanState*) {
  const int width = p.size.width, height = p.size.height;
  const SplineFilter weights(p.degree);
  const SlotMemory memory(b.workspace, line_bytes(p));
  auto* filtered = reinterpret_cast<float*>(memory.of(slot_count()));
  const auto row_of = [width](float* image, int y) { return image + std::int64_t{y} * width; };
  const auto for_rows = [](int top, int bottom, const auto& body) {
    parallel_slots(slot_count(), ceil_div(bottom - top, rows_at_a_time),
                   [&](int slot, std::int64_t i) {
                     const int from = top + static_cast<int>(i) * rows_at_a_time;
                     for (int y = from; y < std::min(from + rows_at_a_time, bottom); ++y)
                       body(slot, y);
                   });
  };
  const auto filter_row = [&](int slot, int y, float* to) {
    auto* line = reinterpret_cast<float*>(memory.of(slot)) + radius;
    fill(p, b, y, line);
    for (int x = 1; x <= radius; ++x) {
      line[-x] = line[mirrored(-x, width)];
      line[width - 1 + x] = line[mirrored(width - 1 + x, width)];
    }
    Lines lines;
    for (int k = 0; k <= radius; ++k) {
      lines.before[k] = line - k;
      lines.after[k] = line + k;
    }
    HWY_DYNAMIC_DISPATCH(filter)(weights, lines, width, to);
  };
  const int rows = band_rows(p);
  for (int top = 0; top < height; top += rows) {
    const SplineBand band(top, rows, height);
    const auto filtered_row = [&](int y) { return row_of(filtered, y - band.from); };
    for_rows(band.from, band.until, [&](int slot, int y) { filter_row(slot, y, filtered_row(y)); });
    for_rows(band.top, band.bottom, [&](int, int y) {
      Lines lines;
      for (int k = 0; k <= radius; ++k) {
        lines.before[k] = filtered_row(mirrored(y - k, height));
        lines.after[k] = filtered_row(mirrored(y + k, height));
      }
      HWY_DYNAMIC_DISPATCH(filter)(weights, lines, width, row_of(b.coefficients, y));
    });
  }
  return {};
}

constexpr Variant<stage::Spline> table[] = {
    {{.name = "spline",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch, .workspace = workspace}},
};

}  // namespace spline

Family spline_family() { return Family(spline::table); }

}  // namespace xcorr::cpu
#endif
