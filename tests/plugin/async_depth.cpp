// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Several frames in flight: which frames leave when, in which order relative to each other and to
// events, and with which results; what happens to them when something changes or ends.
#include <sstream>

#include "moving_patch.hpp"

namespace {

constexpr GstClockTime frame_time = 40 * GST_MSECOND;  // the harness's 25 frames/s

/// Frame n shows the patch at place_of(n) and has the timestamp n * frame_time.
Place place_of(int n) { return {10 + 17 * n % 290, 20 + 11 * n % 160}; }

class Stream {
 public:
  explicit Stream(const std::string& more) : finder_("subpixel=false " + more) {
    GstPad* pad = gst_element_get_static_pad(finder_.element, "src");
    const auto types = static_cast<GstPadProbeType>(
        GST_PAD_PROBE_TYPE_BUFFER | GST_PAD_PROBE_TYPE_EVENT_BOTH | GST_PAD_PROBE_TYPE_EVENT_FLUSH);
    gst_pad_add_probe(pad, types, note, this, nullptr);
    gst_object_unref(pad);
    finder_.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
    take_log();
  }

  Finder& finder() { return finder_; }

  GstBuffer* frame(int n) {
    GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, world_.frame({place_of(n)}));
    GST_BUFFER_PTS(buffer) = n * frame_time;
    GST_BUFFER_DURATION(buffer) = frame_time;
    return buffer;
  }
  void push(GstBuffer* buffer) {
    assert_equals_int(gst_harness_push(finder_.harness, buffer), GST_FLOW_OK);
  }
  void push(int first, int end) {
    for (int n = first; n < end; ++n) push(frame(n));
  }
  void push(GstEvent* event) { fail_unless(gst_harness_push_event(finder_.harness, event)); }

  /// What passed the source pad since the last call: frames by number, events by name.
  std::string take_log() {
    const std::string text = log_.str();
    log_.str("");
    return text;
  }

  /// Takes the next frame that left, which must be this one, and what was found in it.
  Found pull(int n) {
    GstBuffer* buffer = gst_harness_try_pull(finder_.harness);
    fail_unless(buffer != nullptr, "frame %d did not come", n);
    assert_equals_uint64(GST_BUFFER_PTS(buffer), n * frame_time);
    assert_equals_uint64(GST_BUFFER_DURATION(buffer), frame_time);
    const Found found = found_in(buffer);
    gst_buffer_unref(buffer);
    return found;
  }
  void pull_found(int first, int end) {
    for (int n = first; n < end; ++n) {
      const Found found = pull(n);
      fail_unless(found.analysed);
      assert_at(only(found), place_of(n).x, place_of(n).y);
    }
  }

 private:
  static GstPadProbeReturn note(GstPad*, GstPadProbeInfo* info, gpointer stream) {
    std::ostringstream& log = static_cast<Stream*>(stream)->log_;
    if (GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
        GST_PAD_PROBE_INFO_TYPE(info) & GST_PAD_PROBE_TYPE_BUFFER)
      log << GST_BUFFER_PTS(buffer) / frame_time << (GST_BUFFER_IS_DISCONT(buffer) ? "! " : " ");
    else if (GstEvent* event = GST_PAD_PROBE_INFO_EVENT(info); GST_EVENT_IS_DOWNSTREAM(event))
      log << GST_EVENT_TYPE_NAME(event) << " ";
    return GST_PAD_PROBE_OK;
  }

  World world_;
  std::ostringstream log_;
  Finder finder_;
};

std::string with_patch(const std::string& more) { return more + " template=" + World().file; }

ELEMENT_TEST(frames_leave_in_order_when_as_many_have_come) {
  Stream stream(with_patch("async-depth=3"));
  stream.push(0, 2);
  assert_text(stream.take_log(), "");
  stream.push(2, 3);
  assert_text(stream.take_log(), "0 ");
  stream.push(3, 12);
  assert_text(stream.take_log(), "1 2 3 4 5 6 7 8 9 ");
  stream.pull_found(0, 10);
}

ELEMENT_TEST(end_of_stream_comes_after_all_frames) {
  Stream stream(with_patch("async-depth=8"));
  stream.push(0, 5);
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "0 1 2 3 4 eos ");
  stream.pull_found(0, 5);
}

ELEMENT_TEST(events_keep_their_place) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 2);
  stream.push(gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "a", nullptr)));
  stream.push(2, 5);
  stream.push(gst_event_new_gap(5 * frame_time, frame_time));
  stream.push(6, 7);
  stream.push(new_segment());
  assert_text(stream.take_log(), "0 1 tag 2 3 4 gap 6 segment ");
  stream.pull_found(0, 5);
}

