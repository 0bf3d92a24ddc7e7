// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tracking/filters/color_frame.hpp"

#include <algorithm>
#include <iterator>
#include <span>

namespace xcorr::tracker {

/// Packed RGB is told by the weights of its luma.
ColorFrame::ColorFrame(const MatrixView& frame)
    : size_(frame.size),
      pixels_(static_cast<const std::uint8_t*>(frame.data)),
      pitch_(frame.pitch),
      bytes_(frame.pixels.bytes) {
  constexpr PixelLayout rgb = packed_rgb(3, 0, 1, 2);
  const auto& weights = frame.pixels.weights;
  const auto place_of = [&](int weight) {
    return static_cast<int>(std::ranges::find(weights, weight) - std::begin(weights));
  };
  colored_ =
      bytes_ >= 3 && std::ranges::is_permutation(
                         std::span(weights).first(bytes_),
                         bytes_ == 3 ? std::span(rgb.weights).first(3) : std::span(rgb.weights));
  for (int i = 0; i < 3; ++i)
    places_[i] = colored_ ? place_of(rgb.weights[i])
                          : static_cast<int>(std::ranges::max_element(weights) - weights);
}

}  // namespace xcorr::tracker
