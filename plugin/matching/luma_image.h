// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is matched of a template. Its image is converted to the pipeline's format and colorimetry,
// and its luma then computed as the frames' is: an exact copy scores 1 in every format. So are the
// planes of its colour, which are converted without subsampling, since chroma of the frame may
// begin anywhere; those of an image that has the frames' luma and chroma are taken as they are.
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
  std::vector<std::uint8_t> color{};  ///< its planes, one after the other, if they are matched on

  bool operator==(const LumaImage&) const = default;
  xcorr::MatrixView view() const {
    xcorr::MatrixView view{pixels.data(), type, size,
                           size.width * std::ptrdiff_t(xcorr::size_of(type))};
    for (int i = 0; !color.empty() && i < xcorr::color_planes; ++i)
      view.color[i] = {color.data() + i * size.area(), size.width};
    return view;
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
  /// The standard deviation of the pixels that count; if colour is matched on, that of the
  /// component which has most.
  double contrast() const;
  /// Whether all of these are equal.
  bool is_flat() const { return contrast() == 0; }
};

/// Writes the luma of a matrix, row by row, `pitch` bytes apart. Both are in host memory.
void write_luma(const xcorr::MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch);

/// Writes the planes of its colour, dense, one after the other; and the format in which a frame of
/// one has them all: itself, or without subsampling.
void write_color(const xcorr::MatrixView& view, std::uint8_t* to);
GstVideoInfo whole_chroma(const GstVideoInfo& format);

/// The luma of a matrix in host memory.
LumaImage luma_of(const xcorr::MatrixView& view);

/// For each image of `after`, the index of one in `before` that has its pixels, if any, and its
/// mask if possible. Each is used once.
std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before);

/// The image's luma, as a pipeline of these frames has it, and mask; `in_color`: and its colour,
/// their components. Empty if it cannot be converted.
std::optional<LumaImage> luma_in(const GstVideoInfo& frames, const LoadedImage& image,
                                 bool in_color = false);

}  // namespace cudaxcorr
