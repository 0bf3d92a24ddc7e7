// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Formats are read as GStreamer unpacks them: a row of pixels of four components, alpha first, of 8
// or 16 bits. That neither rounds nor converts, so masks are exact in every format.
#include "matching/masks.h"

#include <algorithm>

namespace cudaxcorr {
namespace {

/// \param value_of  of an unpacked pixel, the byte of the mask
template <class Component, class Value>
Mask mask_of(const MappedFrame& image, const Value& value_of) {
  const GstVideoFrame& frame = image.frame;
  const GstVideoFormatInfo* format = frame.info.finfo;
  const int width = GST_VIDEO_FRAME_WIDTH(&frame);
  std::vector<Component> row(static_cast<std::size_t>(width) * 4);
  Mask mask;
  mask.reserve(static_cast<std::size_t>(image.visible.w) * image.visible.h);
  for (int y = 0; y < image.visible.h; ++y) {
    format->unpack_func(format, GST_VIDEO_PACK_FLAG_NONE, row.data(), frame.data, frame.info.stride,
                        0, image.visible.y + y, width);
    for (int x = 0; x < image.visible.w; ++x)
      mask.push_back(value_of(&row[static_cast<std::size_t>(image.visible.x + x) * 4]));
  }
  return mask;
}

const GstVideoFormatInfo* unpacked_format(const MappedFrame& image) {
  return gst_video_format_get_info(image.frame.info.finfo->unpack_format);
}

template <class Value>
Mask mask_of(const MappedFrame& image, const Value& value_of) {
  return GST_VIDEO_FORMAT_INFO_BITS(unpacked_format(image)) == 8
             ? mask_of<std::uint8_t>(image, value_of)
             : mask_of<std::uint16_t>(image, value_of);
}

/// Of an unpacked pixel, 0 to 255.
template <class Component>
std::uint8_t alpha_of(const Component* pixel) {
  return pixel[0] >> (8 * sizeof(Component) - 8);
}

}  // namespace

Mask opaque_pixels(const MappedFrame& image) {
  if (!GST_VIDEO_INFO_HAS_ALPHA(&image.frame.info)) return {};
  Mask alpha = mask_of(image, [](const auto* pixel) { return alpha_of(pixel); });
  int most = 0;
  for (const int value : alpha) most = std::max(most, value);
  const int least = most >= opaque ? opaque : (most + 1) / 2;
  for (std::uint8_t& value : alpha) value = value > 0 && value >= least;
  return alpha;
}

Mask alpha_weights(const MappedFrame& image) {
  if (!GST_VIDEO_INFO_HAS_ALPHA(&image.frame.info)) return {};
  return mask_of(image, [](const auto* pixel) { return alpha_of(pixel); });
}

namespace {

/// What an image's unpacked components have from black to white.
struct Range {
  int black[GST_VIDEO_MAX_COMPONENTS], span[GST_VIDEO_MAX_COMPONENTS];
  int colours;  ///< or luma

  explicit Range(const MappedFrame& image) {
    const GstVideoInfo& info = image.frame.info;
    gst_video_color_range_offsets(info.colorimetry.range, unpacked_format(image), black, span);
    colours = GST_VIDEO_INFO_IS_RGB(&info) ? 3 : 1;
  }
};

}  // namespace

Mask bright_pixels(const MappedFrame& image) {
  const Range range(image);
  return mask_of(image, [&](const auto* pixel) {
    const auto is_brighter = [&](int i) { return pixel[1 + i] > range.black[i]; };
    bool bright = false;
    for (int i = 0; i < range.colours; ++i) bright |= is_brighter(i);
    return bright && alpha_of(pixel) >= opaque;
  });
}

Mask bright_weights(const MappedFrame& image) {
  const Range range(image);
  return mask_of(image, [&](const auto* pixel) {
    std::int64_t most = 0;
    for (int i = 0; i < range.colours; ++i)
      most = std::max(most, 255 * (std::int64_t{pixel[1 + i]} - range.black[i]) / range.span[i]);
    return static_cast<std::uint8_t>(std::min<std::int64_t>(most, 255) * alpha_of(pixel) / 255);
  });
}

Mask disc(xcorr::Size size, unsigned inset) {
  // In halves of a pixel, from the middle.
  const std::int64_t across = size.width - 2 * std::int64_t{inset};
  const std::int64_t down = size.height - 2 * std::int64_t{inset};
  Mask mask(static_cast<std::size_t>(size.area()));
  if (across <= 0 || down <= 0) return mask;
  auto pixel = mask.begin();
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const std::int64_t u = (2 * x + 1 - size.width) * down,
                         v = (2 * y + 1 - size.height) * across;
      *pixel++ = u * u + v * v <= across * down * across * down;
    }
  return mask;
}

}  // namespace cudaxcorr
