// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/frame.h"

namespace cudaxcorr {
namespace {

/// The place of a component's upper byte, its only one in frames of 8 bits, among a pixel's. Words
/// are little-endian; in P010_10LE GStreamer 1.22 has the second one of chroma begin at byte 1.
int position_of(const GstVideoInfo& info, int component) {
  const int offset = GST_VIDEO_INFO_COMP_POFFSET(&info, component);
  return GST_VIDEO_INFO_COMP_DEPTH(&info, component) > 8 ? (offset + 1) / 2 * 2 + 1 : offset;
}

/// Where a pixel's components are among its bytes.
xcorr::PixelLayout layout_of(const GstVideoInfo& info) {
  const int bytes = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
  const auto position = [&](int component) { return position_of(info, component); };
  return GST_VIDEO_INFO_IS_RGB(&info)
             ? xcorr::packed_rgb(bytes, position(0), position(1), position(2))
             : xcorr::packed_luma(bytes, position(0));
}

xcorr::ColorPlane color_plane(const MappedFrame& mapped, int component) {
  const GstVideoFrame& frame = mapped.frame;
  const int shift_x = frame.info.finfo->w_sub[component],
            shift_y = frame.info.finfo->h_sub[component];
  const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
  const std::ptrdiff_t pitch = GST_VIDEO_FRAME_COMP_STRIDE(&frame, component);
  const int plane = GST_VIDEO_FRAME_COMP_PLANE(&frame, component);
  const auto* const data =
      static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, plane));
  return {data + (mapped.visible.y >> shift_y) * pitch + (mapped.visible.x >> shift_x) * step,
          pitch,
          step,
          position_of(frame.info, component),
          shift_x,
          shift_y};
}

}  // namespace

bool has_color(const GstVideoInfo& info) { return !GST_VIDEO_INFO_IS_GRAY(&info); }

bool can_match_on(xcorr::MatchOn match_on, const GstVideoInfo& info) {
  switch (match_on) {
    case xcorr::MatchOn::color:
      return has_color(info);
    case xcorr::MatchOn::edges:
    case xcorr::MatchOn::color_edges:  // of gray frames their own
      return luma_type(info, xcorr::is_in_color(match_on)) == xcorr::ElementType::u8;
    case xcorr::MatchOn::luma:
      break;
  }
  return true;
}

xcorr::ElementType luma_type(const GstVideoInfo& info, bool in_color) {
  const bool is_deep = GST_VIDEO_INFO_COMP_DEPTH(&info, 0) > 8;
  return is_deep && !(in_color && has_color(info)) ? xcorr::ElementType::u16
                                                   : xcorr::ElementType::u8;
}

int levels_of_gray(const GstVideoInfo& info) {
  return 1 << (GST_VIDEO_INFO_COMP_DEPTH(&info, 0) - 8 + info.finfo->shift[0]);
}

const char* fault_of_luma(const MappedFrame& mapped) {
  if (luma_type(mapped.frame.info) == xcorr::ElementType::u8) return nullptr;
  const auto stride = GST_VIDEO_FRAME_PLANE_STRIDE(&mapped.frame, 0);
  const auto begin = reinterpret_cast<guintptr>(GST_VIDEO_FRAME_PLANE_DATA(&mapped.frame, 0));
  if (stride < 0) return "its 16-bit rows lie from the last to the first";
  return begin % 2 || stride % 2 ? "its 16-bit pixels begin at odd addresses" : nullptr;
}

xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory, bool in_color) {
  const GstVideoFrame& frame = mapped.frame;
  const xcorr::ElementType type = luma_type(frame.info, in_color);
  const bool is_of_bytes = type == xcorr::ElementType::u8;
  xcorr::MatrixView view{GST_VIDEO_FRAME_PLANE_DATA(&frame, 0),
                         type,
                         {mapped.visible.w, mapped.visible.h},
                         GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                         memory,
                         is_of_bytes ? layout_of(frame.info) : xcorr::PixelLayout()};
  view.data = static_cast<const std::uint8_t*>(view.data) + mapped.visible.y * view.pitch +
              mapped.visible.x * view.element_bytes();
  if (is_of_bytes && has_color(frame.info))
    for (int i = 0; i < xcorr::color_planes; ++i) view.color[i] = color_plane(mapped, i);
  return view;
}

}  // namespace cudaxcorr
