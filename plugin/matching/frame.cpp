// SPDX-License-Identifier: LGPL-2.1-or-later
#include "matching/frame.h"

namespace cudaxcorr {
namespace {

/// Where a pixel's components are among its bytes.
xcorr::PixelLayout layout_of(const GstVideoInfo& info) {
  const int bytes = GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0);
  const auto position = [&](int component) {
    return static_cast<int>(GST_VIDEO_INFO_COMP_POFFSET(&info, component));
  };
  return GST_VIDEO_INFO_IS_RGB(&info)
             ? xcorr::packed_rgb(bytes, position(0), position(1), position(2))
             : xcorr::packed_luma(bytes, position(0));
}

}  // namespace

xcorr::MatrixView luma_view(const MappedFrame& mapped, xcorr::Memory memory) {
  const GstVideoFrame& frame = mapped.frame;
  xcorr::MatrixView view{GST_VIDEO_FRAME_PLANE_DATA(&frame, 0),
                         xcorr::ElementType::u8,
                         {mapped.picture.w, mapped.picture.h},
                         GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0),
                         memory,
                         layout_of(frame.info)};
  view.data = static_cast<const std::uint8_t*>(view.data) + mapped.picture.y * view.pitch +
              mapped.picture.x * view.element_bytes();
  return view;
}

}  // namespace cudaxcorr
