// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colour of pixels in bins, for histograms: by luma and chroma, finer where chroma is low, as
// in most of a picture. Gray pictures have bins by luma alone. All in integers.
#pragma once

#include <cstdint>

#include <xcorr/types.hpp>

namespace xcorr::tracker {

/// Levels of luma, and of either chroma; a bin for each of all three. Gray pictures use the first
/// bins, one for each of their levels.
constexpr int luma_levels = 16, chroma_levels = 15, gray_levels = 32;
constexpr int color_bins = luma_levels * chroma_levels * chroma_levels;

/// A chroma's level, by how far it is from gray: -128 to 127.
constexpr int chroma_level(int chroma) {
  const int far = chroma < 0 ? -chroma : chroma;
  const int level = far < 3 ? 0 : far < 27 ? 1 + (far - 3) / 6 : far < 59 ? 5 + (far - 27) / 16 : 7;
  return chroma < 0 ? 7 - level : 7 + level;
}

constexpr int bin_of_color(int luma, int blue_chroma, int red_chroma) {
  return (luma * luma_levels / 256 * chroma_levels + chroma_level(blue_chroma)) * chroma_levels +
         chroma_level(red_chroma);
}
constexpr int bin_of_gray(int luma) { return luma * gray_levels / 256; }

/// Of red, green and blue, by the luma and chroma of BT.601, full range.
constexpr int bin_of_rgb(int red, int green, int blue) {
  const int luma = (77 * red + 150 * green + 29 * blue + 128) >> 8;
  return bin_of_color(luma, (blue - luma) * 9 / 16, (red - luma) * 23 / 32);
}

/// The bins of a frame's pixels, in the host's memory. RGB is told by the weights of its luma;
/// other planes of colour are luma and chroma, as they come.
class ColorFrame {
 public:
  ColorFrame() = default;
  explicit ColorFrame(const MatrixView& frame);

  Size size() const { return size_; }
  /// That of a pixel, outside that of the nearest one.
  int bin_at(int x, int y) const {
    x = x < 0 ? 0 : x < size_.width ? x : size_.width - 1;
    y = y < 0 ? 0 : y < size_.height ? y : size_.height - 1;
    const auto value = [&](int i) -> int {
      const ColorPlane& plane = planes_[i];
      return static_cast<const std::uint8_t*>(
          plane.data)[(y >> plane.shift_y) * plane.pitch + (x >> plane.shift_x) * plane.step +
                      plane.position];
    };
    constexpr int no_chroma = 128;
    switch (colors_) {
      case Colors::rgb:
        return bin_of_rgb(value(0), value(1), value(2));
      case Colors::luma_chroma:
        return bin_of_color(value(0), value(1) - no_chroma, value(2) - no_chroma);
      default:
        return bin_of_gray(value(0));
    }
  }

 private:
  enum class Colors { none, rgb, luma_chroma };
  Size size_;
  Colors colors_ = Colors::none;
  ColorPlane planes_[color_planes];  ///< of a gray picture the first one
};

}  // namespace xcorr::tracker
