// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The colour of pixels in bins, for histograms: by luma and chroma, finer where chroma is low, as
// in most of a picture. Gray pictures have bins by luma alone. All in integers.
#pragma once

#include <span>

#include "stages/tracker/colors.hpp"

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

/// A frame whose pixels are read in colour where they lie. RGB is told by the weights of its luma;
/// other planes of colour are luma and chroma, as they come.
class ColorFrame {
 public:
  explicit ColorFrame(const MatrixView& frame);

  const ColorLayout& layout() const { return layout_; }
  /// Of its luma: a pixel of the first plane.
  const PixelLayout& luma() const { return luma_; }
  /// As many as the layout's.
  std::span<const ColorPlane> planes() const {
    return std::span(planes_).first(static_cast<std::size_t>(layout_.count()));
  }

  /// The bin of a pixel in the host's memory, outside that of the nearest one.
  int bin_at(int x, int y) const {
    const auto [luma, blue, red] = layout_.at(whole_, pixels_, x, y);
    return layout_.colors == Colors::none ? bin_of_gray(luma) : bin_of_color(luma, blue, red);
  }

 private:
  Rect whole_;
  ColorLayout layout_;
  PixelLayout luma_;
  ColorPlane planes_[color_planes];
  const std::uint8_t* pixels_[color_planes] = {};
};

}  // namespace xcorr::tracker
