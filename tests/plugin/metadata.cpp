// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What leaves the element: the custom meta and its fields, region-of-interest metas, messages; what
// becomes of metas further down a pipeline. The frames themselves are unchanged.
#include "support.hpp"

namespace {

constexpr int frame_width = 96, frame_height = 64;

/// A scene, a patch of 16x12 at 41,22 of it, and the end of the launch line for them.
struct Example {
  Gray scene = texture(frame_width, frame_height);
  std::string file = save(crop(scene, 41, 22, 16, 12), "left.eye.png");
};

void assert_fields(const GstStructure* result, GstClockTime pts) {
  gint width, height;
  guint64 time, taken;
  gboolean analysed;
  fail_unless(gst_structure_get(result, "frame-width", G_TYPE_INT, &width, "frame-height",
                                G_TYPE_INT, &height, "pts", G_TYPE_UINT64, &time, "processing-time",
                                G_TYPE_UINT64, &taken, "analysed", G_TYPE_BOOLEAN, &analysed,
                                nullptr));
  assert_equals_int(width, frame_width);
  assert_equals_int(height, frame_height);
  assert_equals_uint64(time, pts);
  fail_unless(taken > 0);
  fail_unless(analysed);
  assert_equals_string(gst_structure_get_string(result, "backend"), backend());
  fail_unless(gst_structure_get_string(result, "kernel")[0] != '\0');
  assert_equals_int(gst_cuda_xcorr_get_n_peaks(result), 1);

  GstCudaXCorrPeak peak;
  fail_unless(gst_cuda_xcorr_get_peak(result, 0, &peak));
  assert_equals_int(peak.template_index, 0);
  assert_equals_string(peak.label, "left.eye");
  assert_equals_uint64(peak.id, 0);
  assert_equals_float(peak.x, 41);
  assert_equals_float(peak.y, 22);
  assert_equals_float(peak.width, 16);
  assert_equals_float(peak.height, 12);
  assert_equals_float(peak.nx, 41.0 / frame_width);
  assert_equals_float(peak.ny, 22.0 / frame_height);
  assert_equals_float(peak.nwidth, 16.0 / frame_width);
  assert_equals_float(peak.nheight, 12.0 / frame_height);
  assert_equals_float(peak.score, 1);
  fail_unless(!peak.lost);
  fail_unless(!gst_cuda_xcorr_get_peak(result, 1, &peak));
}

ELEMENT_TEST(meta_fields) {
  const Example example;
  Finder finder("subpixel=false template=" + example.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene);
  GST_BUFFER_PTS(frame) = 3 * GST_SECOND;
  GstBuffer* out = finder.pass(frame);
  assert_fields(gst_cuda_xcorr_get_result(out), 3 * GST_SECOND);
  gst_buffer_unref(out);
}

ELEMENT_TEST(message_fields) {
  const Example example;
  Finder finder("subpixel=false template=" + example.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene);
  GST_BUFFER_PTS(frame) = 3 * GST_SECOND;
  GST_BUFFER_DURATION(frame) = GST_SECOND / 25;
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = GST_SECOND;
  segment.time = 10 * GST_SECOND;
  segment.base = 5 * GST_SECOND;
  gst_harness_push_event(finder.harness, gst_event_new_segment(&segment));
  gst_buffer_unref(finder.pass(frame));

  GstMessage* message = finder.message(GST_MESSAGE_ELEMENT);
  fail_unless(message != nullptr);
  fail_unless(GST_MESSAGE_SRC(message) == GST_OBJECT(finder.element));
  fail_unless(gst_message_has_name(message, "cudaxcorr"));
  const GstStructure* result = gst_message_get_structure(message);
  assert_fields(result, 3 * GST_SECOND);
  for (const auto& [field, seconds] :
       {std::pair{"timestamp", 3}, {"stream-time", 12}, {"running-time", 7}}) {
    guint64 time = 0;
    fail_unless(gst_structure_get_uint64(result, field, &time), "no %s", field);
    assert_equals_uint64(time, seconds * GST_SECOND);
  }
  guint64 duration = 0;
  fail_unless(gst_structure_get_uint64(result, "duration", &duration));
  assert_equals_uint64(duration, GST_SECOND / 25);
  gst_message_unref(message);
}

/// A frame with these reference timestamps, through an element with these properties.
GstStructure* result_of(const std::string& properties,
                        const std::vector<std::pair<const char*, GstClockTime>>& references) {
  const Example example;
  Finder finder("template=" + example.file + properties);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene);
  for (const auto& [reference, time] : references) {
    GstCaps* caps = gst_caps_from_string(reference);
    gst_buffer_add_reference_timestamp_meta(frame, caps, time, GST_CLOCK_TIME_NONE);
    gst_caps_unref(caps);
  }
  GstBuffer* out = finder.pass(frame);
  GstStructure* result = gst_structure_copy(gst_cuda_xcorr_get_result(out));
  gst_buffer_unref(out);
  return result;
}

