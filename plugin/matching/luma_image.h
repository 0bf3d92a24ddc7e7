// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is matched of a template. Its image is converted to the pipeline's format and colorimetry,
// and its luma then computed as the frames' is: an exact copy scores 1 in every format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "matching/templates.h"

namespace cudaxcorr {

/// Dense luma.
struct LumaImage {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;                  ///< the bytes of their elements
  xcorr::ElementType type = xcorr::ElementType::u8;  ///< or u16
  Mask mask{};

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    return {pixels.data(), type, size, size.width * std::ptrdiff_t(xcorr::size_of(type))};
  }
  int operator[](std::size_t pixel) const {
    if (type == xcorr::ElementType::u8) return pixels[pixel];
    std::uint16_t word;
    std::memcpy(&word, &pixels[2 * pixel], sizeof word);
    return word;
  }
  /// Without data if all pixels count.
  xcorr::MatrixView mask_view() const {
    if (mask.empty()) return {};
    return {mask.data(), xcorr::ElementType::u8, size, size.width};
  }
  bool counts(std::size_t pixel) const { return mask.empty() || mask[pixel]; }
  /// Whether all pixels that count are equal.
  bool is_flat() const;
};

/// Writes the luma of a matrix, row by row, `pitch` bytes apart. Both are in host memory.
void write_luma(const xcorr::MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch);

/// The luma of a matrix in host memory.
LumaImage luma_of(const xcorr::MatrixView& view);

/// For each image of `after`, the index of one in `before` that has its pixels, if any, and its
/// mask if possible. Each is used once.
std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before);

/// The image's luma, as a pipeline of that format has it, and mask. Empty if it cannot be
/// converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& format, const LoadedImage& image);

}  // namespace cudaxcorr
