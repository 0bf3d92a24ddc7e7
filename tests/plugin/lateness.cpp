// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of a live source that arrive too late pass unanalysed, and only those. The clock is the
// harness's, which stands still until it is set.
#include "support.hpp"

namespace {

constexpr GstClockTime frame_time = 40 * GST_MSECOND;

/// A stream with a frame every frame_time.
class Live {
 public:
  explicit Live(const std::string& more = "", bool live = true)
      : finder_("template=" + save(crop(scene_, 9, 9, 16, 12), "patch.png") + " " + more) {
    finder_.set_format(GST_VIDEO_FORMAT_GRAY8, scene_.width, scene_.height);
    gst_harness_set_live(finder_.harness, live);
    gst_harness_query_latency(finder_.harness);  // as a pipeline does when it begins to play
  }

  /// Whether the next frame was analysed, arriving this long after its own time.
  bool analysed(GstClockTime delay) {
    GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, scene_);
    GST_BUFFER_PTS(frame) = now_ - delay;
    fail_unless(gst_harness_set_time(finder_.harness, now_));
    now_ += frame_time;
    const Found found = finder_.find(frame);
    GstMessage* message = finder_.message(GST_MESSAGE_ELEMENT);
    assert_equals_int(message != nullptr, found.analysed);
    if (message) gst_message_unref(message);
    assert_equals_int(found.peaks.size(), found.analysed);
    return found.analysed;
  }

  guint64 count(const char* field) { return stat_of(finder_.element, field); }

  Finder& finder() { return finder_; }

 private:
  Gray scene_ = texture(60, 40);
  Finder finder_;
  GstClockTime now_ = 10 * GST_SECOND;
};

ELEMENT_TEST(late_frames_pass_unanalysed) {
  Live live;
  fail_unless(live.analysed(33 * GST_MSECOND));
  fail_unless(live.analysed(83 * GST_MSECOND), "50 ms more than usual are allowed");
  fail_unless(!live.analysed(84 * GST_MSECOND));
  fail_unless(!live.analysed(200 * GST_MSECOND));
  fail_unless(live.analysed(50 * GST_MSECOND));
  assert_equals_uint64(live.count("frames"), 5);
  assert_equals_uint64(live.count("analysed"), 3);
  assert_equals_uint64(live.count("skipped"), 2);
  assert_equals_uint64(live.count("late"), 2);
}

/// A constant delay, by a network or a decoder, is not lateness.
ELEMENT_TEST(usual_delay_does_not_count) {
  Live live;
  for (int i = 0; i < 50; ++i) fail_unless(live.analysed(700 * GST_MSECOND + i % 5 * GST_MSECOND));
  assert_equals_uint64(live.count("late"), 0);
}

/// Skipping frames does not reduce such a delay, so analysis continues.
ELEMENT_TEST(delay_that_stays_becomes_usual) {
  Live live;
  fail_unless(live.analysed(0));
  int unanalysed = 0;
  while (!live.analysed(300 * GST_MSECOND)) ++unanalysed;
  assert_equals_int(unanalysed, GST_SECOND / frame_time + 1);
  for (int i = 0; i < 10; ++i) fail_unless(live.analysed(300 * GST_MSECOND));
}

ELEMENT_TEST(limit_is_a_property) {
  Live live("max-lateness=5000000");
  fail_unless(live.analysed(0));
  fail_unless(!live.analysed(6 * GST_MSECOND));
  live.finder().set("max-lateness", "-1");
  fail_unless(live.analysed(500 * GST_MSECOND));
}

ELEMENT_TEST(frames_of_no_live_source_are_never_late) {
  Live file("", false);
  fail_unless(file.analysed(0));
  fail_unless(file.analysed(GST_SECOND));
}

/// If a late frame was due, the next one is analysed in its place.
/// Its times are unknown, so it is never late.
ELEMENT_TEST(stream_of_bytes) {
  for (const char* more : {"", "async-depth=3"}) {
    Finder finder(std::string("template=") +
                  save(crop(texture(60, 40), 9, 9, 16, 12), "patch.png") + " " + more);
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, 60, 40);
    gst_harness_set_live(finder.harness, true);
    gst_harness_query_latency(finder.harness);
    GstPad* pad = gst_element_request_pad_simple(finder.element, "response");
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_BYTES);
    gst_harness_push_event(finder.harness, gst_event_new_segment(&segment));
    for (int i = 0; i < 3; ++i) {
      GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, texture(60, 40));
      GST_BUFFER_PTS(frame) = static_cast<GstClockTime>(i) * frame_time;
      assert_equals_int(gst_harness_push(finder.harness, frame), GST_FLOW_OK);
    }
    gst_harness_push_event(finder.harness, gst_event_new_eos());
    for (int i = 0; i < 3; ++i) {
      GstBuffer* out = gst_harness_pull(finder.harness);
      fail_unless(found_in(out).analysed);
      gst_buffer_unref(out);
      GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
      guint64 time = 0;
      fail_unless(
          gst_structure_get_uint64(gst_message_get_structure(message), "running-time", &time));
      fail_unless(time == GST_CLOCK_TIME_NONE);
      gst_message_unref(message);
    }
    gst_element_release_request_pad(finder.element, pad);
    gst_object_unref(pad);
  }
}

/// From a source whose clock is broken; a late one is not the end.
ELEMENT_TEST(timestamps_may_be_anything) {
  Live live;
  const GstClockTime half = G_MAXUINT64 / 2, second = GST_SECOND;
  for (const GstClockTime delay :
       {GstClockTime{0}, 10 * second, half, half + 20 * second, 11 * second})
    live.analysed(delay);
  assert_equals_uint64(live.count("frames"), 5);
}

ELEMENT_TEST(interval_goes_on_after_a_late_frame) {
  Live live("interval=3");
  fail_unless(live.analysed(0));
  fail_unless(!live.analysed(GST_SECOND / 2), "skipped");
  fail_unless(!live.analysed(0), "skipped");
  fail_unless(!live.analysed(GST_SECOND / 2), "late");
  fail_unless(live.analysed(0));
  assert_equals_uint64(live.count("late"), 1);
}

ELEMENT_TEST(flush_forgets_the_usual_delay) {
  Live live;
  fail_unless(live.analysed(0));
  Finder& finder = live.finder();
  gst_harness_push_event(finder.harness, gst_event_new_flush_start());
  gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE));
  gst_harness_push_event(finder.harness, new_segment());
  fail_unless(live.analysed(GST_SECOND));
}

}  // namespace
