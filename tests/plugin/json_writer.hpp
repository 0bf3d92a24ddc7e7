// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrjson in a harness, for its tests.
#pragma once

#include <string>

#include "support.hpp"

/// Writes to a file of the test's own. Buffers need no pixels.
class Writer {
 public:
  /// The `flag` is a property that is set, too.
  explicit Writer(const std::string& path = temporary("results.jsonl"), const char* flag = nullptr)
      : path(path) {
    harness = gst_harness_new("xcorrjson");
    bus_ = gst_bus_new();
    gst_element_set_bus(harness->element, bus_);
    // The harness has started the element already, and the file is opened at the start.
    gst_element_set_state(harness->element, GST_STATE_NULL);
    g_object_set(harness->element, "location", path.empty() ? nullptr : path.c_str(), nullptr);
    if (flag) g_object_set(harness->element, flag, TRUE, nullptr);
    gst_harness_play(harness);
    gst_harness_set_src_caps_str(harness, "video/x-raw");
  }
  ~Writer() {
    gst_element_set_bus(harness->element, nullptr);
    gst_object_unref(bus_);
    gst_harness_teardown(harness);
  }
  Writer(const Writer&) = delete;

  /// The frames come out unchanged.
  void pass(GstBuffer* buffer) {
    GstBuffer* out = gst_harness_push_and_pull(harness, gst_buffer_ref(buffer));
    fail_unless(out == buffer);
    gst_buffer_unref(out);
    gst_buffer_unref(buffer);
  }
  std::string error(int code) {
    return text_of(gst_bus_pop_filtered(bus_, GST_MESSAGE_ERROR), GST_RESOURCE_ERROR, code);
  }

  GstHarness* harness;
  const std::string path;

 private:
  GstBus* bus_;
};

inline GstBuffer* make_buffer(GstClockTime timestamp = 0) {
  GstBuffer* buffer = gst_buffer_new();
  GST_BUFFER_PTS(buffer) = timestamp;
  return buffer;
}
