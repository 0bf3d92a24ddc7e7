// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GstAnalytics metas: a detection for each target in the frame, a tracking for each id.
#include <cmath>

#include "analytics_reader.hpp"

namespace {

constexpr int frame_width = 96, frame_height = 64;

/// A scene, a patch of 16x12 at 41,22 of it, and the element that searches for that.
struct Example {
  explicit Example(const std::string& properties)
      : finder(properties + " template=" + save(crop(scene, 41, 22, 16, 12), "left.png")) {
    finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  }
  Analytics look(const Gray& image, GstClockTime time = 0) {
    GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
    GST_BUFFER_PTS(frame) = time;
    GstBuffer* out = finder.pass(frame);
    const Analytics found = analytics_of(out);
    gst_buffer_unref(out);
    return found;
  }

  const Gray scene = texture(frame_width, frame_height);
  Finder finder;
};

ELEMENT_TEST(detection) {
  for (const char* method : {"ccoeff-normed", "sqdiff-normed", "ccoeff"}) {
    Example example(std::string("method=") + method);
    const Analytics found = example.look(example.scene);
    fail_unless(found.trackings.empty());
    assert_equals_int(found.detections.size(), 1);
    const Detection& one = found.detections[0];
    assert_text(one.label, "left");
    assert_equals_int(one.x, 41);
    assert_equals_int(one.y, 22);
    assert_equals_int(one.width, 16);
    assert_equals_int(one.height, 12);
    assert_equals_float(one.confidence, 1);
    assert_equals_uint64(one.tracked_as, 0);
  }
}

/// By a quarter, counter-clockwise: the box before its turn where GStreamer knows turned boxes,
/// else the upright bounds.
ELEMENT_TEST(turned_detection) {
  Example example("angle-start=80 angle-extent=20");
  const Gray patch = crop(example.scene, 41, 22, 16, 12);
  Gray turned(12, 16), scene = texture(frame_width, frame_height, 3);
  for (int y = 0; y < 16; ++y)
    for (int x = 0; x < 12; ++x) turned.at(x, y) = patch.at(15 - y, x);
  paste(scene, turned, 30, 20);
  GstBuffer* out = example.finder.pass(make_frame(GST_VIDEO_FORMAT_GRAY8, scene));
  GstAnalyticsRelationMeta* relations = gst_buffer_get_analytics_relation_meta(out);
  fail_unless(relations != nullptr);
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  fail_unless(gst_analytics_relation_meta_iterate(relations, &state,
                                                  gst_analytics_od_mtd_get_mtd_type(), &mtd));
  gint x, y, width, height;
  gfloat confidence;
#ifdef XCORR_ORIENTED_BOXES
  gfloat turn;
  fail_unless(gst_analytics_od_mtd_get_oriented_location(&mtd, &x, &y, &width, &height, &turn,
                                                         &confidence));
  fail_unless(std::abs(turn - 1.5 * G_PI) < 0.01, "%g", turn);
  assert_equals_int(x, 28);
  assert_equals_int(y, 22);
  assert_equals_int(width, 16);
  assert_equals_int(height, 12);
#else
  fail_unless(gst_analytics_od_mtd_get_location(&mtd, &x, &y, &width, &height, &confidence));
  assert_equals_int(x, 30);
  assert_equals_int(y, 20);
  assert_equals_int(width, 12);
  assert_equals_int(height, 16);
#endif
  gst_buffer_unref(out);
}

/// Of every method, also of those whose scores are plain sums, and of what is hardly alike.
ELEMENT_TEST(confidence_of_every_method) {
  for (const char* method :
       {"sqdiff", "sqdiff-normed", "ccorr", "ccorr-normed", "ccoeff", "ccoeff-normed"}) {
    for (const char* threshold : {"0.05", "0.5", "1"}) {
      Example example(std::string("max-peaks=50 min-peak-distance=1 method=") + method +
                      " threshold=" + threshold);
      Gray bright = example.scene;  // brighter than the template: sums are greater than its own
      for (std::uint8_t& pixel : bright.pixels) pixel = static_cast<std::uint8_t>(128 + pixel / 2);
      for (const Gray& scene : {example.scene, bright, texture(frame_width, frame_height, 9)}) {
        const Analytics found = example.look(scene);
        for (const Detection& one : found.detections)
          fail_unless(one.confidence >= 0 && one.confidence <= 1, "%s: %g", method, one.confidence);
        if (&scene == &example.scene) fail_unless(!found.detections.empty(), "%s", method);
      }
    }
  }
}

/// DL Streamer pairs a detection with the ROI meta of the same number, and makes another one where
/// there is none.
ELEMENT_TEST(numbers_of_roi_metas) {
  for (const char* properties : {"", "track=true tracker=template"}) {
    Example example(std::string("max-peaks=2 templates=\"<") +
                    save(texture(16, 12, 5), "right.png") + ">\" " + properties);
    Gray scene = example.scene;
    paste(scene, texture(16, 12, 5), 70, 40);
    GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, scene);
    GstAnalyticsRelationMeta* relations = gst_buffer_add_analytics_relation_meta(frame);
    GstAnalyticsODMtd others;  // so that ours do not begin with 0
    gst_analytics_relation_meta_add_od_mtd(relations, g_quark_from_string("other"), 1, 2, 3, 4, 0.5,
                                           &others);
    GstBuffer* out = example.finder.pass(frame);
    const Analytics found = analytics_of(out);
    assert_equals_int(found.detections.size(), 3);
    assert_equals_int(gst_buffer_get_n_meta(out, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE), 2);
    for (const Detection& one : found.detections) {
      if (one.label == "other") continue;
      GstVideoRegionOfInterestMeta* roi =
          gst_buffer_get_video_region_of_interest_meta_id(out, static_cast<gint>(one.id));
      fail_unless(roi != nullptr, "no ROI meta of number %u", one.id);
      assert_text(g_quark_to_string(roi->roi_type), one.label);
      assert_equals_int(roi->x, one.x);
      assert_equals_int(roi->y, one.y);
      gint track = 0;
      if (GstStructure* object = gst_video_region_of_interest_meta_get_param(roi, "object_id"))
        gst_structure_get_int(object, "id", &track);
      assert_equals_uint64(track, one.tracked_as);
    }
    gst_buffer_unref(out);
  }
}

