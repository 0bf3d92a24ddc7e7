// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage pyramid_down: an image -> the next level of its pyramid, by means of 2 x 2 pixels.
// Pixel i of a level covers pixels 2i and 2i + 1 of the one below, so its centre lies at 2i + 0.5
// there; or as much before, so that a level may begin before the image. Past the image its
// outermost pixels go on.
#pragma once

#include <algorithm>

#include "stages/common/rows.hpp"
#include "stages/common/stage.hpp"

namespace xcorr {

/// The mean of four pixels, of integers rounded to the nearest.
template <class T>
XCORR_HD T mean_of_four(T a, T b, T c, T d) {
  if constexpr (std::is_floating_point_v<T>)
    return T(0.25) * ((a + b) + (c + d));
  else
    return static_cast<T>((a + b + c + d + 2) >> 2);
}

/// Pixel x of a row of the next level, from two rows.
template <class T>
XCORR_HD T pyramid_down_pixel(const T* upper, const T* lower, int x) {
  return mean_of_four(upper[2 * x], upper[2 * x + 1], lower[2 * x], lower[2 * x + 1]);
}

/// Of the next level: an odd last row or column is left out.
constexpr Size half_of(Size size) { return {size.width / 2, size.height / 2}; }

namespace stage {

struct PyramidDown {
  static constexpr const char* name = "pyramid_down";

  struct Problem {
    Size image;
    Size half;                    ///< the result's
    std::int64_t pitch = 0;       ///< bytes from row to row of the image
    std::int64_t half_pitch = 0;  ///< of the result
    ElementType type = ElementType::u8;
    int before = 0;  ///< the result begins so many pixels of the image before it; even
    int planes = 1;
    std::int64_t plane = 0, half_plane = 0;  ///< bytes from one to the next

    /// Which of so many pixels pixel i, counted from where the result begins, is.
    XCORR_HD int inside(int i, int length) const { return std::clamp(i - before, 0, length - 1); }
    /// The two rows of a row of the result.
    template <class T>
    XCORR_HD void rows(const void* pixels, int y, const T*& upper, const T*& lower) const {
      upper = row_of<T>(pixels, pitch, inside(2 * y, image.height));
      lower = row_of<T>(pixels, pitch, inside(2 * y + 1, image.height));
    }
    template <class T>
    XCORR_HD T pixel(const T* upper, const T* lower, int x) const {
      const int left = inside(2 * x, image.width), right = inside(2 * x + 1, image.width);
      return mean_of_four(upper[left], upper[right], lower[left], lower[right]);
    }
    constexpr Features features() const {
      return feature_of(type).with(Feature::planes, planes > 1);
    }
  };

  struct Buffers : Launch {
    const void* pixels = nullptr;
    void* halved = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels, matrices(p.type, p.image, p.pitch, p.plane, p.planes));
    visit("halved", &Buffers::halved,
          matrices(p.type, p.half, p.half_pitch, p.half_plane, p.planes));
  }
};

}  // namespace stage
}  // namespace xcorr
