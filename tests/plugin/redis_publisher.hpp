// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the tests of xcorrredis share: the element in a harness, and what came to the server.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "json_writer.hpp"
#include "redis_server.hpp"
#include "synthetic_results.hpp"

/// The element in a harness, with these properties as in a launch line. It has its bus before it
/// starts: what a server answers at once is told once.
class Publisher {
 public:
  explicit Publisher(const std::string& properties)
      : harness(gst_harness_new_empty()),
        element(GST_ELEMENT(
            gst_object_ref_sink(gst_parse_launch(("xcorrredis " + properties).c_str(), nullptr)))),
        bus_(gst_bus_new()) {
    gst_element_set_bus(element, bus_);
    static GstStaticPadTemplate source =
        GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
    static GstStaticPadTemplate sink =
        GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
    gst_harness_add_element_full(harness, element, &source, "sink", &sink, "src");
    gst_harness_set_src_caps_str(harness, "video/x-raw");
  }
  ~Publisher() {
    stop();
    gst_element_set_bus(element, nullptr);
    gst_object_unref(bus_);
    gst_harness_teardown(harness);
    gst_object_unref(element);
  }
  Publisher(const Publisher&) = delete;

  void stop() { gst_element_set_state(element, GST_STATE_NULL); }

  /// Frames of these numbers; each comes out at once and unchanged.
  void pass(int first, int last) {
    for (int number = first; number <= last; ++number) pass(make_buffer(number * GST_MSECOND));
  }
  void pass(GstBuffer* buffer) {
    GstBuffer* out = gst_harness_push_and_pull(harness, gst_buffer_ref(buffer));
    fail_unless(out == buffer);
    gst_buffer_unref(out);
    gst_buffer_unref(buffer);
  }

  guint64 count(const char* field) const { return stat_of(element, field); }
  void wait_until(const char* field, guint64 least) const {
    while (count(field) < least) g_usleep(2000);
  }
  /// All warnings so far.
  std::vector<std::string> warnings() {
    std::vector<std::string> texts;
    while (GstMessage* message = gst_bus_pop_filtered(bus_, GST_MESSAGE_WARNING))
      texts.push_back(text_of(message, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_WRITE));
    return texts;
  }
  /// The next warning with that in it.
  std::string wait_for_warning(const std::string& part) {
    for (;; g_usleep(2000))
      for (const std::string& text : warnings())
        if (text.find(part) != std::string::npos) return text;
  }

  GstHarness* const harness;
  GstElement* const element;

 private:
  GstBus* const bus_;
};

inline std::string on(const RedisServer& server, const std::string& more = "") {
  return "address=" + server.address() + " " + more;
}

inline void add_utc(GstBuffer* buffer, GstClockTime utc) {
  GstCaps* caps = gst_caps_new_empty_simple("timestamp/x-unix");
  gst_buffer_add_reference_timestamp_meta(buffer, caps, utc, GST_CLOCK_TIME_NONE);
  gst_caps_unref(caps);
}

/// That the stream has exactly the frames of these numbers, in order.
inline void assert_frames(RedisServer& server, const std::string& stream, int from, int to) {
  const auto entries = server.entries(stream);
  assert_equals_int(entries.size(), to - from + 1);
  for (int number = from; number <= to; ++number)
    assert_text(entries[static_cast<std::size_t>(number - from)].field("timestamp"),
                std::to_string(number * GST_MSECOND));
}

/// Without a server all tests are skipped.
inline const Registered needs_server([](TCase*) {
  if (RedisServer::exists()) return;
  std::printf("SKIPPED: there is no redis-server\n");
  std::exit(77);
});
