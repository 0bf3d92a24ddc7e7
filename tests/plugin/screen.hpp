// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A sink for the pad `response`: keeps the images and events that arrive, and returns the flow
// that the test asks for.
#pragma once

#include <algorithm>
#include <atomic>

#include "support.hpp"

inline GstStaticPadTemplate screen_template =
    GST_STATIC_PAD_TEMPLATE("screen", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

/// Linked to the pad. All but the destructor is called by the streaming thread.
class Screen {
 public:
  explicit Screen(GstElement* element)
      : element_(element), from_(gst_element_request_pad_simple(element, "response")) {
    fail_unless(from_ != nullptr, "there is no pad 'response'");
    gst_pad_set_element_private(pad_, this);
    gst_pad_set_chain_function(
        pad_, [](GstPad* pad, GstObject*, GstBuffer* buffer) { return of(pad).take(buffer); });
    gst_pad_set_event_function(pad_, [](GstPad* pad, GstObject*, GstEvent* event) -> gboolean {
      of(pad).events.push_back(event);
      return TRUE;
    });
    gst_pad_set_active(pad_, TRUE);
    assert_equals_int(gst_pad_link(from_, pad_), GST_PAD_LINK_OK);
  }
  ~Screen() {
    gst_element_release_request_pad(element_, from_);
    gst_object_unref(from_);
    gst_pad_set_active(pad_, FALSE);
    gst_object_unref(pad_);
    for (GstBuffer* buffer : buffers) gst_buffer_unref(buffer);
    for (GstEvent* event : events) gst_event_unref(event);
  }
  Screen(const Screen&) = delete;

  /// The last image.
  Gray image(int width, int height) const {
    fail_unless(!buffers.empty(), "there is no image");
    GstMapInfo map;
    fail_unless(gst_buffer_map(buffers.back(), &map, GST_MAP_READ));
    const int stride = GST_ROUND_UP_4(width);
    assert_equals_uint64(map.size, stride * height);
    Gray gray(width, height);
    for (int y = 0; y < height; ++y) std::copy_n(map.data + y * stride, width, &gray.at(0, y));
    gst_buffer_unmap(buffers.back(), &map);
    return gray;
  }
  GstClockTime latency() const {
    GstQuery* query = gst_query_new_latency();
    fail_unless(gst_pad_peer_query(pad_, query));
    GstClockTime least = GST_CLOCK_TIME_NONE;
    gst_query_parse_latency(query, nullptr, &least, nullptr);
    gst_query_unref(query);
    return least;
  }
  int count(GstEventType type) const {
    return static_cast<int>(std::count_if(events.begin(), events.end(),
                                          [=](GstEvent* e) { return GST_EVENT_TYPE(e) == type; }));
  }

  std::vector<GstBuffer*> buffers;
  std::atomic<int> taken = 0;  ///< buffers, for other threads
  std::vector<GstEvent*> events;
  GstFlowReturn flow = GST_FLOW_OK;

 private:
  static Screen& of(GstPad* pad) { return *static_cast<Screen*>(gst_pad_get_element_private(pad)); }
  GstFlowReturn take(GstBuffer* buffer) {
    buffers.push_back(buffer);
    ++taken;
    return flow;
  }

  GstElement* element_;
  GstPad* from_;
  GstPad* pad_ = gst_pad_new_from_static_template(&screen_template, nullptr);
};
