// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrredis with a real server: what an entry has, and that nothing is lost but what does not fit
// the queue, nothing doubled and no frame held while the server is away, stalled or full.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "json_writer.hpp"
#include "made_results.hpp"
#include "redis_server.hpp"

namespace {

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

std::string on(const RedisServer& server, const std::string& more = "") {
  return "address=" + server.address() + " " + more;
}

/// That the stream has exactly the frames of these numbers, in order.
void assert_frames(RedisServer& server, const std::string& stream, int from, int to) {
  const auto entries = server.entries(stream);
  assert_equals_int(entries.size(), to - from + 1);
  for (int number = from; number <= to; ++number)
    assert_text(entries[static_cast<std::size_t>(number - from)].field("timestamp"),
                std::to_string(number * GST_MSECOND));
}

void add_utc(GstBuffer* buffer, GstClockTime utc) {
  GstCaps* caps = gst_caps_new_empty_simple("timestamp/x-unix");
  gst_buffer_add_reference_timestamp_meta(buffer, caps, utc, GST_CLOCK_TIME_NONE);
  gst_caps_unref(caps);
}

// ---- entries --------------------------------------------------------------------------------

/// As xcorrjson writes them.
GST_START_TEST(fields) {
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
GST_END_TEST

GST_START_TEST(names_of_streams) {
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
GST_END_TEST

/// Without UTC by arrival. Frames of one time, or of an earlier one, get IDs that are later.
GST_START_TEST(ids) {
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
GST_END_TEST

/// A server trims whole nodes, of 100 entries.
GST_START_TEST(maximum_length) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server, "max-length=200 queue-size=2000"));
  publisher.pass(1, 1000);
  publisher.wait_until("sent", 1000);
  const std::size_t size = server.entries("places").size();
  fail_unless(size >= 200 && size <= 400, "%d entries", int(size));
}
GST_END_TEST

/// As of a worker that does not know that another one has taken over: each frame is there once.
GST_START_TEST(same_frames_twice) {
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
GST_END_TEST

/// The sender is awake in time, whatever it did when an entry came: each is there before the next.
GST_START_TEST(one_by_one) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  for (int number = 1; number <= 300; ++number) {
    publisher.pass(number, number);
    publisher.wait_until("sent", static_cast<guint64>(number));
  }
  assert_frames(server, "places", 1, 300);
}
GST_END_TEST

// ---- a server that fails --------------------------------------------------------------------

GST_START_TEST(down_at_the_start) {
  RedisServer server;
  Publisher publisher(on(server));
  publisher.pass(1, 5);
  const std::string text = publisher.wait_for_warning("does not take results");
  fail_unless(text.find(server.address()) != std::string::npos, "%s", text.c_str());
  assert_equals_uint64(publisher.count("sent"), 0);
  server.start();
  publisher.pass(6, 10);
  publisher.wait_until("sent", 10);
  assert_frames(server, "places", 1, 10);
  assert_equals_uint64(publisher.count("dropped"), 0);
}
GST_END_TEST

GST_START_TEST(killed_and_back) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  for (int round = 0; round < 3; ++round) {
    publisher.pass(100 * round + 1, 100 * round + 50);
    if (round == 1) publisher.wait_until("sent", 150);  // else it is killed while it works
    server.kill();
    publisher.pass(100 * round + 51, 100 * round + 100);
    server.start();
    publisher.wait_until("connections", static_cast<guint64>(round + 1));
  }
  publisher.wait_until("sent", 300);
  assert_frames(server, "places", 1, 300);
  assert_equals_uint64(publisher.count("dropped"), 0);
}
GST_END_TEST

/// A stalled server gets entries again by another connection, and then those of both.
GST_START_TEST(stalled) {
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  publisher.pass(1, 10);
  publisher.wait_until("sent", 10);
  server.signal(SIGSTOP);
  publisher.pass(11, 60);
  publisher.wait_for_warning("it does not answer");
  publisher.wait_until("connections", 2);
  server.signal(SIGCONT);
  publisher.pass(61, 70);
  publisher.wait_until("sent", 70);
  assert_frames(server, "places", 1, 70);
}
GST_END_TEST

