// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/upper_bytes.h"

#include <new>
#include <utility>

namespace cudaxcorr {
namespace {

/// Planes of words as planes of bytes.
struct UpperBytes : LentPlanes {
  explicit UpperBytes(const GstVideoFrame& words) {
    width = GST_VIDEO_FRAME_WIDTH(&words);
    height = GST_VIDEO_FRAME_HEIGHT(&words);
    for (guint i = 0; i < GST_VIDEO_FRAME_N_COMPONENTS(&words); ++i) {
      const int columns = GST_VIDEO_FRAME_COMP_WIDTH(&words, i),
                rows = GST_VIDEO_FRAME_COMP_HEIGHT(&words, i);
      const gsize size = gsize(columns) * rows;
      bytes[i].reset(new (std::nothrow) guint8[size]);
      if (!bytes[i]) {
        fault = "there is no memory for its upper bytes";
        return;
      }
      planes[i] = {bytes[i].get(), columns, size};
      const int shift = GST_VIDEO_FRAME_COMP_DEPTH(&words, i) - 8;
      const guint8* from = GST_VIDEO_FRAME_COMP_DATA(&words, i);
      guint8* to = bytes[i].get();
      for (int y = 0; y < rows; ++y, from += GST_VIDEO_FRAME_COMP_STRIDE(&words, i), to += columns)
        for (int x = 0; x < columns; ++x)
          to[x] = static_cast<guint8>((from[2 * x] | from[2 * x + 1] << 8) >> shift);
    }
  }

  std::unique_ptr<guint8[]> bytes[GST_VIDEO_MAX_COMPONENTS];
};

}  // namespace

bool lacks_upper_bytes(const GstVideoInfo& info) {
  return GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_I420_10LE;
}

GstVideoInfo color_info(const GstVideoInfo& info) {
  if (!lacks_upper_bytes(info)) return info;
  GstVideoInfo bytes = info;
  gst_video_info_set_format(&bytes, GST_VIDEO_FORMAT_I420, info.width, info.height);
  bytes.colorimetry = info.colorimetry;
  bytes.chroma_site = info.chroma_site;
  return bytes;
}

std::unique_ptr<MappedFrame> in_upper_bytes(std::unique_ptr<MappedFrame> mapped,
                                            GstBuffer* buffer) {
  if (!*mapped || !lacks_upper_bytes(mapped->frame.info)) return mapped;
  GstVideoInfo info = color_info(mapped->frame.info);
  info.width = mapped->visible.w;
  info.height = mapped->visible.h;
  return std::make_unique<MappedFrame>(info, buffer, std::make_unique<UpperBytes>(mapped->frame));
}

}  // namespace cudaxcorr