ELEMENT_TEST(queries_in_the_stream_get_all_frames_out) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  GstQuery* query = gst_query_new_drain();
  GstPad* pad = gst_element_get_static_pad(stream.finder().element, "sink");
  gst_pad_query(pad, query);
  gst_object_unref(pad);
  gst_query_unref(query);
  assert_text(stream.take_log(), "0 1 2 ");
}

ELEMENT_TEST(flush_drops_what_is_in_work) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  stream.push(gst_event_new_flush_start());
  stream.push(gst_event_new_flush_stop(TRUE));
  stream.push(new_segment());
  stream.push(10, 15);
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "flush-start flush-stop segment 10 11 12 13 14 eos ");
  stream.pull_found(10, 15);
}

ELEMENT_TEST(new_caps_come_after_the_old_frames) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  stream.finder().set_format(GST_VIDEO_FORMAT_NV12, frame_width - 30, frame_height);
  const World world;
  for (int n = 3; n < 6; ++n) {
    GstBuffer* buffer = make_frame(
        GST_VIDEO_FORMAT_NV12, crop(world.frame({{n, 9}}), 0, 0, frame_width - 30, frame_height));
    GST_BUFFER_PTS(buffer) = n * frame_time;
    GST_BUFFER_DURATION(buffer) = frame_time;
    stream.push(buffer);
  }
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "0 1 2 caps segment 3 4 5 eos ");
  stream.pull_found(0, 3);
  for (int n = 3; n < 6; ++n) assert_at(only(stream.pull(n)), n, 9);
}

/// The flag stays with its frame.
ELEMENT_TEST(discontinuity) {
  Stream stream(with_patch("async-depth=3"));
  stream.push(0, 4);
  GstBuffer* after_gap = stream.frame(9);
  GST_BUFFER_FLAG_SET(after_gap, GST_BUFFER_FLAG_DISCONT);
  stream.push(after_gap);
  stream.push(10, 14);
  assert_text(stream.take_log(), "0 1 2 3 9! 10 11 ");
}

ELEMENT_TEST(stop_with_frames_in_work) {
  Stream stream(with_patch("async-depth=4"));
  GstHarness* harness = stream.finder().harness;
  for (int round = 0; round < 3; ++round) {
    stream.push(0, 3);
    gst_element_set_state(harness->element, GST_STATE_READY);
    gst_element_set_state(harness->element, GST_STATE_PLAYING);
    gst_harness_push_event(harness, gst_event_new_stream_start("again"));
    stream.finder().set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
    stream.push(new_segment());
    stream.take_log();
  }
  stream.push(20, 24);
  assert_text(stream.take_log(), "20 ");
  stream.pull_found(20, 21);
}

ELEMENT_TEST(depth_changes_while_playing) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 4);
  assert_text(stream.take_log(), "0 ");
  stream.finder().set("async-depth", "1");
  stream.push(4, 6);
  assert_text(stream.take_log(), "1 2 3 4 5 ");
  stream.finder().set("async-depth", "2");
  stream.push(6, 8);
  assert_text(stream.take_log(), "6 ");
  stream.finder().set("async-depth", "32");
  stream.push(8, 10);
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "7 8 9 eos ");
  stream.pull_found(0, 10);
}

/// A frame is analysed by the settings at its arrival.
ELEMENT_TEST(templates_change_with_frames_in_work) {
  const Gray other = texture(patch_size, patch_size, 77);
  const std::string other_file = save(other, "other.png");
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  stream.finder().set("template", other_file);
  stream.push(3, 6);
  stream.finder().set("template", World().file);
  stream.push(6, 8);
  stream.push(gst_event_new_eos());
  stream.pull_found(0, 3);
  for (int n = 3; n < 6; ++n) assert_equals_int(stream.pull(n).peaks.size(), 0);
  stream.pull_found(6, 8);
}

ELEMENT_TEST(frames_without_templates_keep_their_place) {
  Stream stream("async-depth=3");
  stream.push(0, 4);
  stream.finder().set("template", World().file);
  stream.push(4, 6);
  assert_text(stream.take_log(), "0 1 2 3 ");
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "4 5 eos ");
  for (int n = 0; n < 4; ++n) {
    GstBuffer* buffer = gst_harness_try_pull(stream.finder().harness);
    fail_unless(gst_cuda_xcorr_get_result(buffer) == nullptr);
    gst_buffer_unref(buffer);
  }
  stream.pull_found(4, 6);
}

