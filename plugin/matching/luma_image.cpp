// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/luma_image.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include <xcorr/image.hpp>

#include "common/mapped_frame.h"
#include "common/new_buffer.h"
#include "matching/formats.h"
#include "matching/frame.h"
#include "matching/upper_bytes.h"

namespace cudaxcorr {
namespace {

/// The pipeline's format at the image's size.
GstVideoInfo converted_info(const GstVideoInfo& format, const GstVideoInfo& image) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_INFO_FORMAT(&format), image.width, image.height);
  info.colorimetry = format.colorimetry;
  info.chroma_site = format.chroma_site;
  info.fps_n = image.fps_n;  // the converter refuses to change the rate
  info.fps_d = image.fps_d;
  return info;
}

bool convert(const MappedFrame& from, MappedFrame& to) {
  GstStructure* image = gst_structure_new(  //
      "image", GST_VIDEO_CONVERTER_OPT_SRC_X, G_TYPE_INT, from.visible.x,
      GST_VIDEO_CONVERTER_OPT_SRC_Y, G_TYPE_INT, from.visible.y, GST_VIDEO_CONVERTER_OPT_SRC_WIDTH,
      G_TYPE_INT, from.visible.w, GST_VIDEO_CONVERTER_OPT_SRC_HEIGHT, G_TYPE_INT, from.visible.h,
      nullptr);
  GstVideoConverter* converter = gst_video_converter_new(&from.frame.info, &to.frame.info, image);
  if (!converter) return false;
  gst_video_converter_frame(converter, &from.frame, &to.frame);
  gst_video_converter_free(converter);
  return true;
}

/// The same by a copy as GStreamer lays frames out itself.
bool convert_copy(const MappedFrame& from, MappedFrame& to) {
  const GstVideoInfo info = converted_info(from.frame.info, from.frame.info);
  GstBuffer* buffer = new_buffer(info.size);
  if (!buffer) return false;
  bool converted;
  {
    MappedFrame copy(info, buffer, GST_MAP_READWRITE);
    converted = copy && gst_video_frame_copy(&copy.frame, &from.frame);
    copy.visible = from.visible;
    converted = converted && convert(copy, to);
  }
  gst_buffer_unref(buffer);
  return converted;
}

/// Whether GStreamer 1.22's converter may crash at how the rows lie: from the last to the first, or
/// at addresses that are no multiples of its words, of up to eight bytes.
bool must_be_copied(const GstVideoFrame& frame) {
  for (guint plane = 0; plane < GST_VIDEO_FRAME_N_PLANES(&frame); ++plane) {
    const int stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane);
    const auto address =
        reinterpret_cast<std::uintptr_t>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
    if (stride < 0 || (address | static_cast<std::uintptr_t>(stride)) % 8) return true;
  }
  return false;
}

}  // namespace

double LumaImage::contrast() const {
  const auto area = static_cast<std::size_t>(size.area());
  const auto contrast_of = [&](const auto& value) {
    double count = 0, sum = 0, squares = 0;
    int first = 0;
    for (std::size_t i = 0; i < area; ++i) {
      if (!counts(i)) continue;
      if (count++ == 0) first = value(i);
      const double from_first = value(i) - first;  // 0 throughout if all are equal
      sum += from_first;
      squares += from_first * from_first;
    }
    return count == 0 ? 0 : std::sqrt(std::max(0.0, squares / count - sum * sum / (count * count)));
  };
  if (color.empty()) return contrast_of([&](std::size_t i) { return (*this)[i]; });
  double most = 0;
  for (std::size_t begin = 0; begin < color.size(); begin += area)
    most = std::max(most, contrast_of([&](std::size_t i) { return color[begin + i]; }));
  return most;
}

void write_luma(const xcorr::MatrixView& view, std::uint8_t* to, std::ptrdiff_t pitch) {
  if (view.type == xcorr::ElementType::u8) return xcorr::copy_luma(view, to, pitch);
  const std::size_t row = view.size.width * xcorr::size_of(view.type);
  for (int y = 0; y < view.size.height; ++y)
    std::memcpy(to + y * pitch, static_cast<const std::uint8_t*>(view.data) + y * view.pitch, row);
}

LumaImage luma_of(const xcorr::MatrixView& view) {
  const std::ptrdiff_t row = view.size.width * static_cast<std::ptrdiff_t>(size_of(view.type));
  LumaImage luma{view.size, std::vector<std::uint8_t>(row * view.size.height), view.type};
  write_luma(view, luma.pixels.data(), row);
  return luma;
}