/// Running times of the frames in which a target was seen first and last, whether it is lost or
/// not, and not those of frames that are not analysed.
ELEMENT_TEST(first_and_last_seen) {
  Example example("track=true tracker=template interval=2 post-messages=false");
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = segment.time = segment.position = 100 * GST_SECOND;
  const Gray empty(frame_width, frame_height, 100);
  gst_harness_push_event(example.finder.harness, gst_event_new_segment(&segment));
  // Two frames per second, every other one is analysed: seen at 0 to 3 s, then at 6 s again.
  for (int second = 0; second < 10; ++second) {
    const GstClockTime time = 100 * GST_SECOND + second * GST_SECOND;
    const bool there = second < 4 || second == 6;
    const Analytics found = example.look(there ? example.scene : empty, time);
    const GstClockTime last = second < 4 ? second : second < 6 ? 3 : 6;
    assert_equals_int(found.trackings.size(), 1);
    assert_equals_uint64(found.trackings[0].first_seen, 0);
    assert_equals_uint64(found.trackings[0].last_seen, last * GST_SECOND);
    assert_equals_int(found.trackings[0].lost, !there);
    const Analytics skipped = example.look(there ? example.scene : empty, time + GST_SECOND / 2);
    fail_unless(skipped.trackings.empty() && skipped.detections.empty());
  }
}

