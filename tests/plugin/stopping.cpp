// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What reaches the element from upstream while another thread stops it: queries take no notice of
// states, and an event may have been waiting for the stream lock.
#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <semaphore>
#include <thread>

#include "moving_patch.hpp"

namespace {

using namespace std::chrono_literals;

/// The element itself, without a harness around it, so that the sink pad is that of the element.
class Stopped {
 public:
  explicit Stopped(const char* depth) {
    g_object_set(element, "template", World().file.c_str(), nullptr);
    gst_util_set_object_arg(G_OBJECT(element), "backend", backend());
    gst_util_set_object_arg(G_OBJECT(element), "async-depth", depth);
    // What leaves ends here.
    gst_pad_set_chain_function(end, [](GstPad*, GstObject*, GstBuffer* buffer) {
      gst_buffer_unref(buffer);
      return GST_FLOW_OK;
    });
    GstPad* src = gst_element_get_static_pad(element, "src");
    gst_pad_link(src, end);
    gst_object_unref(src);
  }
  ~Stopped() {
    stop();
    gst_pad_set_active(end, FALSE);
    gst_object_unref(sink);
    gst_object_unref(element);
    gst_object_unref(end);
  }

  void start() {
    gst_pad_set_active(end, TRUE);
    gst_element_set_state(element, GST_STATE_PLAYING);
    send(gst_event_new_stream_start("stream"));
    GstCaps* caps = gst_caps_from_string("video/x-raw,format=GRAY8,width=320,height=200");
    send(gst_event_new_caps(caps));
    gst_caps_unref(caps);
    send(new_segment());
  }
  void stop() { gst_element_set_state(element, GST_STATE_NULL); }
  void send(GstEvent* event) { fail_unless(gst_pad_send_event(sink, event)); }
  void push(GstBuffer* buffer) { assert_equals_int(gst_pad_chain(sink, buffer), GST_FLOW_OK); }
  void drain() {
    GstQuery* query = gst_query_new_drain();
    gst_pad_query(sink, query);
    gst_query_unref(query);
  }
  void ask_for_allocation() {
    GstCaps* caps = gst_caps_from_string("video/x-raw,format=GRAY8,width=320,height=200");
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    gst_pad_query(sink, query);
    gst_query_unref(query);
    gst_caps_unref(caps);
  }

