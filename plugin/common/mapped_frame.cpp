// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/mapped_frame.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <utility>

namespace cudaxcorr {

/// Whole pixels, whether or not a component fills them.
PlaneRows rows_of(const GstVideoFormatInfo& format, guint plane, int width, int height) {
  PlaneRows rows{0, 0};
  for (guint c = 0; c < format.n_components; ++c) {
    if (format.plane[c] != plane) continue;
    const gint64 count = GST_VIDEO_FORMAT_INFO_SCALE_HEIGHT(&format, c, height);
    const gint64 pixels = GST_VIDEO_FORMAT_INFO_SCALE_WIDTH(&format, c, width);
    rows = {std::max(rows.count, count), std::max(rows.bytes, pixels * format.pixel_stride[c])};
  }
  return rows;
}

namespace {

/// Whether the pixels of each plane lie beside each other, a whole number of bytes apart.
bool has_plain_rows(const GstVideoFormatInfo& format) {
  for (guint c = 0; c < format.n_components; ++c)
    if (format.pixel_stride[c] <= 0) return false;
  return !GST_VIDEO_FORMAT_INFO_IS_TILED(&format) && !GST_VIDEO_FORMAT_INFO_HAS_PALETTE(&format);
}

/// Whether the bytes from `first` to `end`, relative to the offset, are in the memory that is
/// mapped for a plane at that offset.
bool holds(GstBuffer* buffer, gsize offset, gint64 first, gint64 end) {
  guint index, count;
  gsize skip;
  if (!gst_buffer_find_memory(buffer, offset, 1, &index, &count, &skip)) return false;
  const auto before = static_cast<gint64>(skip);
  const auto size = static_cast<gint64>(
      gst_buffer_get_sizes_range(buffer, index, static_cast<gint>(count), nullptr, nullptr));
  return before + first >= 0 && before + end <= size;
}

bool holds_planes(const GstVideoMeta& meta, const GstVideoFormatInfo& format, GstBuffer* buffer) {
  for (guint plane = 0; plane < meta.n_planes; ++plane) {
    const gint64 stride = meta.stride[plane];
    const PlaneRows rows =
        rows_of(format, plane, static_cast<int>(meta.width), static_cast<int>(meta.height));
    const gint64 last = (rows.count - 1) * stride;
    if (std::abs(stride) < rows.bytes ||
        !holds(buffer, meta.offset[plane], std::min<gint64>(last, 0),
               std::max<gint64>(last, 0) + rows.bytes))
      return false;
  }
  return true;
}

/// Tiles and the like are read only as the caps lay them out.
bool is_as_in_caps(const GstVideoMeta& meta, const GstVideoInfo& info, GstBuffer* buffer) {
  if (static_cast<int>(meta.width) != info.width || static_cast<int>(meta.height) != info.height)
    return false;
  for (guint plane = 0; plane < meta.n_planes; ++plane) {
    const gsize begin = info.offset[plane];
    gsize end = info.size;
    for (guint other = 0; other < meta.n_planes; ++other)
      if (info.offset[other] > begin) end = std::min(end, info.offset[other]);
    if (meta.stride[plane] != info.stride[plane] ||
        !holds(buffer, meta.offset[plane], 0, static_cast<gint64>(end - begin)))
      return false;
  }
  return true;
}

const char* fault_of_meta(const GstVideoMeta& meta, const GstVideoInfo& info, GstBuffer* buffer) {
  if (meta.format != GST_VIDEO_INFO_FORMAT(&info) || meta.n_planes != info.finfo->n_planes)
    return "its GstVideoMeta is of another format than its caps";
  if (meta.width > INT_MAX || meta.height > INT_MAX || static_cast<int>(meta.width) < info.width ||
      static_cast<int>(meta.height) < info.height)
    return "its GstVideoMeta is smaller than its caps";
  const bool good = has_plain_rows(*info.finfo) ? holds_planes(meta, *info.finfo, buffer)
                                                : is_as_in_caps(meta, info, buffer);
  return good ? nullptr : "its GstVideoMeta says more than it holds";
}

/// In a frame of that size.
const char* fault_of_crop(const GstVideoCropMeta& crop, const GstVideoInfo& info, int width,
                          int height) {
  if (static_cast<gint64>(crop.width) != info.width ||
      static_cast<gint64>(crop.height) != info.height)
    return "its GstVideoCropMeta is of another size than its caps";
  if (gint64{crop.x} + crop.width > width || gint64{crop.y} + crop.height > height)
    return "its GstVideoCropMeta reaches outside of it";
  return nullptr;
}

/// Where the image is in a frame of that size, or why it is nowhere.
const char* find_visible(const GstVideoInfo& info, GstBuffer* buffer, int width, int height,
                         GstVideoRectangle& visible) {
  visible = {0, 0, info.width, info.height};
  if (const GstVideoCropMeta* crop = gst_buffer_get_video_crop_meta(buffer)) {
    if (const char* fault = fault_of_crop(*crop, info, width, height)) return fault;
    visible.x = static_cast<int>(crop->x);
    visible.y = static_cast<int>(crop->y);
  }
  return nullptr;
}

const char* fault_of_lent(const LentPlanes& lent, const GstVideoInfo& info, GstBuffer* buffer,
                          GstVideoRectangle& visible) {
  if (lent.fault) return lent.fault;
  if (lent.width < info.width || lent.height < info.height)
    return "its surface is smaller than its caps";
  if (const char* fault = fault_of_planes(lent, *info.finfo)) return fault;
  return find_visible(info, buffer, lent.width, lent.height, visible);
}

}  // namespace

const char* fault_of_frame(const GstVideoInfo& info, GstBuffer* buffer,
                           GstVideoRectangle& visible) {
  int width = info.width, height = info.height;
  if (const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer)) {
    if (const char* fault = fault_of_meta(*meta, info, buffer)) return fault;
    width = static_cast<int>(meta->width);
    height = static_cast<int>(meta->height);
  } else if (gst_buffer_get_size(buffer) < info.size) {
    return "it is too small for its caps";
  }
  return find_visible(info, buffer, width, height, visible);
}

