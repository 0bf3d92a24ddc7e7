// SPDX-License-Identifier: LGPL-2.1-or-later
//
// xcorrjson writing into pipes: nobody reads, the reader stalls, the reader leaves.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <json-glib/json-glib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_writer.hpp"
#include "synthetic_results.hpp"

namespace {

std::string make_pipe() {
  const std::string path = temporary("pipe");
  fail_unless(mkfifo(path.c_str(), 0600) == 0);
  return path;
}

/// The reading end, which takes nothing until it is asked to.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
    fail_unless(file_ >= 0);
  }
  explicit Reader(int file) : file_(file) { fcntl(file, F_SETFL, O_NONBLOCK); }
  ~Reader() { leave(); }
  Reader(const Reader&) = delete;

  void leave() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }
  /// That many bytes or, if nothing comes for a while, those that have come.
  std::string read_up_to(std::size_t limit) {
    std::string text;
    for (int idle = 0; idle < 100 && text.size() < limit;) {
      char bytes[4096];
      const ssize_t count = read(file_, bytes, std::min(sizeof bytes, limit - text.size()));
      if (count > 0) {
        text.append(bytes, static_cast<std::size_t>(count));
        idle = 0;
      } else {
        g_usleep(5000);
        ++idle;
      }
    }
    return text;
  }
  std::string read_all() { return read_up_to(std::string::npos); }

 private:
  int file_;
};

/// A frame whose line is longer than what a pipe takes in one piece.
GstBuffer* make_long(GstClockTime timestamp) {
  GstBuffer* buffer = make_buffer(timestamp);
  attach_result(buffer, 96, 64, std::vector<MadePeak>(40, {1, 2, 3, 4}));
  return buffer;
}

/// Sends frames from a thread of its own until one is refused.
class Stream {
 public:
  Stream(Writer& writer, GstBuffer* (*make)(GstClockTime)) : harness_(writer.harness) {
    thread_ = std::thread([this, make] {
      do flow_ = gst_harness_push(harness_, make(sent_));
      while (flow_ == GST_FLOW_OK && ++sent_);
    });
  }
  ~Stream() { end(); }

  GstFlowReturn end() {
    if (thread_.joinable()) thread_.join();
    return flow_;
  }
  /// Until no frame has passed for a while.
  void wait_until_it_stalls() const {
    for (guint64 before = G_MAXUINT64; before != sent_;) {
      before = sent_;
      g_usleep(200000);
    }
  }
  guint64 sent() const { return sent_; }

 private:
  GstHarness* harness_;
  std::atomic<guint64> sent_ = 0;  ///< frames that have passed; also the next one's timestamp
  GstFlowReturn flow_ = GST_FLOW_OK;
  std::thread thread_;
};

/// The timestamps of whole lines, in order.
std::vector<gint64> timestamps_of(const std::string& text) {
  fail_unless(text.empty() || text.back() == '\n', "the last line is not whole");
  std::vector<gint64> timestamps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    GError* error = nullptr;
    JsonNode* node = json_from_string(line.c_str(), &error);
    fail_unless(node != nullptr, "%s: %s", line.c_str(), error ? error->message : "empty");
    timestamps.push_back(json_object_get_int_member(json_node_get_object(node), "timestamp"));
    json_node_unref(node);
  }
  return timestamps;
}

ELEMENT_TEST(without_reader) {
  const std::string path = make_pipe();
  GstElement* element = gst_element_factory_make("xcorrjson", nullptr);
  g_object_set(element, "location", path.c_str(), nullptr);
  assert_text(refused_at_start(element, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE),
              "Cannot open '" + path + "': no program reads from this pipe");
}

/// It holds the stream back, and then gets every line.
ELEMENT_TEST(slow_reader) {
  for (const auto make : {make_buffer, make_long}) {
    const std::string path = make_pipe();
    Reader reader(path);
    Writer writer(path);
    Stream stream(writer, make);
    stream.wait_until_it_stalls();
    const guint64 held = stream.sent();
    std::string text = reader.read_up_to(1 << 18);
    fail_unless(stream.sent() > held, "no frame has passed since");
    gst_element_set_state(writer.harness->element, GST_STATE_NULL);
    stream.end();
    text = text.substr(0, text.rfind('\n') + 1);
    const auto timestamps = timestamps_of(text);
    fail_unless(timestamps.size() > held);
    for (std::size_t i = 0; i < timestamps.size(); ++i) assert_equals_int64(timestamps[i], i);
    unlink(path.c_str());
  }
}

