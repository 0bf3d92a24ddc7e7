// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/frame.h"

namespace cudaxcorr {
namespace {

/// Where a pixel's components are among its bytes.
xcorr::PixelLayout layout_of(const GstVideoInfo& info) {
  if (luma_type(info) == xcorr::ElementType::u16) return {};
  const int bytes = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
  const auto position = [&](int component) {
    return static_cast<int>(GST_VIDEO_INFO_COMP_POFFSET(&info, component));
  };
  return GST_VIDEO_INFO_IS_RGB(&info)
             ? xcorr::packed_rgb(bytes, position(0), position(1), position(2))
             : xcorr::packed_luma(bytes, position(0));
}

}  // namespace

xcorr::ElementType luma_type(const GstVideoInfo& info) {
  return GST_VIDEO_INFO_COMP_DEPTH(&info, 0) > 8 ? xcorr::ElementType::u16 : xcorr::ElementType::u8;
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

xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory) {
  const GstVideoFrame& frame = mapped.frame;
  xcorr::MatrixView view{GST_VIDEO_FRAME_PLANE_DATA(&frame, 0),
                         luma_type(frame.info),
                         {mapped.visible.w, mapped.visible.h},
                         GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                         memory,
                         layout_of(frame.info)};
  view.data = static_cast<const std::uint8_t*>(view.data) + mapped.visible.y * view.pitch +
              mapped.visible.x * view.element_bytes();
  return view;
}

}  // namespace cudaxcorr
