// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrredis with a real server that is away, stalled or full: nothing is lost but what does not
// fit the queue, nothing doubled and no frame held.
#include "redis_publisher.hpp"

namespace {

ELEMENT_TEST(down_at_the_start) {
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

ELEMENT_TEST(killed_and_back) {
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

/// A stalled server gets entries again by another connection, and then those of both.
ELEMENT_TEST(stalled) {
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

/// Frames pass all the same, and the newest entries are kept.
ELEMENT_TEST(more_than_the_queue_holds) {
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

ELEMENT_TEST(out_of_memory) {
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

/// The same when more come than the queue holds: what is dropped is counted and told, and the
/// frames that come when there is room are there.
ELEMENT_TEST(out_of_memory_for_long) {
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

/// Of a key that is no stream nothing becomes one; when it is gone all goes on.
ELEMENT_TEST(key_of_another_type) {
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

ELEMENT_TEST(passwords) {
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

/// The certificate must be for the server's host, and one that this machine trusts.
ELEMENT_TEST(tls) {
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

/// Warnings are few however much is dropped; what is left at the end counts as dropped.
ELEMENT_TEST(warnings_and_the_end) {
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

/// What the server can still take before the stream ends, it gets.
ELEMENT_TEST(end_of_a_short_stream) {
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

/// Before the end of the stream reaches those who wait for it.
ELEMENT_TEST(losses_are_told_at_the_end) {
  RedisServer server;
  Publisher publisher(on(server));
  publisher.pass(1, 10);
  publisher.warnings();
  gst_harness_push_event(publisher.harness, gst_event_new_eos());
  const auto warnings = publisher.warnings();
  fail_unless(!warnings.empty());
  const std::string& last = warnings.back();
  fail_unless(last.find("Of 10 results 10 have not reached the Redis server") != last.npos &&
                  last.find(server.address()) != last.npos,
              "%s", last.c_str());

  server.start();
  Publisher heard(on(server));
  heard.pass(11, 20);
  gst_harness_push_event(heard.harness, gst_event_new_eos());
  assert_equals_uint64(heard.count("sent"), 10);
  fail_unless(heard.warnings().empty());
}

ELEMENT_TEST(bad_addresses) {
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

}  // namespace
