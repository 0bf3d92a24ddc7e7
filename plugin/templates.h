// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Template files. The picture is kept as decoded and converted to the pipeline's own format and
// colorimetry when that is known, so that its luma comes about as the frames' does and an exact
// copy scores 1 in every format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/types.hpp>

#include "decode.h"
#include "fault.h"

namespace cudaxcorr {

struct Picture {
  std::string file;
  std::string label;  ///< the file's base name without its extension
  Sample sample;
};

using Pictures = std::vector<std::shared_ptr<const Picture>>;

/// The templates in the order of their indices: those of `template`, then those of `templates`.
struct Bank {
  Pictures single, several;

  std::size_t size() const { return single.size() + several.size(); }
  const Picture& operator[](std::size_t index) const {
    return index < single.size() ? *single[index] : *several[index - single.size()];
  }
};

/// Decodes the files; blocks for as long as that takes. Empty with `fault` (RESOURCE/OPEN_READ,
/// naming the file) when one of them cannot be.
std::optional<Pictures> load(const std::vector<std::string>& files, Fault& fault);

/// Dense 8-bit luma.
struct LumaImage {
  xcorr::Size size;
  std::vector<std::uint8_t> pixels;

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    return {pixels.data(), xcorr::ElementType::u8, size, size.width};
  }
};

/// The luma that the picture has in a pipeline of that format. Empty when it cannot be converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& format, const Picture& picture);

}  // namespace cudaxcorr
