// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The pad `response`: its images, its stream and flow, and adding and removing it while the main
// stream flows.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "screen.hpp"

namespace {

constexpr int width = 90, height = 60, patch_width = 16, patch_height = 12;

struct Place {
  int x, y;
};
constexpr Place here{31, 22}, there{50, 40};

Gray scene() { return texture(width, height); }

std::string patch(Place place = here) {
  return save(crop(scene(), place.x, place.y, patch_width, patch_height),
              "at" + std::to_string(place.x) + ".png");
}

/// ccoeff-normed, by its formula.
double score(const Gray& frame, Place at, const Gray& pattern) {
  const double n = pattern.width * pattern.height;
  double f = 0, t = 0, ff = 0, tt = 0, ft = 0;
  for (int y = 0; y < pattern.height; ++y)
    for (int x = 0; x < pattern.width; ++x) {
      const double a = frame.at(at.x + x, at.y + y), b = pattern.at(x, y);
      f += a, t += b, ff += a * a, tt += b * b, ft += a * b;
    }
  return (n * ft - f * t) / std::sqrt((n * ff - f * f) * (n * tt - t * t));
}

void assert_brightest(const Gray& image, Place place) {
  const auto brightest = std::max_element(image.pixels.begin(), image.pixels.end());
  assert_equals_int(*brightest, 255);
  assert_equals_int(brightest - image.pixels.begin(), place.y * image.width + place.x);
}

ELEMENT_TEST(pixels_are_the_scores) {
  const Gray frame = scene(), pattern = crop(frame, here.x, here.y, patch_width, patch_height);
  Finder finder("subpixel=false template=" + patch());
  Screen screen(finder.element);
  assert_at(finder.find(frame).peaks.at(0), here.x, here.y);
  const Gray image = screen.image(width, height);
  assert_brightest(image, here);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const bool room = x <= width - patch_width && y <= height - patch_height;
      const double wanted = room ? 255 * std::max(0.0, score(frame, {x, y}, pattern)) : 0;
      fail_unless(std::abs(image.at(x, y) - wanted) <= 0.51, "%d at %d,%d, expected %f",
                  image.at(x, y), x, y, wanted);
    }
}

/// By every method an exact copy is white.
ELEMENT_TEST(white_is_an_exact_copy) {
  for (const char* method :
       {"sqdiff", "sqdiff-normed", "ccorr", "ccorr-normed", "ccoeff", "ccoeff-normed"}) {
    Finder finder("template=" + patch() + " method=" + method);
    Screen screen(finder.element);
    finder.find(scene());
    assert_equals_int(screen.image(width, height).at(here.x, here.y), 255);
  }
}

ELEMENT_TEST(the_template_is_chosen) {
  Finder finder("templates=\"" + array_of({patch(here), patch(there)}) + "\"");
  Screen screen(finder.element);
  finder.find(scene());
  assert_brightest(screen.image(width, height), here);
  finder.set("response-template", "1");
  finder.find(scene());
  assert_brightest(screen.image(width, height), there);
  finder.set("response-template", "2");
  finder.find(scene());
  assert_equals_int(screen.buffers.size(), 2);
  assert_equals_int(screen.count(GST_EVENT_GAP), 1);
}

ELEMENT_TEST(tracks_and_regions) {
  Finder finder("track=true tracker=template search-region=\"<20,10,60,40>\" template=" + patch());
  Screen screen(finder.element);
  for (int i = 0; i < 3; ++i) {
    finder.find(scene());
    const Gray image = screen.image(width, height);
    assert_brightest(image, here);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        if (x < 20 || y < 10 || x > 80 - patch_width || y > 50 - patch_height)
          assert_equals_int(image.at(x, y), 0);
  }
}

GstBuffer* frame_at(GstClockTime pts) {
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, scene());
  GST_BUFFER_PTS(buffer) = pts;
  GST_BUFFER_DURATION(buffer) = 40 * GST_MSECOND;
  return buffer;
}

