// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/color_frame.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace xcorr::tracker {

ColorFrame::ColorFrame(const MatrixView& frame) : size_(frame.size) {
  constexpr PixelLayout rgb = packed_rgb(3, 0, 1, 2);
  const auto& weights = frame.pixels.weights;
  const int bytes = frame.pixels.bytes;
  const auto packed = [&](std::ptrdiff_t position) {
    return ColorPlane{frame.data, frame.pitch, bytes, static_cast<int>(position)};
  };
  if (bytes >= 3 && std::ranges::is_permutation(
                        std::span(weights).first(bytes),
                        bytes == 3 ? std::span(rgb.weights).first(3) : std::span(rgb.weights))) {
    colors_ = Colors::rgb;
    for (int i = 0; i < color_planes; ++i)
      planes_[i] = packed(std::ranges::find(weights, rgb.weights[i]) - std::begin(weights));
  } else if (frame.has_color()) {
    colors_ = Colors::luma_chroma;
    std::ranges::copy(frame.color, planes_);
  } else {
    planes_[0] = packed(std::ranges::max_element(weights) - std::begin(weights));
  }
}

}  // namespace xcorr::tracker
