// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrredis with a real server: what an entry has.
#include "redis_publisher.hpp"

namespace {

/// As xcorrjson writes them.
ELEMENT_TEST(fields) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  GstBuffer* buffer = make_buffer(3 * GST_SECOND);
  GstStructure* result = attach_result(buffer, 96, 64, {{1.5, 2, 3, 4, 7}, {5, 6, 3, 4, 8}});
  gst_structure_set(result, "camera", G_TYPE_STRING, "a \"gate\"", nullptr);
  add_utc(buffer, 1700000000123456789);
  Writer writer;
  writer.pass(gst_buffer_ref(buffer));
  publisher.pass(buffer);
  publisher.wait_until("sent", 1);

  const auto entries = server.entries("places:a \"gate\"");
  assert_equals_int(entries.size(), 1);
  assert_text(entries[0].id, "1700000000123-456789");
  std::string joined;
  for (const auto& [name, value] : entries[0].fields)
    joined += (joined.empty() ? "{\"" : ",\"") + name + "\":" + value;
  assert_text(joined + "}\n", read_file(writer.path));
}

ELEMENT_TEST(names_of_streams) {
  const struct {
    const char *properties, *stream, *camera;
  } cases[] = {
      {"", "places", ""},
      {"camera=gate", "places:gate", "\"gate\""},
      {"stream=mine camera=gate", "mine", "\"gate\""},
      {"stream=mine", "mine", ""},
  };
  RedisServer server;
  server.start();
  for (const auto& [properties, stream, camera] : cases) {
    server.tell({"FLUSHALL"});
    Publisher publisher(on(server, properties));
    publisher.pass(1, 1);
    publisher.wait_until("sent", 1);
    assert_frames(server, stream, 1, 1);
    assert_text(server.entries(stream)[0].field("camera"), camera);
  }
  // The property comes before the field.
  Publisher publisher(on(server, "camera=gate"));
  GstBuffer* buffer = make_buffer();
  gst_structure_set(attach_result(buffer, 96, 64, {}), "camera", G_TYPE_STRING, "door", nullptr);
  publisher.pass(buffer);
  publisher.wait_until("sent", 1);
  assert_text(server.entries("places:gate").back().field("camera"), "\"gate\"");
}

/// Without UTC by arrival. Frames of one time, or of an earlier one, get IDs that are later.
ELEMENT_TEST(ids) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  const gint64 before = g_get_real_time() / 1000;
  publisher.pass(1, 3);
  publisher.wait_until("sent", 3);
  const gint64 after = g_get_real_time() / 1000;
  for (const auto& entry : server.entries("places")) {
    const gint64 milliseconds = g_ascii_strtoll(entry.id.c_str(), nullptr, 10);
    fail_unless(milliseconds >= before && milliseconds <= after, "%s", entry.id.c_str());
  }
  const GstClockTime later = (static_cast<GstClockTime>(after) + 60000) * GST_MSECOND;
  for (const GstClockTime time : {later, later, later - GST_SECOND, later + GST_SECOND}) {
    GstBuffer* buffer = make_buffer();
    add_utc(buffer, time);
    publisher.pass(buffer);
  }
  publisher.wait_until("sent", 7);
  const auto entries = server.entries("places");
  const std::string minute = std::to_string(after + 60000);
  assert_text(entries[3].id, minute + "-0");
  assert_text(entries[4].id, minute + "-1");
  assert_text(entries[5].id, minute + "-2");
  assert_text(entries[6].id, std::to_string(after + 61000) + "-0");
}

/// A server trims whole nodes, of 100 entries.
ELEMENT_TEST(maximum_length) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server, "max-length=200 queue-size=2000"));
  publisher.pass(1, 1000);
  publisher.wait_until("sent", 1000);
  const std::size_t size = server.entries("places").size();
  fail_unless(size >= 200 && size <= 400, "%d entries", int(size));
}

/// As of a worker that does not know that another one has taken over: each frame is there once.
ELEMENT_TEST(same_frames_twice) {
  RedisServer server;
  server.start();
  Publisher first(on(server)), second(on(server));
  for (Publisher* publisher : {&first, &second}) {
    for (int number = 1; number <= 10; ++number) {
      GstBuffer* buffer = make_buffer(number * GST_MSECOND);
      add_utc(buffer, number * GST_SECOND);
      publisher->pass(buffer);
    }
    publisher->wait_until(publisher == &first ? "sent" : "dropped", 10);
  }
  second.wait_for_warning("equal or smaller");
  assert_frames(server, "places", 1, 10);
}

/// The sender is awake in time, whatever it did when an entry came: each is there before the next.
ELEMENT_TEST(one_by_one) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  for (int number = 1; number <= 300; ++number) {
    publisher.pass(number, number);
    publisher.wait_until("sent", static_cast<guint64>(number));
  }
  assert_frames(server, "places", 1, 300);
}

}  // namespace
