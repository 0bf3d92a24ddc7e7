// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/color_frame.hpp"

#include <algorithm>
#include <iterator>

namespace xcorr::tracker {

ColorFrame::ColorFrame(const MatrixView& frame) : luma_(frame.pixels) {
  constexpr PixelLayout rgb = packed_rgb(3, 0, 1, 2);
  const auto& weights = frame.pixels.weights;
  const int bytes = frame.pixels.bytes;
  const auto packed = [&](std::ptrdiff_t position) {
    return ColorPlane{frame.data, frame.pitch, bytes, static_cast<int>(position)};
  };
  if (bytes >= 3 && std::ranges::is_permutation(
                        std::span(weights).first(bytes),
                        bytes == 3 ? std::span(rgb.weights).first(3) : std::span(rgb.weights))) {
    layout_.colors = Colors::rgb;
    for (int i = 0; i < color_planes; ++i)
      planes_[i] = packed(std::ranges::find(weights, rgb.weights[i]) - std::begin(weights));
  } else if (frame.has_color()) {
    layout_.colors = Colors::luma_chroma;
    std::ranges::copy(frame.color, planes_);
    luma_ = packed_luma(planes_[0].step, planes_[0].position);
  } else {
    planes_[0] = packed(std::ranges::max_element(weights) - std::begin(weights));
  }
  for (int i = 0; i < layout_.count(); ++i) {
    const auto& [_, pitch, step, position, shift_x, shift_y] = planes_[i];
    layout_.planes[i] = {pitch, step, position, shift_x, shift_y};
  }
}

}  // namespace xcorr::tracker