ELEMENT_TEST(camera) {
  GstStructure* named = result_of(" camera-id=gate-2", {});
  assert_equals_string(gst_structure_get_string(named, "camera"), "gate-2");
  GstStructure* nameless = result_of("", {});
  fail_if(gst_structure_has_field(nameless, "camera"));
  gst_structure_free(named);
  gst_structure_free(nameless);
}

/// The last second of 2016, which no leap second follows in Unix time, 1970 and 2554, the last year
/// that fits. Of references only those in UTC tell it.
ELEMENT_TEST(utc) {
  constexpr GstClockTime unix_time = 1483228799 * GST_SECOND + 7, ntp = 2208988800 * GST_SECOND;
  const struct {
    std::vector<std::pair<const char*, GstClockTime>> references;
    const char* expected;
  } cases[] = {
      {{{"timestamp/x-unix", unix_time}}, "2016-12-31T23:59:59.000000007Z"},
      {{{"timestamp/x-ntp", unix_time + ntp}}, "2016-12-31T23:59:59.000000007Z"},
      {{{"timestamp/x-ntp, host=time.example, port=123", ntp}}, "1970-01-01T00:00:00.000000000Z"},
      {{{"timestamp/x-camera-stream", 5}, {"timestamp/x-unix", unix_time}},
       "2016-12-31T23:59:59.000000007Z"},
      {{{"timestamp/x-unix", GST_CLOCK_TIME_NONE - 1}}, "2554-07-21T23:34:33.709551614Z"},
      {{{"timestamp/x-ntp", ntp - 1}}, nullptr},
      {{{"timestamp/x-ptp, version=IEEE1588-2008, domain=1", unix_time}}, nullptr},
      {{}, nullptr},
  };
  for (const auto& [references, expected] : cases) {
    GstStructure* result = result_of("", references);
    assert_equals_string(gst_structure_get_string(result, "utc"), expected);
    gst_structure_free(result);
  }
}

ELEMENT_TEST(messages_can_be_off) {
  const Example example;
  Finder finder("post-messages=false template=" + example.file);
  assert_equals_int(finder.find(example.scene).peaks.size(), 1);
  fail_unless(finder.message(GST_MESSAGE_ELEMENT) == nullptr);
}

ELEMENT_TEST(roi_meta) {
  const Example example;
  Finder finder("subpixel=false template=" + example.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene));
  assert_equals_int(gst_buffer_get_n_meta(out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 1);
  const GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
  assert_equals_string(g_quark_to_string(roi->roi_type), "left.eye");
  assert_equals_int(roi->x, 41);
  assert_equals_int(roi->y, 22);
  assert_equals_int(roi->w, 16);
  assert_equals_int(roi->h, 12);
  const GstStructure* fields = gst_video_region_of_interest_meta_get_param(
      const_cast<GstVideoRegionOfInterestMeta*>(roi), "cudaxcorr");
  gdouble score = 0;
  fail_unless(fields && gst_structure_get_double(fields, "score", &score));
  assert_equals_float(score, 1);
  gst_buffer_unref(out);
}

/// By which DL Streamer's elements know detections and tracks.
ELEMENT_TEST(roi_parameters_of_neighbours) {
  const Example example;
  for (const bool track : {false, true}) {
    for (const char* method : {"ccoeff-normed", "sqdiff", "ccorr"}) {
      Finder finder(std::string("subpixel=false track=") + (track ? "true" : "false") +
                    " method=" + method + " template=" + example.file);
      finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
      Gray scene(frame_width, frame_height);
      paste(scene, crop(example.scene, 41, 22, 16, 12), 48, 16);
      GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
      GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
      fail_unless(roi != nullptr);
      const GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection");
      fail_unless(detection != nullptr);
      gint label = -1;
      gdouble confidence = -1, left = 0, right = 0, top = 0, bottom = 0;
      fail_unless(gst_structure_get(detection, "label_id", G_TYPE_INT, &label, "confidence",
                                    G_TYPE_DOUBLE, &confidence, "x_min", G_TYPE_DOUBLE, &left,
                                    "x_max", G_TYPE_DOUBLE, &right, "y_min", G_TYPE_DOUBLE, &top,
                                    "y_max", G_TYPE_DOUBLE, &bottom, nullptr));
      assert_equals_int(label, 0);
      assert_equals_string(gst_structure_get_string(detection, "label"), "left.eye");
      assert_equals_float(left, 48.0 / frame_width);
      assert_equals_float(right, 64.0 / frame_width);
      assert_equals_float(top, 16.0 / frame_height);
      assert_equals_float(bottom, 28.0 / frame_height);
      fail_unless(confidence > 0 && confidence <= 1, "%s: %g", method, confidence);
      const GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id");
      fail_unless((object != nullptr) == track);
      gint id = 0;
      if (object) fail_unless(gst_structure_get_int(object, "id", &id));
      assert_equals_int(id, track ? 1 : 0);
      gst_buffer_unref(out);
    }
  }
}

