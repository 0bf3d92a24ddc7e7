// SPDX-License-Identifier: LGPL-2.1-or-later
#include "synthetic_results.hpp"

#include <cmath>
#include <utility>

namespace {

/// The element's class registers the meta.
void register_meta() { gst_object_unref(gst_element_factory_make("cudaxcorr", nullptr)); }

/// Of a box of the peak's size with its centre at x, y.
void set_corners(GstStructure* structure, const char* field, double x, double y,
                 const MadePeak& peak, double angle) {
  const double cosine = std::cos(angle * G_PI / 180), sine = std::sin(angle * G_PI / 180);
  GValue corners = G_VALUE_INIT, number = G_VALUE_INIT;
  gst_value_array_init(&corners, 8);
  g_value_init(&number, G_TYPE_DOUBLE);
  const auto add = [&](double coordinate) {
    g_value_set_double(&number, coordinate);
    gst_value_array_append_value(&corners, &number);
  };
  for (const auto& [right, down] : {std::pair{-0.5, -0.5}, {0.5, -0.5}, {0.5, 0.5}, {-0.5, 0.5}}) {
    const double u = right * peak.width, v = down * peak.height;
    add(x + cosine * u + sine * v);
    add(y - sine * u + cosine * v);
  }
  gst_structure_take_value(structure, field, &corners);
}

GstStructure* structure_of(const MadePeak& peak, int frame_width, int frame_height) {
  GstStructure* structure = gst_structure_new(
      "peak", "template", G_TYPE_UINT, 0, "template-id", G_TYPE_UINT, 1, "label", G_TYPE_STRING,
      peak.label, "id", G_TYPE_UINT64, peak.id, "x", G_TYPE_DOUBLE, peak.x, "y", G_TYPE_DOUBLE,
      peak.y, "width", G_TYPE_DOUBLE, peak.width, "height", G_TYPE_DOUBLE, peak.height, "nx",
      G_TYPE_DOUBLE, peak.x / frame_width, "ny", G_TYPE_DOUBLE, peak.y / frame_height, "nwidth",
      G_TYPE_DOUBLE, peak.width / frame_width, "nheight", G_TYPE_DOUBLE, peak.height / frame_height,
      "score", G_TYPE_DOUBLE, 0.75, "inverted", G_TYPE_BOOLEAN, FALSE, "lost", G_TYPE_BOOLEAN,
      gboolean{peak.lost}, nullptr);
  const double x = peak.x + 0.5 * (peak.width - 1), y = peak.y + 0.5 * (peak.height - 1);
  set_corners(structure, "corners", x, y, peak, peak.angle);
  if (peak.candidate)
    set_corners(structure, "candidate", peak.candidate->first + 0.5 * (peak.width - 1),
                peak.candidate->second + 0.5 * (peak.height - 1), peak, 0);
  gst_structure_set(structure, "center-x", G_TYPE_DOUBLE, x, "center-y", G_TYPE_DOUBLE, y, "angle",
                    G_TYPE_DOUBLE, peak.angle, "scale", G_TYPE_DOUBLE, 1., nullptr);
  if (peak.id) gst_structure_set(structure, "confidence", G_TYPE_DOUBLE, 0.75, nullptr);
  if (peak.state) gst_structure_set(structure, "state", G_TYPE_STRING, peak.state, nullptr);
  return structure;
}

}  // namespace

GstStructure* attach_result(GstBuffer* buffer, int frame_width, int frame_height,
                            const std::vector<MadePeak>& peaks, bool analysed) {
  register_meta();
  GValue array = G_VALUE_INIT;
  gst_value_array_init(&array, 0);
  for (const MadePeak& peak : peaks) {
    GValue item = G_VALUE_INIT;
    g_value_init(&item, GST_TYPE_STRUCTURE);
    g_value_take_boxed(&item, structure_of(peak, frame_width, frame_height));
    gst_value_array_append_and_take_value(&array, &item);
  }
  GstStructure* result =
      gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, GST_CUDA_XCORR_META_NAME));
  gst_structure_set(result, "frame-width", G_TYPE_INT, frame_width, "frame-height", G_TYPE_INT,
                    frame_height, "pts", G_TYPE_UINT64, guint64{GST_BUFFER_PTS(buffer)}, "analysed",
                    G_TYPE_BOOLEAN, gboolean{analysed}, nullptr);
  gst_structure_take_value(result, "peaks", &array);
  return result;
}
