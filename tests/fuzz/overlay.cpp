// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Results of any contents and any look, drawn over frames of any size.
#include <cmath>

#include "overlay/marks.h"
#include "overlay/painter.h"
#include "structure.hpp"

namespace {

using namespace cudaxcorr;

/// A peak as a careless program might make it.
void add_peak(Bytes& bytes, GValue* peaks) {
  GstStructure* peak =
      gst_structure_new("peak", "template", G_TYPE_UINT, bytes.number<guint>(), "template-id",
                        G_TYPE_UINT, 1, "id", G_TYPE_UINT64, bytes.number<guint64>(), nullptr);
  const auto any_number = [&bytes] {
    return bytes.flag() ? bytes.number<double>() : bytes.number<std::int8_t>() / 100.0;
  };
  for (const char* name : {"x", "y", "width", "height", "nx", "ny", "nwidth", "nheight", "center-x",
                           "center-y", "angle", "scale", "score", "confidence", "similarity"})
    gst_structure_set(peak, name, G_TYPE_DOUBLE, any_number(), nullptr);
  GValue corners = G_VALUE_INIT, number = G_VALUE_INIT;
  gst_value_array_init(&corners, 8);
  g_value_init(&number, G_TYPE_DOUBLE);
  for (int i = 0; i < 8; ++i) {
    g_value_set_double(&number, any_number());
    gst_value_array_append_value(&corners, &number);
  }
  gst_structure_take_value(peak, "corners", &corners);
  for (const char* name : {"inverted", "lost"})
    gst_structure_set(peak, name, G_TYPE_BOOLEAN, gboolean{bytes.flag()}, nullptr);
  GValue label = G_VALUE_INIT;
  g_value_init(&label, G_TYPE_STRING);
  g_value_set_string(&label, bytes.text().c_str());
  gst_structure_take_value(peak, "label", &label);
  GValue item = G_VALUE_INIT;
  g_value_init(&item, GST_TYPE_STRUCTURE);
  g_value_take_boxed(&item, peak);
  gst_value_array_append_and_take_value(peaks, &item);
}

GstStructure* take_result(Bytes& bytes) {
  if (bytes.between(0, 3) == 0) return take_structure(bytes, 3);
  GstStructure* result =
      gst_structure_new("result", "analysed", G_TYPE_BOOLEAN, gboolean{TRUE}, nullptr);
  GValue peaks = G_VALUE_INIT;
  gst_value_array_init(&peaks, 0);
  for (int left = bytes.between(0, 4); left > 0; --left) add_peak(bytes, &peaks);
  gst_structure_take_value(result, "peaks", &peaks);
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  start_gstreamer();
  Bytes bytes(data, size);
  static Painter painter;
  Marks marks;
  Look look;
  look.line_width = static_cast<unsigned>(bytes.between(1, 100));
  look.font = bytes.flag() ? bytes.text().c_str() : "Sans 12";
  look.show_id = bytes.flag();
  const int width = bytes.between(1, 300), height = bytes.between(1, 300);
  const unsigned trail = bytes.between(0, 5);
  for (int frames = bytes.between(1, 4); frames > 0; --frames) {
    GstStructure* result = take_result(bytes);
    marks.update(result, trail);
    gst_structure_free(result);
    for (const Mark& mark : marks.current()) {
      GstVideoOverlayRectangle* image = painter.paint(mark, look, width, height);
      if (!image) continue;
      gint x, y;
      guint w, h;
      gst_video_overlay_rectangle_get_render_rectangle(image, &x, &y, &w, &h);
      require(x >= 0 && y >= 0 && w > 0 && h > 0 && x + int(w) <= width && y + int(h) <= height,
              "an image is inside the frame");
      gst_video_overlay_rectangle_unref(image);
    }
  }
  return 0;
}