ELEMENT_TEST(times_and_gaps) {
  Finder finder("interval=2 template=" + patch());
  Screen screen(finder.element);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  for (int i = 0; i < 4; ++i) finder.find(frame_at(i * 40 * GST_MSECOND));
  assert_equals_int(screen.buffers.size(), 2);
  assert_equals_uint64(GST_BUFFER_PTS(screen.buffers[0]), 0);
  assert_equals_uint64(GST_BUFFER_PTS(screen.buffers[1]), 80 * GST_MSECOND);
  assert_equals_uint64(GST_BUFFER_DURATION(screen.buffers[1]), 40 * GST_MSECOND);
  assert_equals_int(screen.count(GST_EVENT_GAP), 2);
  GstClockTime pts, duration;
  gst_event_parse_gap(screen.events.back(), &pts, &duration);
  assert_equals_uint64(pts, 120 * GST_MSECOND);
  assert_equals_uint64(duration, 40 * GST_MSECOND);
}

/// Images of frames in flight leave with their frames, at the latest at the end.
ELEMENT_TEST(with_several_frames_in_work) {
  Finder finder("async-depth=3 template=" + patch());
  Screen screen(finder.element);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  for (int i = 0; i < 4; ++i) {
    fail_unless_equals_int(gst_harness_push(finder.harness, frame_at(i * 40 * GST_MSECOND)),
                           GST_FLOW_OK);
    assert_equals_int(screen.buffers.size(), std::max(0, i - 1));
    assert_equals_int(gst_harness_buffers_in_queue(finder.harness), std::max(0, i - 1));
  }
  assert_equals_uint64(screen.latency(), 80 * GST_MSECOND);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_eos()));
  assert_equals_int(screen.buffers.size(), 4);
  for (int i = 0; i < 4; ++i)
    assert_equals_uint64(GST_BUFFER_PTS(screen.buffers[i]), i * 40 * GST_MSECOND);
  assert_equals_int(GST_EVENT_TYPE(screen.events.back()), GST_EVENT_EOS);
  assert_brightest(screen.image(width, height), here);
}

/// So that a sink can preroll.
ELEMENT_TEST(without_templates_there_are_gaps) {
  Finder finder("");
  Screen screen(finder.element);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  gst_buffer_unref(finder.pass(frame_at(0)));
  assert_equals_int(screen.buffers.size(), 0);
  assert_equals_int(screen.count(GST_EVENT_GAP), 1);
}

ELEMENT_TEST(has_a_stream_of_its_own) {
  Finder finder("template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_NV12, width, height);
  Screen screen(finder.element);  // comes after the main stream's events
  gst_buffer_unref(finder.pass(make_frame(GST_VIDEO_FORMAT_NV12, scene())));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_eos()));
  const GstEventType order[] = {GST_EVENT_STREAM_START, GST_EVENT_CAPS, GST_EVENT_SEGMENT,
                                GST_EVENT_EOS};
  assert_equals_int(screen.events.size(), std::size(order));
  for (std::size_t i = 0; i < std::size(order); ++i)
    assert_equals_int(GST_EVENT_TYPE(screen.events[i]), order[i]);
  const gchar* id;
  gst_event_parse_stream_start(screen.events[0], &id);
  fail_unless(g_str_has_suffix(id, "/response"), "%s", id);
  GstCaps* caps;
  gst_event_parse_caps(screen.events[1], &caps);
  GstVideoInfo info;
  fail_unless(gst_video_info_from_caps(&info, caps));
  assert_equals_int(GST_VIDEO_INFO_FORMAT(&info), GST_VIDEO_FORMAT_GRAY8);
  assert_equals_int(info.width, width);
  assert_equals_int(info.height, height);
  assert_equals_int(info.fps_n, 25);
}

