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

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    return {pixels.data(), xcorr::ElementType::u8, size, size.width};
  }
};

/// For each image of `after`, the index of an equal one in `before`, if any. Each is used once.
std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before);

/// The picture's luma as a pipeline of that format has it. Empty if it cannot be converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture);

}  // namespace cudaxcorr
