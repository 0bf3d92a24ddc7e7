// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of changing templates: samples, the element's signals, and checks of what was
// found and reported.
#pragma once

#include <memory>
#include <string>

#include "moving_patch.hpp"

using Sample = std::shared_ptr<GstSample>;

inline Sample make_sample(GstBuffer* buffer, GstVideoFormat format, int width, int height) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, format, width, height);
  GstCaps* caps = gst_video_info_to_caps(&info);
  const Sample sample(gst_sample_new(buffer, caps, nullptr, nullptr), gst_sample_unref);
  gst_clear_buffer(&buffer);
  gst_caps_unref(caps);
  return sample;
}

inline Sample sample_of(const Gray& image, GstVideoFormat format = GST_VIDEO_FORMAT_GRAY8) {
  return make_sample(make_frame(format, image), format, image.width, image.height);
}

inline guint add(Finder& finder, const Sample& sample, const char* label = nullptr) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "add-template", sample.get(), label, &id);
  return id;
}

inline guint add_file(Finder& finder, const std::string& file, const char* label = nullptr) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "add-template-file", file.c_str(), label, &id);
  return id;
}

inline guint capture(Finder& finder, int x, int y, int width, int height) {
  guint id = 0;
  g_signal_emit_by_name(finder.element, "capture-template", x, y, width, height, &id);
  return id;
}

inline bool remove(Finder& finder, guint id) {
  gboolean removed = FALSE;
  g_signal_emit_by_name(finder.element, "remove-template", id, &removed);
  return removed;
}

inline void assert_found(const Peak& peak, guint template_id, const char* label, int x, int y) {
  assert_equals_int(peak.template_id, template_id);
  assert_text(peak.label, label);
  assert_at(peak, x, y);
  fail_unless(peak.score == 1.0, "score %.17g", peak.score);
}

inline constexpr char exact[] = "subpixel=false threshold=0.9 ";
