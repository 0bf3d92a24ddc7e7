// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixel formats that elements take in `memory:NVMM`, by the numbers that an NvBufSurface has
// for them: those that NVIDIA's own elements exchange. Several numbers are one format with another
// range or matrix, which the caps say.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <gst/video/video.h>

namespace cudaxcorr::nvmm {

struct ColorFormat {
  std::int32_t number;  ///< of NvBufSurfaceColorFormat
  GstVideoFormat format;
};

inline constexpr ColorFormat color_formats[] = {
    {1, GST_VIDEO_FORMAT_GRAY8},      {2, GST_VIDEO_FORMAT_I420},
    {4, GST_VIDEO_FORMAT_I420},       {6, GST_VIDEO_FORMAT_NV12},
    {7, GST_VIDEO_FORMAT_NV12},       {19, GST_VIDEO_FORMAT_RGBA},
    {24, GST_VIDEO_FORMAT_BGRx},      {29, GST_VIDEO_FORMAT_P010_10LE},
    {31, GST_VIDEO_FORMAT_I420},      {32, GST_VIDEO_FORMAT_I420},
    {33, GST_VIDEO_FORMAT_NV12},      {34, GST_VIDEO_FORMAT_NV12},
    {35, GST_VIDEO_FORMAT_I420},      {36, GST_VIDEO_FORMAT_NV12},
    {37, GST_VIDEO_FORMAT_P010_10LE}, {38, GST_VIDEO_FORMAT_P010_10LE},
    {39, GST_VIDEO_FORMAT_P010_10LE}, {40, GST_VIDEO_FORMAT_P010_10LE},
};

constexpr bool has(GstVideoFormat format) {
  return std::ranges::find(color_formats, format, &ColorFormat::format) != std::end(color_formats);
}

/// Of what the elements do not take, unknown.
constexpr GstVideoFormat format_of(std::int32_t number) {
  const auto* const found = std::ranges::find(color_formats, number, &ColorFormat::number);
  return found == std::end(color_formats) ? GST_VIDEO_FORMAT_UNKNOWN : found->format;
}

}  // namespace cudaxcorr::nvmm