/// A match in the very corner, where the sub-pixel place may be outside the frame.
ELEMENT_TEST(roi_stays_inside) {
  const Gray scene = texture(frame_width, frame_height);
  const struct { int x, y; } corners[] = {{0, 0}, {frame_width - 16, frame_height - 12}};
  for (const auto [x, y] : corners) {
    Finder finder("template=" + save(crop(scene, x, y, 16, 12), "corner.png"));
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
    GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
    const GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
    fail_unless(roi != nullptr);
    assert_equals_int(roi->x, x);
    assert_equals_int(roi->y, y);
    gst_buffer_unref(out);
  }
}

ELEMENT_TEST(roi_meta_can_be_off) {
  const Example example;
  Finder finder("attach-roi-meta=false template=" + example.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene));
  fail_unless(gst_buffer_get_video_region_of_interest_meta(out) == nullptr);
  assert_equals_int(found_in(out).peaks.size(), 1);
  gst_buffer_unref(out);
}

/// The meta survives conversion, scaling by two, a tee and a queue, and can be rescaled.
ELEMENT_TEST(meta_survives_and_rescales) {
  const Example example;
  Finder finder("subpixel=false template=" + example.file +
                " ! videoconvert ! videoscale ! video/x-raw, format=I420, width=192, height=32 ! "
                "tee ! queue");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* out = finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene));
  assert_fields(gst_cuda_xcorr_get_result(out), 0);
  GstCudaXCorrPeak peak;
  fail_unless(gst_cuda_xcorr_get_peak(gst_cuda_xcorr_get_result(out), 0, &peak));
  gst_cuda_xcorr_peak_rescale(&peak, 192, 32);
  assert_equals_float(peak.x, 82);
  assert_equals_float(peak.y, 11);
  assert_equals_float(peak.width, 32);
  assert_equals_float(peak.height, 6);
  const GstVideoRegionOfInterestMeta* roi = gst_buffer_get_video_region_of_interest_meta(out);
  fail_unless(roi != nullptr);
  assert_equals_int(roi->x, 82);
  assert_equals_int(roi->y, 11);
  gst_buffer_unref(out);
}

/// As another program might write them.
ELEMENT_TEST(results_that_are_none) {
  for (const char* text : {"result, peaks=(string)none;", "result, peaks=(int)<1,2>;",
                           "result, peaks=(structure)<\"peak, x=(double)1;\">;", "result;"}) {
    GstStructure* result = gst_structure_from_string(text, nullptr);
    GstCudaXCorrPeak peak;
    fail_if(gst_cuda_xcorr_get_peak(result, 0, &peak), "%s", text);
    gst_structure_free(result);
  }
}

ELEMENT_TEST(frames_are_unchanged) {
  const Example example;
  Finder finder("template=" + example.file);
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_NV12,
                                      GST_VIDEO_FORMAT_YUY2, GST_VIDEO_FORMAT_RGB}) {
    finder.set_format(format, frame_width, frame_height);
    GstBuffer* frame = make_frame(format, example.scene, 8);
    GstBuffer* before = gst_buffer_copy_deep(frame);
    GstBuffer* out = finder.pass(frame);
    assert_equals_int(found_in(out).peaks.size(), 1);
    GstMapInfo map;
    fail_unless(gst_buffer_map(out, &map, GST_MAP_READ));
    gst_check_buffer_data(before, map.data, map.size);
    gst_buffer_unmap(out, &map);
    gst_buffer_unref(before);
    gst_buffer_unref(out);
  }
}

/// As after a tee: someone else holds the buffer too. The pixels are not copied.
ELEMENT_TEST(shared_buffer_keeps_its_memory) {
  const Example example;
  Finder finder("template=" + example.file);
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene);
  GstMemory* memory = gst_buffer_peek_memory(frame, 0);
  GstBuffer* out = finder.pass(gst_buffer_ref(frame));
  fail_unless(out != frame);
  fail_unless(gst_buffer_peek_memory(out, 0) == memory);
  assert_equals_int(found_in(out).peaks.size(), 1);
  fail_unless(gst_cuda_xcorr_get_result(frame) == nullptr);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
}

ELEMENT_TEST(without_template_buffers_pass_as_they_are) {
  Finder finder("");
  finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, texture(frame_width, frame_height));
  GstBuffer* out = finder.pass(gst_buffer_ref(frame));
  fail_unless(out == frame);
  fail_unless(gst_cuda_xcorr_get_result(out) == nullptr);
  assert_equals_int(gst_cuda_xcorr_get_n_peaks(nullptr), 0);
  fail_unless(finder.message(GST_MESSAGE_ELEMENT) == nullptr);
  gst_buffer_unref(out);
  gst_buffer_unref(frame);
}

}  // namespace
