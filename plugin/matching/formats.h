// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pixel formats that elements take: a new one is a row. Caps are made from the table, and so
// are the tests' lists; tests/docs compares it with docs/properties.md. Where the luma of a format
// lies is what GStreamer says.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include <gst/video/video.h>

namespace cudaxcorr {

struct PixelFormat {
  GstVideoFormat format;
  int bits;             ///< of its luma, 8 to 16
  bool in_cuda_memory;  ///< as GStreamer 1.22 has it there
};

/// All are taken in system memory.
inline constexpr PixelFormat pixel_formats[] = {
    {GST_VIDEO_FORMAT_GRAY8, 8, false},      {GST_VIDEO_FORMAT_NV12, 8, true},
    {GST_VIDEO_FORMAT_NV21, 8, true},        {GST_VIDEO_FORMAT_I420, 8, true},
    {GST_VIDEO_FORMAT_YV12, 8, true},        {GST_VIDEO_FORMAT_Y42B, 8, true},
    {GST_VIDEO_FORMAT_Y444, 8, true},        {GST_VIDEO_FORMAT_YUY2, 8, true},
    {GST_VIDEO_FORMAT_UYVY, 8, true},        {GST_VIDEO_FORMAT_RGB, 8, true},
    {GST_VIDEO_FORMAT_BGR, 8, true},         {GST_VIDEO_FORMAT_RGBx, 8, true},
    {GST_VIDEO_FORMAT_xRGB, 8, false},       {GST_VIDEO_FORMAT_BGRx, 8, true},
    {GST_VIDEO_FORMAT_xBGR, 8, false},       {GST_VIDEO_FORMAT_RGBA, 8, true},
    {GST_VIDEO_FORMAT_ARGB, 8, true},        {GST_VIDEO_FORMAT_BGRA, 8, true},
    {GST_VIDEO_FORMAT_ABGR, 8, true},        {GST_VIDEO_FORMAT_NV16, 8, false},
    {GST_VIDEO_FORMAT_GRAY16_LE, 16, false}, {GST_VIDEO_FORMAT_P010_10LE, 10, true},
    {GST_VIDEO_FORMAT_I420_10LE, 10, true},
};

constexpr bool is_of_8_bits(const PixelFormat& row) { return row.bits == 8; }
constexpr bool is_deep(const PixelFormat& row) { return row.bits > 8; }
constexpr bool is_in_cuda_memory(const PixelFormat& row) { return row.in_cuda_memory; }

/// Those rows of the table for which `holds` does, in their order.
template <bool (*holds)(const PixelFormat&)>
consteval auto formats_that() {
  std::array<GstVideoFormat, std::ranges::count_if(pixel_formats, holds)> formats;
  auto* next = formats.data();
  for (const PixelFormat& row : pixel_formats)
    if (holds(row)) *next++ = row.format;
  return formats;
}

}  // namespace cudaxcorr
