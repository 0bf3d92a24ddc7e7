// SPDX-License-Identifier: LGPL-2.1-or-later
//
// cudaxcorrfield in a harness: frames cut from one texture, so that displacements are known
// exactly.
#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "support.hpp"

#include <gstcudaxcorrfieldmeta.h>

inline constexpr int field_width = 96, field_height = 80;

/// A part of a texture that begins there, so that what is in it moves by (-x, -y).
inline Gray view_at(int x, int y, unsigned seed = 5, int width = field_width,
                    int height = field_height) {
  constexpr int border = 20;
  return crop(texture(width + 2 * border, height + 2 * border, seed), border + x, border + y, width,
              height);
}

struct Field {
  std::string state;
  int frame_width = 0, frame_height = 0, columns = 0, rows = 0, window = 0, spacing = 0;
  std::vector<float> x, y, dx, dy, score, status;
  double valid = 0, mean_x = 0, mean_y = 0, median_x = 0, median_y = 0, rms = 0;
  guint64 pts = 0, reference_pts = 0;

  std::size_t size() const { return dx.size(); }
};

inline double double_of(const GstStructure* structure, const char* name) {
  gdouble value = 0;
  fail_unless(gst_structure_get_double(structure, name, &value), "no %s", name);
  return value;
}

inline std::vector<float> array_in(const GstStructure* field, const char* name) {
  gsize length = 0;
  const gfloat* values = gst_cuda_xcorr_field_get_array(field, name, &length);
  return values ? std::vector<float>(values, values + length) : std::vector<float>();
}

inline Field field_in(GstBuffer* buffer) {
  const GstStructure* structure = gst_cuda_xcorr_get_field(buffer);
  fail_unless(structure != nullptr, "the buffer has no field");
  Field field;
  field.state = gst_structure_get_string(structure, "state");
  fail_unless(gst_structure_get_int(structure, "columns", &field.columns));
  fail_unless(gst_structure_get_int(structure, "rows", &field.rows));
  fail_unless(gst_structure_get_uint64(structure, "pts", &field.pts));
  fail_unless(gst_structure_get_uint64(structure, "reference-pts", &field.reference_pts));
  fail_unless(gst_structure_get_int(structure, "window", &field.window));
  fail_unless(gst_structure_get_int(structure, "spacing", &field.spacing));
  fail_unless(gst_structure_get_int(structure, "frame-width", &field.frame_width));
  fail_unless(gst_structure_get_int(structure, "frame-height", &field.frame_height));
  field.valid = double_of(structure, "valid");
  field.mean_x = double_of(structure, "mean-x");
  field.mean_y = double_of(structure, "mean-y");
  field.median_x = double_of(structure, "median-x");
  field.median_y = double_of(structure, "median-y");
  field.rms = double_of(structure, "rms");
  const auto size = static_cast<std::size_t>(field.columns * field.rows);
  for (const char* name : {"x", "y", "dx", "dy", "dx-by-x", "dx-by-y", "dy-by-x", "dy-by-y",
                           "score", "ratio", "sigma", "status"}) {
    const std::vector<float> values = array_in(structure, name);
    fail_unless(values.size() == size, "%s has %zu numbers", name, values.size());
    for (const float value : values) fail_unless(std::isfinite(value), "%s is not finite", name);
  }
  field.x = array_in(structure, "x");
  field.y = array_in(structure, "y");
  field.dx = array_in(structure, "dx");
  field.dy = array_in(structure, "dy");
  field.score = array_in(structure, "score");
  field.status = array_in(structure, "status");
  return field;
}

class FieldFinder : public Finder {
 public:
  explicit FieldFinder(const std::string& rest) : Finder(rest, "cudaxcorrfield") {}

  Field measure(GstBuffer* buffer) {
    GstBuffer* out = pass(buffer);
    Field field = field_in(out);
    gst_buffer_unref(out);
    return field;
  }
  Field measure(const Gray& image, GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8,
                GstClockTime pts = 0) {
    if (image.width != width_ || image.height != height_ || format != format_)
      set_format(format_ = format, width_ = image.width, height_ = image.height);
    GstBuffer* buffer = make_frame(format, image);
    GST_BUFFER_PTS(buffer) = pts;
    return measure(buffer);
  }
  void expect_warning(GQuark domain, int code, const char* part) {
    const std::string text = text_of(message(GST_MESSAGE_WARNING), domain, code);
    fail_unless(text.find(part) != text.npos, "'%s' does not say '%s'", text.c_str(), part);
  }
  void expect_no_message() {
    fail_unless(message(static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR)) ==
                nullptr);
  }

 private:
  GstVideoFormat format_ = GST_VIDEO_FORMAT_UNKNOWN;
  int width_ = 0, height_ = 0;
};

/// Every window that is still in the frame is ok and has moved by that much.
inline void assert_moved(const Field& field, double dx, double dy, double tolerance = 0) {
  assert_text(field.state, "measured");
  fail_unless(field.size() > 0);
  const double half = (field.window - 1) / 2.0;
  const auto is_inside = [half](double centre, int size) {
    return centre >= half && centre + half <= size - 1;
  };
  int inside = 0;
  for (std::size_t i = 0; i < field.size(); ++i) {
    if (!is_inside(field.x[i] + dx, field.frame_width) ||
        !is_inside(field.y[i] + dy, field.frame_height))
      continue;
    ++inside;
    fail_unless(field.status[i] == 0, "window %zu has the status %f", i, field.status[i]);
    fail_unless(std::abs(field.dx[i] - dx) <= tolerance && std::abs(field.dy[i] - dy) <= tolerance,
                "window %zu has moved by %f,%f, not %f,%f", i, field.dx[i], field.dy[i], dx, dy);
  }
  fail_unless(inside > 0, "no window is in the frame");
}
