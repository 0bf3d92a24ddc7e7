// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sizes in words, and the limits on them, which are asked before an image is decoded and when it
// is used.
#pragma once

#include <cstdint>
#include <string>

#include <xcorr/types.hpp>

namespace cudaxcorr {

inline std::string text_of(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}
inline std::string text_of(xcorr::Size size) { return text_of(size.width, size.height); }

/// The limit of images that are no templates: references and masks of fields.
constexpr unsigned max_frame_pixels = 1U << 26;

/// Why an image of that size is refused, or empty. No side is longer than the limit, so that the
/// product of two 32-bit numbers is never too large for 64 bits.
inline std::string excess_of(std::int64_t width, std::int64_t height, unsigned max_pixels) {
  if (width <= max_pixels && height <= max_pixels && width * height <= max_pixels) return {};
  return "it has " + text_of(width, height) + " pixels, more than the " +
         std::to_string(max_pixels) +
         (max_pixels == max_frame_pixels ? " that an image may have" : " of 'max-template-pixels'");
}

}  // namespace cudaxcorr
