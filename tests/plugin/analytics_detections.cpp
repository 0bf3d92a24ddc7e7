// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The property `track-detections`, where the detector says by GstAnalytics metas what it finds.
#include <array>
#include <cmath>
#include <limits>

#include <gst/video/gstvideometa.h>

#include "analytics_reader.hpp"
#include "things.hpp"

namespace {

class Following : public Finder {
 public:
  Following() : Finder("track-detections=true") {
    set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  }
};

GstBuffer* frame_with(std::initializer_list<Thing> things) {
  return make_frame(GST_VIDEO_FORMAT_GRAY8, frame_of(things));
}

GstAnalyticsODMtd detect(GstBuffer* frame, const char* label, int x, int y, int w = width,
                         int h = height, float confidence = 1) {
  GstAnalyticsODMtd detection;
  fail_unless(gst_analytics_relation_meta_add_od_mtd(gst_buffer_add_analytics_relation_meta(frame),
                                                     g_quark_from_string(label), x, y, w, h,
                                                     confidence, &detection));
  return detection;
}

GstBuffer* detected(std::initializer_list<Thing> things) {
  GstBuffer* frame = frame_with(things);
  for (const Thing& thing : things) detect(frame, thing.label, thing.x, thing.y);
  return frame;
}

/// The number of the track to which each detection there is related; there are to be so many.
guint64 tracked_at(const Analytics& found, const Thing& thing, int detections) {
  guint64 id = 0;
  for (const Detection& one : found.detections) {
    if (std::hypot(one.x - thing.x, one.y - thing.y) >= 6) continue;
    --detections;
    assert_text(one.label, thing.label);
    if (!id) id = one.tracked_as;
    fail_unless(one.tracked_as && one.tracked_as == id, "of track %d, not %d",
                static_cast<int>(one.tracked_as), static_cast<int>(id));
  }
  assert_equals_int(detections, 0);
  return id;
}

/// The detector's own detection is related to the track, too.
ELEMENT_TEST(followed_between_detections) {
  Following element;
  guint64 car_id = 0, man_id = 0;
  for (int i = 0; i < 40; ++i) {
    const Thing car{20 + 4 * i, 40, 7}, man{250 - 2 * i, 120, 9, "man"};
    const bool detector_runs = i % 5 == 0;
    GstBuffer* out = element.pass(detector_runs ? detected({car, man}) : frame_with({car, man}));
    const Analytics found = analytics_of(out);
    gst_buffer_unref(out);
    assert_equals_int(found.trackings.size(), 2);
    const guint64 of_car = tracked_at(found, car, detector_runs ? 2 : 1),
                  of_man = tracked_at(found, man, detector_runs ? 2 : 1);
    if (i == 0) {
      car_id = of_car;
      man_id = of_man;
      fail_unless(car_id != man_id);
    }
    assert_equals_uint64(of_car, car_id);
    assert_equals_uint64(of_man, man_id);
  }
}

/// Boxes outside, of no size, larger than any frame; not sure, or no number at all; thousands.
ELEMENT_TEST(bad_detections) {
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  Following element;
  const Thing car{60, 40, 7};
  for (int i = 0; i < 5; ++i) {
    GstBuffer* frame = detected({car, car});
    for (const auto& [x, y, w, h] :
         std::initializer_list<std::array<int, 4>>{{400, 10, width, height},
                                                   {-100, 10, width, height},
                                                   {20, 20, 0, 10},
                                                   {20, 20, -30, -30},
                                                   {20, 20, most, 30},
                                                   {least, least, most, most},
                                                   {most, most, most, most}})
      detect(frame, "car", x, y, w, h);
    for (const float unsure : {0.1F, -1.F, std::numeric_limits<float>::quiet_NaN()})
      detect(frame, "car", 150, 100, width, height, unsure);
    const Found found = element.find(frame);
    assert_equals_int(found.peaks.size(), 1);
    assert_at(found.peaks[0], car.x, car.y);
  }
  GstBuffer* frame = frame_with({car});
  for (int i = 0; i < 3000; ++i) detect(frame, i % 2 ? "car" : "man", i % 290, (7 * i) % 160);
  const Found found = element.find(frame);
  fail_unless(found.peaks.size() <= 128, "%d targets", static_cast<int>(found.peaks.size()));
}

/// Some detectors say what they find in both ways.
ELEMENT_TEST(also_as_roi_metas) {
  Following element;
  const Thing car{60, 40, 7}, man{250, 120, 9, "man"};
  for (int i = 0; i < 5; ++i) {
    GstBuffer* frame = detected({car});
    for (const Thing& one : {car, man})
      gst_buffer_add_video_region_of_interest_meta(frame, one.label, one.x, one.y, width, height);
    const Found found = element.find(frame);
    assert_equals_int(found.peaks.size(), 2);
    assert_text(at(found, car.x, car.y).label, "car");
    assert_text(at(found, man.x, man.y).label, "man");
  }
}

/// Its own results are no detections of another element behind it, what the detector said is.
ELEMENT_TEST(results_are_no_detections) {
  const Thing car{60, 40, 7};
  Following tracker;
  for (const bool detector_runs : {true, false}) {
    GstBuffer* out = tracker.pass(detector_runs ? detected({car}) : frame_with({car}));
    Analytics found = analytics_of(out);
    assert_equals_int(found.detections.size(), detector_runs ? 2 : 1);
    assert_equals_int(found.trackings.size(), 1);
    Following behind;
    out = behind.pass(out);
    found = analytics_of(out);
    assert_equals_int(found.trackings.size(), detector_runs ? 2 : 1);
    gst_buffer_unref(out);
  }
}

/// Ids of another tracker stay those of its detections.
ELEMENT_TEST(another_tracker) {
  const Thing car{60, 40, 7};
  GstBuffer* frame = frame_with({car});
  const GstAnalyticsODMtd detection = detect(frame, car.label, car.x, car.y);
  GstAnalyticsRelationMeta* relations = gst_buffer_get_analytics_relation_meta(frame);
  GstAnalyticsTrackingMtd tracking;
  gst_analytics_relation_meta_add_tracking_mtd(relations, 77, 0, &tracking);
  gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                           detection.id, tracking.id);
  Following element;
  GstBuffer* out = element.pass(frame);
  const Analytics found = analytics_of(out);
  gst_buffer_unref(out);
  assert_equals_int(found.detections.size(), 2);
  assert_equals_uint64(found.detections[0].tracked_as, 77);
  assert_equals_uint64(found.detections[1].tracked_as, 1);
}

#ifdef XCORR_ORIENTED_BOXES
/// By a quarter: the upright bounds.
ELEMENT_TEST(turned_detection) {
  const Thing car{60, 40, 7};
  GstBuffer* frame = frame_with({car});
  GstAnalyticsODMtd detection;
  gst_analytics_relation_meta_add_oriented_od_mtd(
      gst_buffer_add_analytics_relation_meta(frame), g_quark_from_string("car"),
      car.x + (width - height) / 2, car.y + (height - width) / 2, height, width, G_PI / 2, 1,
      &detection);
  Following element;
  const Found found = element.find(frame);
  assert_equals_int(found.peaks.size(), 1);
  assert_at(found.peaks[0], car.x, car.y);
  assert_equals_int(found.peaks[0].width, width);
  assert_equals_int(found.peaks[0].height, height);
}
#endif

}  // namespace