  GstElement* element = gst_element_factory_make("cudaxcorr", nullptr);
  GstPad* sink = gst_element_get_static_pad(element, "sink");
  GstPad* end = gst_pad_new("end", GST_PAD_SINK);
};

/// A frame whose memory calls back when it is released.
GstBuffer* frame_that_tells(const Gray& image, std::function<void()>* released) {
  const gsize size = image.pixels.size();
  return gst_buffer_new_wrapped_full(
      GST_MEMORY_FLAG_READONLY, const_cast<std::uint8_t*>(image.pixels.data()), size, 0, size,
      released, [](gpointer told) { (*static_cast<std::function<void()>*>(told))(); });
}

/// The query comes when the first of the frames in work has been dropped.
ELEMENT_TEST(query_while_frames_are_dropped) {
  const Gray image = World().frame({{100, 90}});
  Stopped stopped("8");
  for (int round = 0; round < 3; ++round) {
    std::binary_semaphore dropping(0);
    std::atomic<bool> first = true;
    std::function<void()> released = [&] {
      if (!first.exchange(false)) return;
      dropping.release();
      std::this_thread::sleep_for(100ms);
    };
    stopped.start();
    for (int i = 0; i < 5; ++i) stopped.push(frame_that_tells(image, &released));
    std::thread asking([&] {
      dropping.acquire();
      stopped.drain();
      stopped.ask_for_allocation();
    });
    stopped.stop();
    asking.join();
  }
}

ELEMENT_TEST(queries_after_the_stop) {
  Stopped stopped("4");
  stopped.drain();
  stopped.ask_for_allocation();
  stopped.start();
  stopped.ask_for_allocation();
  stopped.stop();
  stopped.drain();
  stopped.ask_for_allocation();
}

/// An event that is let in while the element plays, and gets the stream lock when it has stopped.
ELEMENT_TEST(flush_that_waits_for_the_stop) {
  Stopped stopped("4");
  stopped.start();
  stopped.push(make_frame(GST_VIDEO_FORMAT_GRAY8, World().frame({{100, 90}})));
  stopped.send(gst_event_new_flush_start());
  GST_PAD_STREAM_LOCK(stopped.sink);
  std::thread flushing([&] { gst_pad_send_event(stopped.sink, gst_event_new_flush_stop(TRUE)); });
  std::this_thread::sleep_for(100ms);
  stopped.stop();
  GST_PAD_STREAM_UNLOCK(stopped.sink);
  flushing.join();
}

/// What a frame of these takes minutes for.
constexpr const char* long_work[] = {
    "cudaxcorr angle-extent=360 scale-max=1.05 pyramid-levels=0 max-memory=0 template=",
    "cudaxcorr angle-extent=360 scale-max=1.05 exhaustive=true track=true max-memory=0 template=",
    "cudaxcorrfield spacing=1 windows=<256> search-range=64",
    "cudaxcorrfield spacing=1 windows=<64,32> subpixel=least-squares order=2",
};

/// A tenth of it on an idle machine.
constexpr Seconds soon{5};

/// Noise through an element that works on it when this returns.
GstElement* play_through(const std::string& element, const char* where = backend()) {
  const bool wants_template = element.ends_with('=');
  const std::string file = wants_template ? save(texture(100, 100, 3), "large.png") : "";
  GstElement* pipeline = gst_parse_launch(
      ("videotestsrc pattern=snow ! video/x-raw,format=GRAY8,width=1280,height=720 ! " + element +
       file + " name=long ! fakesink")
          .c_str(),
      nullptr);
  GstElement* element_of = gst_bin_get_by_name(GST_BIN(pipeline), "long");
  gst_util_set_object_arg(G_OBJECT(element_of), "backend", where);
  gst_object_unref(element_of);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  std::this_thread::sleep_for(700ms);
  return pipeline;
}

ELEMENT_TESTS(stop_of_long_work, 0, std::size(long_work)) {
  GstElement* pipeline = play_through(long_work[__i__]);
  const Seconds taken = time_of([&] { gst_element_set_state(pipeline, GST_STATE_NULL); });
  fail_unless(taken < soon, "%.1f s", taken.count());
  gst_object_unref(pipeline);
}

/// And frames after the flush are worked on as before.
ELEMENT_TESTS(flush_of_long_work, 0, std::size(long_work)) {
  GstElement* pipeline = play_through(long_work[__i__]);
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), "long");
  GstPad* sink = gst_element_get_static_pad(element, "sink");
  const Seconds taken = time_of([&] {
    gst_pad_send_event(sink, gst_event_new_flush_start());
    gst_pad_send_event(sink, gst_event_new_flush_stop(TRUE));
  });
  fail_unless(taken < soon, "%.1f s", taken.count());
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(sink);
  gst_object_unref(element);
  gst_object_unref(pipeline);
}

/// It is said beforehand.
ELEMENT_TESTS(warning_of_long_work, 0, std::size(long_work)) {
  GstElement* pipeline = play_through(long_work[__i__], "cpu");
  GstBus* bus = gst_element_get_bus(pipeline);
  GstMessage* message = gst_bus_timed_pop_filtered(bus, 60 * GST_SECOND, GST_MESSAGE_WARNING);
  fail_unless(message != nullptr);
  const std::string text = text_of(message, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED);
  fail_unless(text.find("A frame takes about ") != std::string::npos, "%s", text.c_str());
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
}

/// Everything at once, as it comes. What must come in order, after a stream's first events, takes
/// turns.
ELEMENT_TEST(queries_and_events_through_starts_and_stops) {
  const World world;
  Stopped stopped("4");
  std::atomic<bool> done = false;
  std::mutex turn;
  bool flows = false;  // in turn; a stop may refuse the segment after a flush
  std::vector<std::thread> threads;
  const auto repeat = [&](auto what) {
    threads.emplace_back([&done, what] {
      while (!done) {
        what();
        std::this_thread::sleep_for(50us);
      }
    });
  };
  repeat([&] { stopped.drain(); });
  repeat([&] { stopped.ask_for_allocation(); });
  repeat([&] {
    const std::lock_guard lock(turn);
    gst_pad_send_event(stopped.sink, gst_event_new_flush_start());
    gst_pad_send_event(stopped.sink, gst_event_new_flush_stop(FALSE));
    flows = gst_pad_send_event(stopped.sink, new_segment());
  });
  repeat([&] {
    const std::lock_guard lock(turn);
    if (flows)
      gst_pad_chain(stopped.sink, make_frame(GST_VIDEO_FORMAT_GRAY8, world.frame({{100, 90}})));
  });
  const auto end = std::chrono::steady_clock::now() + 3s;
  for (int round = 0; std::chrono::steady_clock::now() < end; ++round) {
    {
      const std::lock_guard lock(turn);
      stopped.start();
      flows = true;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(1000 * (round % 8)));
    stopped.stop();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