ELEMENT_TEST(interval_counts_frames_that_come) {
  Stream stream(with_patch("async-depth=4 interval=3"));
  stream.push(0, 9);
  stream.push(gst_event_new_eos());
  for (int n = 0; n < 9; ++n) assert_equals_int(stream.pull(n).analysed, n % 3 == 0);
}

ELEMENT_TEST(unknown_kernel_is_refused_with_frames_in_work) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  stream.finder().set("kernel", "none-such");
  stream.push(3, 6);
  text_of(stream.finder().message(GST_MESSAGE_WARNING), GST_LIBRARY_ERROR,
          GST_LIBRARY_ERROR_SETTINGS);
  assert_text(stream.finder().get("kernel"), "auto");
  stream.push(gst_event_new_eos());
  stream.pull_found(0, 6);
}

ELEMENT_TEST(bad_frame_keeps_its_place) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  GstBuffer* too_small = gst_buffer_new_allocate(nullptr, 100, nullptr);
  GST_BUFFER_PTS(too_small) = 3 * frame_time;
  GST_BUFFER_DURATION(too_small) = frame_time;
  stream.push(too_small);
  stream.push(4, 6);
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "0 1 2 3 4 5 eos ");
  stream.pull_found(0, 3);
  fail_if(stream.pull(3).analysed);
  stream.pull_found(4, 6);
}

/// With tracks each search depends on the one before; what was found leaves during the next one.
ELEMENT_TEST(tracks_have_two_frames_in_work) {
  Stream stream(with_patch("track=true tracker=template async-depth=4"));
  stream.push(0, 1);
  assert_text(stream.take_log(), "");
  stream.push(1, 6);
  assert_text(stream.take_log(), "0 1 2 3 4 ");
  stream.push(gst_event_new_eos());
  assert_text(stream.take_log(), "5 eos ");
  stream.pull_found(0, 6);
}

ELEMENT_TEST(tracking_begins_with_frames_in_work) {
  Stream stream(with_patch("async-depth=4"));
  stream.push(0, 3);
  stream.finder().set("track", "true");
  stream.push(3, 5);
  assert_text(stream.take_log(), "0 1 2 3 ");
  stream.pull_found(0, 4);
}

ELEMENT_TEST(latency_is_told) {
  Stream stream(with_patch("async-depth=3"));
  GstHarness* harness = stream.finder().harness;
  gst_harness_set_upstream_latency(harness, 30 * GST_MSECOND);
  stream.push(0, 1);
  GstMessage* message = stream.finder().message(GST_MESSAGE_LATENCY);
  fail_unless(message != nullptr, "the pipeline was not told");
  gst_message_unref(message);
  assert_equals_uint64(gst_harness_query_latency(harness), 30 * GST_MSECOND + 2 * frame_time);

  stream.push(1, 3);
  fail_unless(stream.finder().message(GST_MESSAGE_LATENCY) == nullptr, "told without a change");
  stream.finder().set("async-depth", "1");
  stream.push(3, 4);
  message = stream.finder().message(GST_MESSAGE_LATENCY);
  fail_unless(message != nullptr, "the pipeline was not told of the change");
  gst_message_unref(message);
  assert_equals_uint64(gst_harness_query_latency(harness), 30 * GST_MSECOND);
}

/// A frame every 68 years: 31 of them are no GstClockTime.
ELEMENT_TEST(latency_of_the_lowest_frame_rate) {
  Finder finder(with_patch("async-depth=32"));
  gst_harness_set_src_caps_str(
      finder.harness, "video/x-raw,format=GRAY8,width=320,height=200,framerate=1/2147483647");
  gst_harness_set_upstream_latency(finder.harness, 30 * GST_MSECOND);
  gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, World().background));
  assert_equals_uint64(gst_harness_query_latency(finder.harness), G_MAXINT64);
  finder.set("async-depth", "2");
  gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, World().background));
  assert_equals_uint64(gst_harness_query_latency(finder.harness),
                       30 * GST_MSECOND + 2147483647 * GST_SECOND);
}

ELEMENT_TEST(shared_frames_are_not_copied) {
  Stream stream(with_patch("async-depth=2"));
  GstBuffer* shared = gst_buffer_ref(stream.frame(0));
  stream.push(shared);
  stream.push(1, 2);
  GstBuffer* out = gst_harness_try_pull(stream.finder().harness);
  fail_unless(out != shared);
  fail_unless(gst_buffer_peek_memory(out, 0) == gst_buffer_peek_memory(shared, 0));
  gst_buffer_unref(out);
  gst_buffer_unref(shared);
}

}  // namespace