ELEMENT_TEST(other_caps_and_flushes) {
  Finder finder("template=" + patch());
  Screen screen(finder.element);
  finder.find(crop(scene(), 10, 10, 70, 45));
  assert_brightest(screen.image(70, 45), {here.x - 10, here.y - 10});
  finder.find(scene());
  assert_brightest(screen.image(width, height), here);
  assert_equals_int(screen.count(GST_EVENT_CAPS), 2);
  const int segments = screen.count(GST_EVENT_SEGMENT);
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_start()));
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_flush_stop(TRUE)));
  assert_equals_int(screen.count(GST_EVENT_FLUSH_START), 1);
  assert_equals_int(screen.count(GST_EVENT_FLUSH_STOP), 1);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.time = GST_SECOND;
  fail_unless(gst_harness_push_event(finder.harness, gst_event_new_segment(&segment)));
  finder.find(frame_at(GST_SECOND));
  assert_equals_int(screen.buffers.size(), 3);
  assert_equals_int(screen.count(GST_EVENT_SEGMENT), segments + 1);
  const GstSegment* got;
  gst_event_parse_segment(screen.events.back(), &got);
  assert_equals_uint64(got->start, GST_SECOND);
}

ELEMENT_TEST(starts_again) {
  Finder finder("template=" + patch());
  Screen screen(finder.element);
  for (int round = 0; round < 2; ++round) {
    finder.find(scene());
    assert_equals_int(screen.buffers.size(), round + 1);
    assert_equals_int(screen.count(GST_EVENT_STREAM_START), round + 1);
    gst_element_set_state(finder.harness->element, GST_STATE_READY);
    gst_element_set_state(finder.harness->element, GST_STATE_PLAYING);
    gst_harness_push_event(finder.harness, gst_event_new_stream_start("again"));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
    gst_harness_push_event(finder.harness, new_segment());
  }
}

GstFlowReturn push(Finder& finder) {
  const GstFlowReturn flow =
      gst_harness_push(finder.harness, make_frame(GST_VIDEO_FORMAT_GRAY8, scene()));
  if (GstBuffer* buffer = gst_harness_try_pull(finder.harness)) gst_buffer_unref(buffer);
  return flow;
}

ELEMENT_TEST(flows_are_combined) {
  Finder finder("template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  Screen screen(finder.element);
  for (const GstFlowReturn harmless : {GST_FLOW_OK, GST_FLOW_NOT_LINKED, GST_FLOW_EOS}) {
    screen.flow = harmless;
    assert_equals_int(push(finder), GST_FLOW_OK);
  }
  screen.flow = GST_FLOW_ERROR;
  assert_equals_int(push(finder), GST_FLOW_ERROR);
}

ELEMENT_TEST(there_is_one_pad) {
  Finder finder("template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  for (int round = 0; round < 3; ++round) {
    {
      Screen screen(finder.element);
      GstPadTemplate* pad_template = gst_element_get_pad_template(finder.element, "response");
      fail_unless(!gst_element_request_pad(finder.element, pad_template, nullptr, nullptr));
      assert_equals_int(push(finder), GST_FLOW_OK);
      assert_brightest(screen.image(width, height), here);
    }
    assert_equals_int(push(finder), GST_FLOW_OK);
  }
  GstPad* unlinked = gst_element_request_pad_simple(finder.element, "response");
  assert_equals_int(push(finder), GST_FLOW_OK);
  gst_element_release_request_pad(finder.element, unlinked);
  gst_object_unref(unlinked);
}

ELEMENT_TEST(comes_and_goes_while_frames_flow) {
  Finder finder("template=" + patch());
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, width, height);
  std::atomic<bool> over = false;
  std::atomic<int> frames = 0;
  constexpr int rounds = 300, every = 3;
  int images = 0;
  std::thread application([&] {
    for (int round = 0; round < rounds; ++round) {
      Screen screen(finder.element);
      if (round % every != 0) continue;
      // The second of these frames begins when the pad is there.
      for (int seen = frames, last = seen + 2; seen < last; seen = frames) frames.wait(seen);
      images += screen.taken > 0;
    }
    over = true;
  });
  while (!over) {
    assert_equals_int(push(finder), GST_FLOW_OK);
    ++frames;
    frames.notify_one();
  }
  application.join();
  assert_equals_int(images, rounds / every);
}

}  // namespace