ELEMENT_TEST(stalled_reader_and_stop) {
  const std::string path = make_pipe();
  const Reader reader(path);
  Writer writer(path);
  Stream stream(writer, make_buffer);
  stream.wait_until_it_stalls();
  gst_element_set_state(writer.harness->element, GST_STATE_NULL);
  assert_equals_int(stream.end(), GST_FLOW_FLUSHING);
}

ELEMENT_TEST(stalled_reader_and_flush) {
  const std::string path = make_pipe();
  Reader reader(path);
  Writer writer(path);
  for (int round = 0; round < 3; ++round) {
    Stream stream(writer, make_long);
    stream.wait_until_it_stalls();
    gst_harness_push_event(writer.harness, gst_event_new_flush_start());
    assert_equals_int(stream.end(), GST_FLOW_FLUSHING);
    gst_harness_push_event(writer.harness, gst_event_new_flush_stop(FALSE));
    gst_harness_push_event(writer.harness, new_segment());
    // A line that was begun is finished before the next one.
    std::string text = reader.read_all();
    assert_equals_int(gst_harness_push(writer.harness, make_buffer(12345)), GST_FLOW_OK);
    text += reader.read_all();
    const auto timestamps = timestamps_of(text);
    fail_unless(timestamps.size() > stream.sent());
    for (guint64 i = 0; i < stream.sent(); ++i) assert_equals_int64(timestamps[i], i);
    assert_equals_int64(timestamps.back(), 12345);
  }
}

ELEMENT_TEST(restart_after_unfinished_flush) {
  Writer writer;
  GstPad* sink = gst_element_get_static_pad(writer.harness->element, "sink");
  gst_pad_send_event(sink, gst_event_new_flush_start());
  gst_object_unref(sink);
  gst_element_set_state(writer.harness->element, GST_STATE_NULL);
  gst_pad_set_active(writer.harness->sinkpad, FALSE);
  gst_pad_set_active(writer.harness->sinkpad, TRUE);
  gst_harness_play(writer.harness);
  gst_harness_set_src_caps_str(writer.harness, "video/x-raw");
  writer.pass(make_buffer());
  assert_equals_int(timestamps_of(read_file(writer.path)).size(), 1);
}

/// By default the signal of a pipe without readers ends the process.
ELEMENT_TEST(reader_leaves) {
  const std::string path = make_pipe();
  Reader reader(path);
  Writer writer(path);
  writer.pass(make_buffer());
  reader.leave();
  assert_equals_int(gst_harness_push(writer.harness, make_buffer()), GST_FLOW_ERROR);
  assert_text(writer.error(GST_RESOURCE_ERROR_WRITE),
              "Cannot write to '" + path + "': Broken pipe");
  sigset_t pending;
  sigpending(&pending);
  assert_equals_int(sigismember(&pending, SIGPIPE), 0);
}

ELEMENT_TEST(reader_leaves_while_stalled) {
  const std::string path = make_pipe();
  Reader reader(path);
  Writer writer(path);
  Stream stream(writer, make_buffer);
  stream.wait_until_it_stalls();
  reader.leave();
  assert_equals_int(stream.end(), GST_FLOW_ERROR);
  writer.error(GST_RESOURCE_ERROR_WRITE);
}

/// Its flags are left alone: other programs share it.
ELEMENT_TEST(standard_output) {
  int ends[2];
  fail_unless(pipe(ends) == 0);
  Reader reader(ends[0]);
  const int before = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  {
    Writer writer("");
    Stream stream(writer, make_buffer);
    stream.wait_until_it_stalls();
    assert_equals_int(fcntl(STDOUT_FILENO, F_GETFL) & O_NONBLOCK, 0);
    gst_element_set_state(writer.harness->element, GST_STATE_NULL);
    assert_equals_int(stream.end(), GST_FLOW_FLUSHING);
    assert_equals_int(timestamps_of(reader.read_all()).size(), stream.sent());
    reader.leave();
    gst_harness_play(writer.harness);
    assert_equals_int(gst_harness_push(writer.harness, make_buffer()), GST_FLOW_ERROR);
    assert_text(writer.error(GST_RESOURCE_ERROR_WRITE),
                "Cannot write to standard output: Broken pipe");
  }
  dup2(before, STDOUT_FILENO);
  close(before);
}

}  // namespace
