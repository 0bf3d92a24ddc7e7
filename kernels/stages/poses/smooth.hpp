// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage smooth: a template -> what the stage pose_refine reads of it: pixels smoothed by the
// cubic B-spline, and their slopes.
#pragma once

#include <type_traits>

#include "stages/common/host_device.hpp"
#include "stages/common/stage.hpp"

namespace xcorr {

/// The cubic B-spline's weights of four pixels, `f` of the way from the second to the third.
template <class T>
struct SplineWeights {
  T of[4];

  XCORR_HD explicit SplineWeights(T f) {
    const T g = 1 - f;
    constexpr T sixth = T(1) / 6;
    of[0] = g * g * g * sixth;
    of[1] = (3 * f * f * f - 6 * f * f + 4) * sixth;
    of[2] = (3 * g * g * g - 6 * g * g + 4) * sixth;
    of[3] = f * f * f * sixth;
  }
};

/// A pixel of the smoothed template, and its slopes: 36 times the one and 12 times the others, of
/// integers in integers. The frame's own slopes would not do: their noise makes the steps
/// too short where the template has little contrast.
template <class Value>
struct SplinePixelOf {
  static constexpr int value_unit = 36, slope_unit = 12;
  Value value = 0, by_u = 0, by_v = 0;

  /// \param pixel  of the template, with neighbours on all sides
  /// \param pitch  from row to row, in pixels
  template <class Pixel>
  XCORR_HD SplinePixelOf(const Pixel* pixel, std::int64_t pitch) {
    const int weights[] = {1, 4, 1}, slopes[] = {-1, 0, 1};
    XCORR_UNROLL
    for (int j = 0; j < 3; ++j) {
      XCORR_UNROLL
      for (int i = 0; i < 3; ++i) {
        const Value neighbour = pixel[(j - 1) * pitch + i - 1];
        value += weights[i] * weights[j] * neighbour;
        by_u += slopes[i] * weights[j] * neighbour;
        by_v += weights[i] * slopes[j] * neighbour;
      }
    }
  }
};

using SplinePixel = SplinePixelOf<std::int32_t>;

/// The same in gray levels. A GPU reads it at once.
struct alignas(16) SmoothedPixel {
  float value = 0, by_u = 0, by_v = 0;
  float counts = 0;  ///< 1: it takes part

  SmoothedPixel() = default;
  template <class Value>
  XCORR_HD explicit SmoothedPixel(const SplinePixelOf<Value>& pixel)
      : value(float(pixel.value) / SplinePixel::value_unit),
        by_u(float(pixel.by_u) / SplinePixel::slope_unit),
        by_v(float(pixel.by_v) / SplinePixel::slope_unit),
        counts(1) {}
};

/// Of the template's pixel at `pixel`, which has neighbours on all sides.
template <class Pixel>
XCORR_HD SmoothedPixel smoothed_pixel(const Pixel* pixel, std::int64_t pitch) {
  using Value = std::conditional_t<std::is_floating_point_v<Pixel>, float, std::int32_t>;
  return SmoothedPixel(SplinePixelOf<Value>(pixel, pitch));
}

/// Pixels nearer to the template's rim, or to its mask's, take no part: the background shows
/// through where smoothing reaches past the rim.
inline constexpr int pose_refine_inset = 2;

namespace stage {

/// A template -> what the stage pose_refine reads of it.
struct Smooth {
  static constexpr const char* name = "smooth";

  struct Problem {
    Size size;
    ElementType type = ElementType::u8;

    constexpr Features features() const { return feature_of(type); }
  };

  struct Buffers : Launch {
    const void* pixels = nullptr;           ///< dense
    const std::uint8_t* counted = nullptr;  ///< which take part: not 0; none at the rim
    SmoothedPixel* smoothed = nullptr;      ///< 0 where they take no part
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, elements(p.type, p.size.area()));
    visit("counted", &Buffers::counted, elements(ElementType::u8, p.size.area()));
    visit("smoothed", &Buffers::smoothed, records<SmoothedPixel>(p.size.area()));
  }
};

}  // namespace stage
}  // namespace xcorr
