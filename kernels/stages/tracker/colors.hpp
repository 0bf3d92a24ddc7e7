// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colours of a frame, read where they lie.
#pragma once

#include <algorithm>
#include <cstdint>

#include <xcorr/types.hpp>

#include "stages/common/host_device.hpp"

namespace xcorr::tracker {

/// Luma 0 to 255, and either chroma by how far it is from gray: -128 to 127.
struct Color {
  int luma, blue, red;
};

/// By luma and chroma of BT.601, full range.
XCORR_HD constexpr Color color_of_rgb(int red, int green, int blue) {
  const int luma = (77 * red + 150 * green + 29 * blue + 128) >> 8;
  return {luma, (blue - luma) * 9 / 16, (red - luma) * 23 / 32};
}

enum class Colors : std::int32_t { none, rgb, luma_chroma };

/// How the planes of a frame lie: see ColorPlane, without pointers.
struct ColorLayout {
  struct Plane {
    std::int64_t pitch = 0;
    std::int32_t step = 1, position = 0, shift_x = 0, shift_y = 0;

    bool operator==(const Plane&) const = default;
  };
  Colors colors = Colors::none;
  Plane planes[color_planes];  ///< of a gray frame the first one

  bool operator==(const ColorLayout&) const = default;
  constexpr int count() const { return colors == Colors::none ? 1 : color_planes; }

  /// From a plane's first pixel to its last one's end; 0 if there is none.
  constexpr std::int64_t bytes_of(int plane, Size frame) const {
    if (plane >= count()) return 0;
    const auto& [pitch, step, position, shift_x, shift_y] = planes[plane];
    const int width = ((frame.width - 1) >> shift_x) + 1;
    const int height = ((frame.height - 1) >> shift_y) + 1;
    return (height - 1) * pitch + std::int64_t{width} * step;
  }

  /// That of a pixel, outside of the frame that of the nearest one.
  /// \param pixels  the planes' first ones
  XCORR_HD Color at(Size frame, const std::uint8_t* const (&pixels)[color_planes], int x,
                    int y) const {
    x = std::clamp(x, 0, frame.width - 1);
    y = std::clamp(y, 0, frame.height - 1);
    const auto value = [&](int i) -> int {
      const Plane& plane = planes[i];
      const int column = x >> plane.shift_x;
      const int row = y >> plane.shift_y;
      return pixels[i][row * plane.pitch + std::int64_t{column} * plane.step + plane.position];
    };
    constexpr int no_chroma = 128;
    switch (colors) {
      case Colors::rgb:
        return color_of_rgb(value(0), value(1), value(2));
      case Colors::luma_chroma:
        return {value(0), value(1) - no_chroma, value(2) - no_chroma};
      default:
        return {value(0), 0, 0};
    }
  }
};

}  // namespace xcorr::tracker
