// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is matched of a template. Its picture is converted to the pipeline's format and colorimetry,
// and its luma then computed as the frames' is: an exact copy scores 1 in every format.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "matching/templates.h"

namespace cudaxcorr {

/// Dense 8-bit luma.
struct LumaImage {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;
  Mask mask{};

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    return {pixels.data(), xcorr::ElementType::u8, size, size.width};
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

/// The luma of a matrix in host memory.
LumaImage luma_of(const xcorr::MatrixView& view);

/// For each image of `after`, the index of one in `before` that has its pixels, if any, and its
/// mask if possible. Each is used once.
std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before);

/// The picture's luma, as a pipeline of that format has it, and mask. Empty if it cannot be
/// converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture);

}  // namespace cudaxcorr
