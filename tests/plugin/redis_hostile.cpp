// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrredis with servers that are none, or hostile, and with clocks that are wrong: little memory,
// quick stops, and the next frames' results get there.
#include <iterator>
#include <thread>

#include <sys/resource.h>

#include "listener.hpp"
#include "redis_publisher.hpp"

namespace {

/// Accepts connections, answers whatever comes first with these bytes, again and again if they
/// are to go on, and reads no more.
class HostileServer {
 public:
  HostileServer(std::string bytes, bool goes_on) : bytes_(std::move(bytes)), goes_on_(goes_on) {
    thread_ = std::thread([this] { serve(); });
  }
  ~HostileServer() {
    shutdown(listener_.socket, SHUT_RDWR);
    thread_.join();
  }
  std::string address() const { return "redis://127.0.0.1:" + std::to_string(listener_.port()); }

 private:
  void serve() {
    while (true) {
      const int client = accept(listener_.socket, nullptr, nullptr);
      if (client < 0) return;
      char asked[1000];
      if (recv(client, asked, sizeof asked, 0) > 0)
        while (send(client, bytes_.data(), bytes_.size(), MSG_NOSIGNAL) > 0 && goes_on_) {
        }
      recv(client, asked, 1, 0);  // until the other side leaves
      close(client);
    }
  }

  const std::string bytes_;
  const bool goes_on_;
  const Listener listener_;
  std::thread thread_;
};

const struct {
  const char *bytes, *reason;
  bool goes_on;
} hostile_replies[] = {
    {"*1000000000\r\n", "it answers what it was not asked", false},
    {"*1\r\n*1\r\n*1\r\n", "it answers what it was not asked", true},
    {"%1000000000\r\n", "it answers what it was not asked", false},
    {"$1073741824\r\n0123456789", "its reply is too long", true},
    {"-ERR an error without an end, ", "its reply is too long", true},
    {"+OK\r\n+OK\r\n", "it answers what it was not asked", false},
    {"SSH-2.0-OpenSSH\r\n", "it answers what it was not asked", false},
    {"+PO", "it does not answer", false},
};

/// Memory stays as it was, the server is left, and stopping takes no time.
ELEMENT_TESTS(hostile_server, 0, std::size(hostile_replies)) {
  const auto& [bytes, reason, goes_on] = hostile_replies[__i__];
  HostileServer server(bytes, goes_on);
  rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  Publisher publisher("address=" + server.address());
  publisher.pass(1, 3);
  publisher.wait_for_warning(reason);
  const Seconds taken = time_of([&] { publisher.stop(); });
  fail_unless(taken < Seconds(3), "%.1f s", taken.count());
  getrusage(RUSAGE_SELF, &after);
  constexpr long most = 100000;  // kB
  fail_unless(after.ru_maxrss - before.ru_maxrss < most);
  assert_equals_uint64(publisher.count("dropped"), 3);
}

/// A server whose queue of connections is full is like a host that does not answer.
ELEMENT_TEST(stop_while_it_connects) {
  Listener listener(0);
  std::vector<int> fillers(4);
  for (int& filler : fillers) {
    filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    connect(filler, listener.generic(), sizeof listener.address);
  }
  Publisher publisher("address=redis://127.0.0.1:" + std::to_string(listener.port()));
  publisher.pass(1, 3);
  g_usleep(200000);
  const Seconds taken = time_of([&] { publisher.stop(); });
  fail_unless(taken < Seconds(3), "%.1f s", taken.count());
  for (const int filler : fillers) close(filler);
}

/// One frame with a wrong time costs nothing but that time.
ELEMENT_TEST(utc_that_lies_ahead) {
  constexpr GstClockTime year = 365 * 86400 * GST_SECOND;
  const auto now = static_cast<GstClockTime>(g_get_real_time()) * GST_USECOND;
  RedisServer server;
  server.start();
  Publisher publisher(on(server));
  for (const GstClockTime utc : {now + 10 * year, GST_CLOCK_TIME_NONE - 1}) {
    GstBuffer* buffer = make_buffer(GST_MSECOND);
    add_utc(buffer, utc);
    publisher.pass(buffer);
    publisher.pass(1, 2);
  }
  publisher.wait_until("sent", 6);
  assert_equals_uint64(publisher.count("dropped"), 0);
  for (const StreamEntry& entry : server.entries("places"))
    fail_unless(std::stoull(entry.id) < (now + year) / GST_MSECOND, "%s", entry.id.c_str());
}

/// What another clock has left in the stream does not end it.
ELEMENT_TEST(stream_that_lies_ahead) {
  RedisServer server;
  server.start();
  server.tell({"XADD", "places", "99999999999999-1", "camera", "\"x\""});
  Publisher publisher(on(server));
  while (publisher.count("sent") < 3) {
    publisher.pass(1, 1);
    g_usleep(100000);
  }
  publisher.wait_for_warning("by a clock that was ahead");
  publisher.pass(2, 5);
  const guint64 frames = publisher.count("frames");
  publisher.wait_until("sent", frames - publisher.count("dropped"));
  const auto entries = server.entries("places");
  assert_equals_int(entries.size(), 1 + publisher.count("sent"));
  assert_text(entries.back().field("timestamp"), std::to_string(5 * GST_MSECOND));
}

}  // namespace