/// Times of a stream say nothing of the next one.
ELEMENT_TEST(seen_after_a_restart) {
  Example example("track=true tracker=template");
  example.look(example.scene, GST_SECOND);
  gst_element_set_state(example.finder.harness->element, GST_STATE_READY);
  gst_element_set_state(example.finder.harness->element, GST_STATE_PLAYING);
  gst_harness_push_event(example.finder.harness, gst_event_new_stream_start("again"));
  example.finder.set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  gst_harness_push_event(example.finder.harness, new_segment());
  const Analytics found = example.look(example.scene, 5 * GST_SECOND);
  assert_equals_int(found.trackings.size(), 1);
  assert_equals_uint64(found.trackings[0].id, 1);
  assert_equals_uint64(found.trackings[0].first_seen, 5 * GST_SECOND);
}

ELEMENT_TEST(tracking_and_its_loss) {
  Example example("track=true tracker=template");
  const Analytics found = example.look(example.scene, GST_SECOND);
  assert_equals_int(found.detections.size(), 1);
  assert_equals_int(found.trackings.size(), 1);
  assert_equals_uint64(found.trackings[0].id, 1);
  assert_equals_uint64(found.detections[0].tracked_as, 1);
  assert_equals_uint64(found.trackings[0].last_seen, GST_SECOND);
  fail_unless(!found.trackings[0].lost);
  for (int frame = 0; frame < 4; ++frame) example.look(example.scene);

  const Analytics missed = example.look(Gray(frame_width, frame_height, 100));
  fail_unless(missed.detections.empty(), "a detection of what is not there");
  assert_equals_int(missed.trackings.size(), 1);
  assert_equals_uint64(missed.trackings[0].id, 1);
  fail_unless(missed.trackings[0].lost);
}

/// Each detection is related to its own tracking, even if another target is lost.
ELEMENT_TEST(two_targets) {
  const Gray other = texture(16, 12, 5);
  Example example("track=true tracker=template templates=\"<" + save(other, "right.png") + ">\"");
  Gray both = example.scene;
  paste(both, other, 70, 40);
  const auto id_of = [](const Analytics& found, const std::string& label) {
    for (const Detection& one : found.detections)
      if (one.label == label) return one.tracked_as;
    return guint64{0};
  };
  Analytics found;
  for (int frame = 0; frame < 4; ++frame) found = example.look(both, frame * GST_SECOND);
  assert_equals_int(found.detections.size(), 2);
  assert_equals_int(found.trackings.size(), 2);
  const guint64 left = id_of(found, "left"), right = id_of(found, "right");
  fail_unless(left && right && left != right, "ids %d and %d", int(left), int(right));

  found = example.look(example.scene, 9 * GST_SECOND);  // the other one is gone
  assert_equals_int(found.detections.size(), 1);
  assert_equals_uint64(id_of(found, "left"), left);
  assert_equals_int(found.trackings.size(), 2);
  for (const Tracking& one : found.trackings) {
    fail_unless(one.id == left || one.id == right);
    fail_unless(one.lost == (one.id == right), "of %d", int(one.id));
    assert_equals_uint64(one.last_seen, (one.lost ? 3 : 9) * GST_SECOND);
    assert_equals_uint64(one.first_seen, 0);
  }
}

ELEMENT_TEST(nothing_where_nothing_is) {
  Example none("");
  const Analytics empty = none.look(Gray(frame_width, frame_height, 100));
  fail_unless(empty.detections.empty() && empty.trackings.empty());
  Example off("attach-roi-meta=false");
  fail_unless(off.look(off.scene).detections.empty());
}

/// In addition to what another element has attached.
ELEMENT_TEST(others_stay) {
  Example example("");
  GstBuffer* frame = make_frame(GST_VIDEO_FORMAT_GRAY8, example.scene);
  GstAnalyticsODMtd mtd;
  gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame),
                                         g_quark_from_string("other"), 1, 2, 3, 4, 0.5, &mtd);
  GstBuffer* out = example.finder.pass(frame);
  const Analytics found = analytics_of(out);
  assert_equals_int(found.detections.size(), 2);
  assert_text(found.detections[0].label, "other");
  assert_text(found.detections[1].label, "left");
  gst_buffer_unref(out);
}

}  // namespace
