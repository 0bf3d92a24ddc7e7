// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/capture.h"

#include <cstdint>
#include <string>

#include <xcorr/image.hpp>

#include "common/mapped_frame.h"
#include "common/new_buffer.h"
#include "matching/frame.h"
#include "matching/luma_image.h"

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

}  // namespace

Sample capture(GstSample* frame, const xcorr::Rect& patch, Fault& fault) {
  const auto refuse = [&](const std::string& text) {
    fault = {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS, "Cannot capture a template: " + text};
    return nullptr;
  };
  GstVideoInfo info;
  gst_video_info_from_caps(&info, gst_sample_get_caps(frame));
  const auto inside = [](int begin, int length, int end) {
    return begin >= 0 && length > 0 && begin < end && length <= end - begin;
  };
  if (!inside(patch.x, patch.width, info.width) || !inside(patch.y, patch.height, info.height)) {
    return refuse(text_of(patch) + " are not inside the frame of " + std::to_string(info.width) +
                  "x" + std::to_string(info.height));
  }
  const MappedFrame mapped(info, gst_sample_get_buffer(frame), GST_MAP_READ);
  if (!mapped) return refuse(std::string("of the frame, ") + mapped.fault());
  if (const char* unread = fault_of_luma(mapped))
    return refuse(std::string("of the frame, ") + unread);
  xcorr::MatrixView view = luma_view(mapped);
  view.data = static_cast<const std::uint8_t*>(view.data) + patch.y * view.pitch +
              patch.x * view.element_bytes();
  view.size = patch.size();
  if (xcorr::is_flat(view)) return refuse(text_of(patch) + " are flat");
  Sample sample = gray_sample(view, info);
  return sample ? sample : refuse("there is no memory for " + text_of(patch));
}

}  // namespace cudaxcorr
