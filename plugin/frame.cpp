// SPDX-License-Identifier: LGPL-2.1-or-later
#include "frame.h"

namespace cudaxcorr {
namespace {

/// A component of a frame: byte `x * step` of each row.
struct Component {
  const std::uint8_t* data;
  std::ptrdiff_t stride, step;
};

Component component(const GstVideoFrame& frame, int index) {
  return {static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, index)),
          GST_VIDEO_FRAME_COMP_STRIDE(&frame, index), GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, index)};
}

void gather(const Component& from, xcorr::Size size, std::uint8_t* to) {
  for (int y = 0; y < size.height; ++y, to += size.width) {
    const std::uint8_t* row = from.data + y * from.stride;
    for (int x = 0; x < size.width; ++x) to[x] = row[x * from.step];
  }
}

/// `step` is a constant so that the compiler can vectorise: 3 or 4 bytes a pixel.
template <int step>
void gather_rgb(const Component& red, const Component& green, const Component& blue,
                xcorr::Size size, std::uint8_t* to) {
  const auto [wr, wg, wb] = luma_weights;
  for (int y = 0; y < size.height; ++y, to += size.width) {
    const std::uint8_t* r = red.data + y * red.stride;
    const std::uint8_t* g = green.data + y * green.stride;
    const std::uint8_t* b = blue.data + y * blue.stride;
    for (int x = 0; x < size.width; ++x)
      to[x] = static_cast<std::uint8_t>(
          (wr * r[x * step] + wg * g[x * step] + wb * b[x * step] + 128) >> 8);
  }
}

}  // namespace

bool has_luma_plane(const GstVideoInfo& info) {
  return !GST_VIDEO_INFO_IS_RGB(&info) && GST_VIDEO_INFO_COMP_PSTRIDE(&info, 0) == 1;
}

xcorr::MatrixView Luma::view(const GstVideoFrame& frame, xcorr::Memory memory) {
  const xcorr::Size size{GST_VIDEO_FRAME_WIDTH(&frame), GST_VIDEO_FRAME_HEIGHT(&frame)};
  const Component first = component(frame, 0);
  if (has_luma_plane(frame.info) && first.stride >= size.width)
    return {first.data, xcorr::ElementType::u8, size, first.stride, memory};

  buffer_.resize(static_cast<std::size_t>(size.area()));
  if (!GST_VIDEO_INFO_IS_RGB(&frame.info))
    gather(first, size, buffer_.data());
  else if (first.step == 3)
    gather_rgb<3>(first, component(frame, 1), component(frame, 2), size, buffer_.data());
  else
    gather_rgb<4>(first, component(frame, 1), component(frame, 2), size, buffer_.data());
  return {buffer_.data(), xcorr::ElementType::u8, size, size.width};
}

}  // namespace cudaxcorr
