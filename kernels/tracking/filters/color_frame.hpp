// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the colours of a frame lie.
#pragma once

#include <span>

#include "stages/tracker/colors.hpp"

namespace xcorr::tracker {

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

 private:
  ColorLayout layout_;
  PixelLayout luma_;
  ColorPlane planes_[color_planes];
};

}  // namespace xcorr::tracker