const char* fault_of_planes(const LentPlanes& lent, const GstVideoFormatInfo& format) {
  for (guint plane = 0; plane < format.n_planes; ++plane) {
    const PlaneRows rows = rows_of(format, plane, lent.width, lent.height);
    const auto& [data, stride, size] = lent.planes[plane];
    if (!data || stride < rows.bytes ||
        (rows.count - 1) * stride + rows.bytes > static_cast<gint64>(size))
      return "its surface says more than it holds";
  }
  return nullptr;
}

MappedFrame::MappedFrame(const GstVideoInfo& info, GstBuffer* buffer, GstMapFlags flags)
    : fault_(fault_of_frame(info, buffer, visible)) {
  if (!fault_ && !gst_video_frame_map(&frame, &info, buffer, flags))
    fault_ = "its memory cannot be mapped";
}

MappedFrame::MappedFrame(const GstVideoInfo& info, GstBuffer* buffer,
                         std::unique_ptr<LentPlanes> lent)
    : frame{}, lent_(std::move(lent)), fault_(fault_of_lent(*lent_, info, buffer, visible)) {
  frame.info = info;
  frame.info.width = lent_->width;
  frame.info.height = lent_->height;
  for (guint plane = 0; plane < info.finfo->n_planes; ++plane) {
    frame.data[plane] = lent_->planes[plane].data;
    frame.info.offset[plane] = 0;
    frame.info.stride[plane] = lent_->planes[plane].stride;
  }
}

MappedFrame::~MappedFrame() {
  if (!fault_ && !lent_) gst_video_frame_unmap(&frame);
}

}  // namespace cudaxcorr