/// Frames pass all the same, and the newest entries are kept.
GST_START_TEST(more_than_the_queue_holds) {
  RedisServer server;
  Publisher publisher(on(server, "queue-size=20"));
  publisher.pass(1, 100);
  assert_equals_uint64(publisher.count("frames"), 100);
  assert_equals_uint64(publisher.count("dropped"), 80);
  publisher.wait_for_warning("80 were dropped so far");
  server.start();
  publisher.wait_until("sent", 20);
  assert_frames(server, "places", 81, 100);

  server.signal(SIGSTOP);
  publisher.pass(101, 200);
  assert_equals_uint64(publisher.count("dropped"), 160);
  server.signal(SIGCONT);
  publisher.wait_until("sent", 40);
  assert_equals_int(server.entries("places").size(), 40);
}
GST_END_TEST

GST_START_TEST(out_of_memory) {
  RedisServer server;
  server.start();
  server.tell({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  server.tell({"CONFIG", "SET", "maxmemory", "1"});
  Publisher publisher(on(server));
  publisher.pass(1, 100);
  publisher.wait_for_warning("OOM command not allowed");
  assert_equals_uint64(publisher.count("sent"), 0);
  server.tell({"CONFIG", "SET", "maxmemory", "0"});
  publisher.wait_until("sent", 100);
  assert_frames(server, "places", 1, 100);
  assert_equals_uint64(publisher.count("dropped"), 0);
}
GST_END_TEST

/// The same when more come than the queue holds: what is dropped is counted and told, and the
/// frames that come when there is room are there.
GST_START_TEST(out_of_memory_for_long) {
  RedisServer server;
  server.start();
  server.tell({"CONFIG", "SET", "maxmemory", "1"});
  Publisher publisher(on(server, "queue-size=20"));
  publisher.pass(1, 100);
  publisher.wait_for_warning("memory > 'maxmemory'.; 80 were dropped so far");
  assert_equals_uint64(publisher.count("frames"), 100);
  assert_equals_uint64(publisher.count("dropped"), 80);
  server.tell({"CONFIG", "SET", "maxmemory", "0"});
  publisher.wait_until("sent", 20);
  publisher.pass(101, 110);
  publisher.wait_until("sent", 30);
  const auto entries = server.entries("places");
  assert_equals_int(entries.size(), 30);
  assert_text(entries.back().field("timestamp"), std::to_string(110 * GST_MSECOND));
}
GST_END_TEST

/// Of a key that is no stream nothing becomes one; when it is gone all goes on.
GST_START_TEST(key_of_another_type) {
  RedisServer server;
  server.start();
  server.tell({"SET", "places", "taken"});
  Publisher publisher(on(server));
  publisher.pass(1, 3);
  publisher.wait_for_warning("WRONGTYPE");
  server.tell({"DEL", "places"});
  publisher.wait_until("sent", 3);
  assert_frames(server, "places", 1, 3);
}
GST_END_TEST

GST_START_TEST(passwords) {
  RedisServer server;
  server.start();
  server.tell({"CONFIG", "SET", "requirepass", "secret"});
  server.password = "secret";
  g_setenv("REDISCLI_AUTH", "wrong", TRUE);
  Publisher wrong(on(server));
  wrong.pass(1, 1);
  wrong.wait_for_warning("WRONGPASS");
  g_unsetenv("REDISCLI_AUTH");
  Publisher none(on(server));
  none.pass(1, 1);
  none.wait_for_warning("NOAUTH");

  Publisher right(on(server, "password=secret"));
  right.pass(1, 2);
  right.wait_until("sent", 2);
  g_setenv("REDISCLI_AUTH", "secret", TRUE);
  Publisher of_environment(on(server));
  of_environment.pass(3, 4);
  of_environment.wait_until("sent", 2);
  assert_frames(server, "places", 1, 4);

  server.tell({"CONFIG", "SET", "requirepass", "wrong"});  // which then is the right one
  server.password = "wrong";
  wrong.pass(5, 5);
  wrong.wait_until("sent", 1);  // its first frame is older than what others have sent
  assert_frames(server, "places", 1, 5);
}
GST_END_TEST

/// The certificate must be for the server's host, and one that this machine trusts.
GST_START_TEST(tls) {
#ifdef XCORR_REDIS_TLS
  const Certificate own("localhost"), other("another.example");
  if (!g_file_test(own.key.c_str(), G_FILE_TEST_EXISTS)) return;  // there is no openssl
  RedisServer server;
  const std::string port = std::to_string(server.start_with_tls(own));
  g_setenv("SSL_CERT_FILE", own.certificate.c_str(), TRUE);
  {
    Publisher publisher("address=rediss://localhost:" + port);
    publisher.pass(1, 100);
    publisher.wait_until("sent", 100);
  }
  const auto assert_refused = [](const std::string& address, const char* reason) {
    Publisher publisher("address=" + address);
    publisher.pass(101, 101);
    publisher.wait_for_warning(reason);
  };
  assert_refused("rediss://127.0.0.1:" + port, "mismatch");
  assert_refused("redis://localhost:" + port, "does not take results");
  g_setenv("SSL_CERT_FILE", other.certificate.c_str(), TRUE);
  assert_refused("rediss://localhost:" + port, "self-signed certificate");
  assert_frames(server, "places", 1, 100);
#else
  GstElement* element = gst_element_factory_make("xcorrredis", nullptr);
  g_object_set(element, "address", "rediss://localhost", nullptr);
  assert_text(refused_at_start(element, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS),
              "Cannot use the address 'rediss://localhost': this build has no TLS, for which "
              "hiredis 1.0 or newer is needed");
#endif
}
GST_END_TEST

/// Warnings are few however much is dropped; what is left at the end counts as dropped.
GST_START_TEST(warnings_and_the_end) {
  RedisServer server;
  Publisher publisher(on(server, "queue-size=1"));
  const gint64 begin = g_get_monotonic_time();
  for (int round = 1; round <= 50; ++round) {
    publisher.pass(1, 100);
    g_usleep(50000);
  }
  publisher.stop();
  const gint64 seconds = (g_get_monotonic_time() - begin) / G_USEC_PER_SEC;
  const auto warnings = publisher.warnings();
  fail_unless(warnings.size() >= 2 && warnings.size() <= static_cast<std::size_t>(seconds + 2),
              "%d warnings in %d s", int(warnings.size()), int(seconds));
  assert_equals_uint64(publisher.count("frames"), 5000);
  assert_equals_uint64(publisher.count("dropped"), 5000);
  fail_unless(warnings.back().find("5000 were dropped so far") != std::string::npos, "%s",
              warnings.back().c_str());
}
GST_END_TEST

/// What the server can still take before the stream ends, it gets.
GST_START_TEST(end_of_a_short_stream) {
  RedisServer server;
  server.start();
  for (int round = 0; round < 5; ++round) {
    Publisher publisher(on(server));
    publisher.pass(10 * round + 1, 10 * round + 10);
    publisher.stop();
    assert_equals_uint64(publisher.count("sent"), 10);
  }
  assert_frames(server, "places", 1, 50);
}
GST_END_TEST

GST_START_TEST(bad_addresses) {
  const struct {
    const char *address, *reason;
  } cases[] = {
      {"nonsense", "form redis://HOST:PORT"},
      {"http://localhost", "form redis://HOST:PORT"},
      {"unix:", "names no socket"},
      {"redis://", "names no host"},
      {"redis://localhost:65536", "no such port"},
      {"redis://user:secret@localhost", "REDISCLI_AUTH"},
      {"redis://localhost/2", "database 0 only"},
  };
  for (const auto& [address, reason] : cases) {
    GstElement* element = gst_element_factory_make("xcorrredis", nullptr);
    g_object_set(element, "address", address, nullptr);
    const std::string text =
        refused_at_start(element, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS);
    fail_unless(text.find(reason) != std::string::npos, "%s: %s", address, text.c_str());
    fail_unless(text.find(address) != std::string::npos, "%s", text.c_str());
  }
}
GST_END_TEST

}  // namespace

Suite* suite() {
  if (!RedisServer::exists()) {
    std::printf("SKIPPED: there is no redis-server\n");
    std::exit(77);
  }
  Suite* suite = suite_create("redis");
  TCase* cases = tcase_create("redis");
  suite_add_tcase(suite, cases);
  tcase_add_test(cases, fields);
  tcase_add_test(cases, names_of_streams);
  tcase_add_test(cases, ids);
  tcase_add_test(cases, maximum_length);
  tcase_add_test(cases, same_frames_twice);
  tcase_add_test(cases, one_by_one);
  tcase_add_test(cases, down_at_the_start);
  tcase_add_test(cases, killed_and_back);
  tcase_add_test(cases, stalled);
  tcase_add_test(cases, more_than_the_queue_holds);
  tcase_add_test(cases, out_of_memory);
  tcase_add_test(cases, out_of_memory_for_long);
  tcase_add_test(cases, key_of_another_type);
  tcase_add_test(cases, passwords);
  tcase_add_test(cases, tls);
  tcase_add_test(cases, warnings_and_the_end);
  tcase_add_test(cases, end_of_a_short_stream);
  tcase_add_test(cases, bad_addresses);
  return suite;
}