std::vector<std::optional<std::size_t>> origins_of(const std::vector<LumaImage>& after,
                                                   const std::vector<LumaImage>& before) {
  std::vector<bool> taken(before.size());
  std::vector<std::optional<std::size_t>> origins(after.size());
  const auto pair_up = [&](const auto& belong_together) {
    for (std::size_t i = 0; i < after.size(); ++i)
      for (std::size_t j = 0; j < before.size() && !origins[i]; ++j) {
        if (taken[j] || !belong_together(after[i], before[j])) continue;
        origins[i] = j;
        taken[j] = true;
      }
  };
  pair_up(std::equal_to<LumaImage>());
  pair_up([](const LumaImage& a, const LumaImage& b) {
    return a.size == b.size && a.type == b.type && a.pixels == b.pixels && a.color == b.color;
  });
  return origins;
}

namespace {

/// Calls `read(view)` with the image as `target` has it; false if it cannot be converted.
/// `in_color`: as luma_view() takes it.
template <class Read>
bool read_in(const GstVideoInfo& target, const MappedFrame& image, bool in_color,
             const Read& read) {
  GstBuffer* buffer = new_buffer(target.size);
  if (!buffer) return false;
  bool done = false;
  {
    MappedFrame converted(target, buffer, GST_MAP_READWRITE);
    const auto conversion = must_be_copied(image.frame) ? convert_copy : convert;
    done = converted && conversion(image, converted);
    if (done) read(luma_view(converted, xcorr::Memory::host, in_color));
  }
  gst_buffer_unref(buffer);
  return done;
}

/// Whether the image has luma and chroma that can be read as those of frames, and mean the same.
bool has_components_of(const GstVideoInfo& frames, const GstVideoInfo& image) {
  const auto is_of_image = [&](const PixelFormat& row) {
    return row.format == GST_VIDEO_INFO_FORMAT(&image);
  };
  return GST_VIDEO_INFO_IS_YUV(&frames) && GST_VIDEO_INFO_IS_YUV(&image) && has_color(image) &&
         std::ranges::any_of(pixel_formats, is_of_image) &&
         gst_video_colorimetry_is_equal(&frames.colorimetry, &image.colorimetry);
}

}  // namespace

GstVideoInfo whole_chroma(const GstVideoInfo& format) {
  GstVideoInfo whole = format;
  if (GST_VIDEO_INFO_IS_RGB(&format)) return whole;
  gst_video_info_set_format(&whole, GST_VIDEO_FORMAT_Y444, format.width, format.height);
  whole.colorimetry = format.colorimetry;
  whole.fps_n = format.fps_n;
  whole.fps_d = format.fps_d;
  return whole;
}

void write_color(const xcorr::MatrixView& view, std::uint8_t* to) {
  for (const xcorr::ColorPlane& plane : view.color)
    for (int y = 0; y < view.size.height; ++y) {
      const auto* const row = static_cast<const std::uint8_t*>(plane.data) +
                              (y >> plane.shift_y) * plane.pitch + plane.position;
      for (int x = 0; x < view.size.width; ++x) *to++ = row[(x >> plane.shift_x) * plane.step];
    }
}

std::optional<LumaImage> luma_in(const GstVideoInfo& frames, const LoadedImage& image,
                                 bool in_color) {
  GstBuffer* const buffer = gst_sample_get_buffer(image.sample.get());
  auto decoded = std::make_unique<MappedFrame>(image.info(), buffer, GST_MAP_READ);
  if (in_color) decoded = in_upper_bytes(std::move(decoded), buffer);
  if (!*decoded) return std::nullopt;
  const GstVideoInfo info = in_color ? color_info(image.info()) : image.info();
  const GstVideoInfo format = in_color ? color_info(frames) : frames;
  std::optional<LumaImage> luma;
  if (!read_in(converted_info(format, info), *decoded, in_color,
               [&](const xcorr::MatrixView& view) { luma = luma_of(view); }))
    return std::nullopt;
  if (in_color && has_color(format)) {
    luma->color.resize(xcorr::color_planes * static_cast<std::size_t>(luma->size.area()));
    const auto write = [&](const xcorr::MatrixView& view) {
      write_color(view, luma->color.data());
    };
    // The converter would smooth chroma, which is read of frames as it comes.
    if (has_components_of(format, info))
      write(luma_view(*decoded, xcorr::Memory::host, in_color));
    else if (!read_in(converted_info(whole_chroma(format), info), *decoded, in_color, write))
      return std::nullopt;
  }
  luma->mask = image.mask;
  return luma;
}

}  // namespace cudaxcorr
