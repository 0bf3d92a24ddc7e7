// SPDX-License-Identifier: LGPL-2.1-or-later
#include "overlay/canvas.h"

#include "common/new_buffer.h"

namespace cudaxcorr {

void set_color(cairo_t* cairo, guint32 argb) {
  const auto channel = [argb](int shift) { return (argb >> shift & 0xff) / 255.0; };
  cairo_set_source_rgba(cairo, channel(16), channel(8), channel(0), channel(24));
}

GstVideoOverlayRectangle* make_image(const Box& part, const std::function<void(cairo_t*)>& draw) {
  const int width = static_cast<int>(part.width()), height = static_cast<int>(part.height());
  const int stride = cairo_format_stride_for_width(CAIRO_FORMAT_ARGB32, width);
  const gsize size = static_cast<gsize>(stride) * static_cast<gsize>(height);
  GstBuffer* pixels = stride > 0 ? new_buffer(size) : nullptr;
  if (!pixels) {
    GST_WARNING("no image of %dx%d pixels", width, height);
    return nullptr;
  }
  gst_buffer_memset(pixels, 0, 0, size);
  gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE,
                            GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, static_cast<guint>(width),
                            static_cast<guint>(height));
  GstMapInfo map;
  gst_buffer_map(pixels, &map, GST_MAP_READWRITE);
  cairo_surface_t* surface =
      cairo_image_surface_create_for_data(map.data, CAIRO_FORMAT_ARGB32, width, height, stride);
  cairo_surface_set_device_offset(surface, -part.left, -part.top);
  cairo_t* cairo = cairo_create(surface);
  draw(cairo);
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  gst_buffer_unmap(pixels, &map);
  GstVideoOverlayRectangle* rectangle = gst_video_overlay_rectangle_new_raw(
      pixels, static_cast<int>(part.left), static_cast<int>(part.top), static_cast<guint>(width),
      static_cast<guint>(height), GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
  gst_buffer_unref(pixels);
  return rectangle;
}

/// With a font map of its own: the default one belongs to a thread.
PangoLayout* Texts::layout(const std::string& text, const std::string& font, double scale) {
  if (!layout_) {
    const std::unique_ptr<PangoFontMap, Unref> fonts(pango_cairo_font_map_new());
    const std::unique_ptr<PangoContext, Unref> context(pango_font_map_create_context(fonts.get()));
    layout_.reset(pango_layout_new(context.get()));
  }
  // Dots per inch: sizes in points scale with them, sizes in pixels do not.
  pango_cairo_context_set_resolution(pango_layout_get_context(layout_.get()), 96 * scale);
  pango_layout_context_changed(layout_.get());
  PangoFontDescription* description = pango_font_description_from_string(font.c_str());
  pango_layout_set_font_description(layout_.get(), description);
  pango_font_description_free(description);
  pango_layout_set_text(layout_.get(), text.c_str(), -1);
  return layout_.get();
}

}  // namespace cudaxcorr
