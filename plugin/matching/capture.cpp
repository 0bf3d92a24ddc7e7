// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/capture.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xcorr/image.hpp>

#include "common/mapped_frame.h"
#include "common/new_buffer.h"
#include "matching/frame.h"
#include "matching/incoming.h"
#include "matching/luma_image.h"
#include "matching/upper_bytes.h"

namespace cudaxcorr {
namespace {

std::string text_of(const xcorr::Rect& rect) {
  return std::to_string(rect.width) + "x" + std::to_string(rect.height) + " pixels at " +
         std::to_string(rect.x) + "," + std::to_string(rect.y);
}

/// For YUV frames the gray image takes over range and matrix, so that its luma means the same.
/// The luma of RGB frames has full range, as gray has by default.
Sample gray_sample(const xcorr::MatrixView& patch, const GstVideoInfo& frame) {
  GstVideoInfo info;
  const bool deep = patch.type == xcorr::ElementType::u16;
  gst_video_info_set_format(&info, deep ? GST_VIDEO_FORMAT_GRAY16_LE : GST_VIDEO_FORMAT_GRAY8,
                            patch.size.width, patch.size.height);
  if (!GST_VIDEO_INFO_IS_RGB(&frame)) info.colorimetry = frame.colorimetry;
  GstBuffer* buffer = new_buffer(info.size);
  if (!buffer) return nullptr;
  if (MappedFrame mapped(info, buffer, GST_MAP_WRITE); mapped) {
    auto* const to = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&mapped.frame, 0));
    const int pitch = GST_VIDEO_FRAME_PLANE_STRIDE(&mapped.frame, 0);
    write_luma(patch, to, pitch);
    // Words of 10 bits may be low ones; those of the image are of 16.
    for (int y = 0; deep && y < patch.size.height; ++y)
      for (int x = 0; x < patch.size.width; ++x) {
        auto& word = reinterpret_cast<std::uint16_t*>(to + y * pitch)[x];
        word = static_cast<std::uint16_t>(word * 256 / levels_of_gray(frame));
      }
  }
  GstCaps* caps = gst_video_info_to_caps(&info);
  Sample sample = take_sample(gst_sample_new(buffer, caps, nullptr, nullptr));
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

/// In RGB or Y444, of the frame's range and matrix.
Sample color_sample(const xcorr::MatrixView& patch, const GstVideoInfo& frame) {
  GstVideoInfo info;
  const bool is_rgb = GST_VIDEO_INFO_IS_RGB(&frame);
  gst_video_info_set_format(&info, is_rgb ? GST_VIDEO_FORMAT_RGB : GST_VIDEO_FORMAT_Y444,
                            patch.size.width, patch.size.height);
  info.colorimetry = frame.colorimetry;
  GstBuffer* buffer = new_buffer(info.size);
  if (!buffer) return nullptr;
  if (MappedFrame mapped(info, buffer, GST_MAP_WRITE); mapped) {
    const auto area = static_cast<std::size_t>(patch.size.area());
    std::vector<std::uint8_t> planes(xcorr::color_planes * area);
    write_color(patch, planes.data());
    for (int i = 0; i < xcorr::color_planes; ++i) {
      auto* const to = static_cast<std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&mapped.frame, i));
      const int pitch = GST_VIDEO_FRAME_COMP_STRIDE(&mapped.frame, i);
      const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&mapped.frame, i);
      const std::uint8_t* from = planes.data() + i * area;
      for (int y = 0; y < patch.size.height; ++y)
        for (int x = 0; x < patch.size.width; ++x) to[y * pitch + x * step] = *from++;
    }
  }
  GstCaps* caps = gst_video_info_to_caps(&info);
  Sample sample = take_sample(gst_sample_new(buffer, caps, nullptr, nullptr));
  gst_caps_unref(caps);
  gst_buffer_unref(buffer);
  return sample;
}

/// The part of a frame's view. Of chroma that the part begins in the middle of, all that is of it:
/// pixels then are one by one.
struct Part {
  xcorr::MatrixView view;
  std::vector<std::uint8_t> color;

  Part(const xcorr::MatrixView& frame, const xcorr::Rect& patch, bool in_color) : view(frame) {
    view.data = static_cast<const std::uint8_t*>(view.data) + patch.y * view.pitch +
                patch.x * view.element_bytes();
    view.size = patch.size();
    for (xcorr::ColorPlane& plane : view.color) plane = {};
    if (!in_color || !frame.has_color()) return;
    const auto area = static_cast<std::size_t>(view.size.area());
    color.resize(xcorr::color_planes * area);
    for (int i = 0; i < xcorr::color_planes; ++i) {
      const xcorr::ColorPlane& plane = frame.color[i];
      std::uint8_t* to = color.data() + i * area;
      for (int y = patch.y; y < patch.y + patch.height; ++y)
        for (int x = patch.x; x < patch.x + patch.width; ++x)
          *to++ = static_cast<const std::uint8_t*>(
              plane.data)[(y >> plane.shift_y) * plane.pitch + (x >> plane.shift_x) * plane.step +
                          plane.position];
      view.color[i] = {color.data() + i * area, patch.width};
    }
  }
  bool is_flat() const {
    if (!view.has_color()) return xcorr::is_flat(view);
    for (const xcorr::ColorPlane& plane : view.color)
      if (!xcorr::is_flat({plane.data, view.type, view.size, plane.pitch})) return false;
    return true;
  }
};

}  // namespace

Sample capture(GstSample* frame, const xcorr::Rect& patch, bool in_color, Fault& fault) {
  const auto refuse = [&](const std::string& text) {
    fault = {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "Cannot capture a template: " + text};
    return nullptr;
  };
  FrameCaps caps;
  caps.set(gst_sample_get_caps(frame));
  const GstVideoInfo& info = caps.info;
  const auto inside = [](int begin, int length, int end) {
    return begin >= 0 && length > 0 && begin < end && length <= end - begin;
  };
  if (!inside(patch.x, patch.width, info.width) || !inside(patch.y, patch.height, info.height)) {
    return refuse(text_of(patch) + " are not inside the frame of " + std::to_string(info.width) +
                  "x" + std::to_string(info.height));
  }
  GstBuffer* const buffer = gst_sample_get_buffer(frame);
  auto mapped = map_on_host(caps, buffer);
  if (in_color) mapped = in_upper_bytes(std::move(mapped), buffer);
  if (!*mapped) return refuse(std::string("of the frame, ") + mapped->fault());
  if (const char* unread = fault_of_luma(*mapped))
    return refuse(std::string("of the frame, ") + unread);
  const Part part(luma_view(*mapped, xcorr::Memory::host, in_color), patch, in_color);
  if (part.is_flat()) return refuse(text_of(patch) + " are flat");
  Sample sample =
      part.view.has_color() ? color_sample(part.view, info) : gray_sample(part.view, info);
  return sample ? sample : refuse("there is no memory for " + text_of(patch));
}

}  // namespace cudaxcorr
