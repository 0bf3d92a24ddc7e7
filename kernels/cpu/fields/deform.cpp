// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Images deformed on the CPU. Neighbouring pixels are mostly looked up beside each other, so a
// row is cut into runs of pixels whose places lie equally far away in whole pixels: there each tap
// of the spline is a sum over arrays, in plain C++ that the compiler vectorises; the file is
// compiled once for each of Highway's targets.
#include "cpu/common/simd.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "cpu/fields/deform.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef XCORR_CPU_DEFORM_JOB
#define XCORR_CPU_DEFORM_JOB
#include "cpu/common/common.hpp"
#include "stages/fields/deform.hpp"

namespace xcorr::cpu::deform {

/// Pixels of a row that are made at a time.
constexpr int block = 64;

/// Where they are looked up.
struct Places {
  int x[block], y[block];
  float t[block], s[block];

  /// How many from `first` on lie equally far away in whole pixels.
  int run(int first, int count) const {
    int i = first + 1;
    while (i < count && x[i] - x[first] == i - first && y[i] == y[first]) ++i;
    return i - first;
  }
};

}  // namespace xcorr::cpu::deform
#endif

HWY_BEFORE_NAMESPACE();
namespace xcorr::cpu::deform::HWY_NAMESPACE {

/// A run of pixels. \param from  the coefficient of the upper left tap of the first one
template <int degree, class T>
HWY_FLATTEN void make_run(const float* HWY_RESTRICT from, std::int64_t pitch,
                          const float* HWY_RESTRICT t, const float* HWY_RESTRICT s, int count,
                          T* HWY_RESTRICT to) {
  constexpr int taps = SplineTaps<degree>::count;
  float across[taps][block], down[taps][block], sums[block] = {};
  for (int k = 0; k < count; ++k) {
    const SplineTaps<degree> by_t(t[k]), by_s(s[k]);
    for (int i = 0; i < taps; ++i) {
      across[i][k] = by_t.of[i];
      down[i][k] = by_s.of[i];
    }
  }
  for (int j = 0; j < taps; ++j) {
    float line[block] = {};
    for (int i = 0; i < taps; ++i)
      for (int k = 0; k < count; ++k) line[k] += across[i][k] * from[j * pitch + i + k];
    for (int k = 0; k < count; ++k) sums[k] += down[j][k] * line[k];
  }
  for (int k = 0; k < count; ++k) to[k] = gray_of<T>(sums[k]);
}

template <int degree, class T>
void make(const SplineImage& image, const Places& places, int count, T* to) {
  constexpr int taps = SplineTaps<degree>::count, before = SplineTaps<degree>::before;
  for (int first = 0, length; first < count; first += length) {
    length = places.run(first, count);
    const int left = places.x[first] - before, top = places.y[first] - before;
    if (left >= 0 && top >= 0 && left + length - 1 + taps <= image.size.width &&
        top + taps <= image.size.height) {
      make_run<degree>(image.coefficients + std::int64_t{top} * image.size.width + left,
                       image.size.width, places.t + first, places.s + first, length, to + first);
      continue;
    }
    length = 1;  // others of the run may lie inside
    to[first] = gray_of<T>(
        image.at<degree>(places.x[first], places.y[first], places.t[first], places.s[first]));
  }
}

template <class T>
void make_some(int degree, const SplineImage& image, const Places& places, int count, T* to) {
  (degree == 3 ? make<3, T> : make<5, T>)(image, places, count, to);
}

/// \param to  a row of the deformed image, from its pixel x on
void make_pixels(const stage::Deform::Problem& p, const SplineImage& image, const Places& places,
                 int count, std::uint8_t* to, int x) {
  if (p.type == ElementType::u8)
    make_some(p.degree, image, places, count, to + x);
  else if (p.type == ElementType::u16)
    make_some(p.degree, image, places, count, row_of<std::uint16_t>(to, 0, 0) + x);
  else
    make_some(p.degree, image, places, count, row_of<float>(to, 0, 0) + x);
}

}  // namespace xcorr::cpu::deform::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace xcorr::cpu {
namespace deform {

HWY_EXPORT(make_pixels);

Status launch(const stage::Deform::Problem& p, const Device&, const stage::Deform::Buffers& b,
              PlanState*) {
  const FieldOnGrid field{b.vectors, p.grid};
  const SplineImage image{b.coefficients, p.size};
  const Size made = p.deformed_size();
  parallel_for(0, made.height, [&](int y) {
    Places places;
    for (int x = 0; x < made.width; x += block) {
      const int count = std::min(block, made.width - x);
      for (int i = 0; i < count; ++i) {
        const DeformedPlace place(field, p.share, p.size, x + i - p.margin, y - p.margin);
        places.x[i] = place.x;
        places.y[i] = place.y;
        places.t[i] = place.t;
        places.s[i] = place.s;
      }
      HWY_DYNAMIC_DISPATCH(make_pixels)
      (p, image, places, count, b.deformed + y * p.pitch, x);
    }
  });
  return {};
}

constexpr Variant<stage::Deform> table[] = {
    {{.name = "deform",
      .backend = Backend::cpu,
      .features = {Feature::u8, Feature::u16, Feature::f32}},
     {.launch = launch}},
};

}  // namespace deform

Family deform_family() { return Family(deform::table); }

}  // namespace xcorr::cpu
#endif
