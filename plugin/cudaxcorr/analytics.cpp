// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/analytics.h"

#include <cmath>
#include <utility>

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

#include "common/utf8.h"

namespace cudaxcorr {
namespace {

/// An object detection with its id in the buffer.
struct Identified {
  guint id;
  DetectedBox box;
};

/// Of one that is turned, the upright bounds.
std::vector<Identified> object_detections_of(GstAnalyticsRelationMeta* relations) {
  std::vector<Identified> all;
  gpointer state = nullptr;
  GstAnalyticsODMtd detection;
  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &detection)) {
    gint x, y, width, height;
    gfloat confidence;
    if (!gst_analytics_od_mtd_get_location(&detection, &x, &y, &width, &height, &confidence))
      continue;
    const char* label = g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&detection));
    all.push_back({detection.id,
                   {label ? valid_utf8(label) : "",
                    {static_cast<double>(x), static_cast<double>(y), static_cast<double>(width),
                     static_cast<double>(height)},
                    confidence}});
  }
  return all;
}

/// Times are running times, as those of GStreamer's own trackers.
void add_tracking(GstAnalyticsRelationMeta* relations, const xcorr::Target& target,
                  const TrackTimes::Seen& seen, GstAnalyticsTrackingMtd& tracking) {
  gst_analytics_relation_meta_add_tracking_mtd(relations, target.id, seen.first, &tracking);
  gst_analytics_tracking_mtd_update_last_seen(&tracking, seen.last);
  if (target.lost) gst_analytics_tracking_mtd_set_lost(&tracking);
}

gint whole(double number) { return static_cast<gint>(std::lround(number)); }

/// A box that is turned, where GstAnalytics has those; else the upright bounds.
void add_detection(GstAnalyticsRelationMeta* relations, const xcorr::Peak& peak,
                   const std::string& label, float confidence, GstAnalyticsODMtd& detection) {
  const GQuark type = g_quark_from_string(label.c_str());
#ifdef XCORR_ORIENTED_BOXES
  if (const xcorr::Pose& pose = peak.pose; pose.angle != 0) {
    // Clockwise, in radians from 0 to a whole turn; the place is that of the box before its turn.
    const double clockwise = pose.angle > 0 ? 360 - pose.angle : -pose.angle;
    gst_analytics_relation_meta_add_oriented_od_mtd(
        relations, type, whole(pose.center_x - 0.5 * (pose.width - 1)),
        whole(pose.center_y - 0.5 * (pose.height - 1)), whole(pose.width), whole(pose.height),
        static_cast<gfloat>(clockwise * G_PI / 180), confidence, &detection);
    return;
  }
#endif
  gst_analytics_relation_meta_add_od_mtd(relations, type, whole(peak.x), whole(peak.y), peak.width,
                                         peak.height, confidence, &detection);
}

/// Possibly by another tracker.
bool is_tracked(GstAnalyticsRelationMeta* relations, guint detection) {
  GstAnalyticsMtd tracking;
  return gst_analytics_relation_meta_get_direct_related(
      relations, detection, GST_ANALYTICS_REL_TYPE_RELATE_TO,
      gst_analytics_tracking_mtd_get_mtd_type(), nullptr, &tracking);
}

bool is_of(const Identified& detection, const xcorr::Peak& peak, const std::string& label) {
  const xcorr::Box& box = detection.box.box;
  return detection.box.label == label && box.x == whole(peak.x) && box.y == whole(peak.y) &&
         box.width == peak.width && box.height == peak.height;
}

void relate(GstAnalyticsRelationMeta* relations, guint detection, guint tracking) {
  gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO, detection,
                                           tracking);
}

}  // namespace

std::vector<DetectedBox> analytics_detections_of(GstBuffer* buffer,
                                                 const std::set<guint>& left_out) {
  std::vector<DetectedBox> detected;
  if (GstAnalyticsRelationMeta* relations = gst_buffer_get_analytics_relation_meta(buffer))
    for (Identified& one : object_detections_of(relations))
      if (!left_out.contains(one.id)) detected.push_back(std::move(one.box));
  return detected;
}

std::vector<gint> attach_analytics(GstBuffer* buffer, const FrameResult& result,
                                   const TrackTimes& times) {
  std::vector<gint> detections;
  if (result.targets.empty()) return detections;
  // A buffer has at most one, possibly another element's; this returns it.
  GstAnalyticsRelationMeta* const relations = gst_buffer_add_analytics_relation_meta(buffer);
  const std::vector<Identified> theirs = object_detections_of(relations);
  for (const xcorr::Target& target : result.targets) {
    GstAnalyticsTrackingMtd tracking;
    GstAnalyticsODMtd detection;
    if (target.id) add_tracking(relations, target, times.of(target.id), tracking);
    if (target.lost) continue;
    const std::string& label = result.template_set[target.peak.template_index].label;
    add_detection(relations, target.peak, label, static_cast<float>(target.confidence), detection);
    detections.push_back(static_cast<gint>(detection.id));
    if (!target.id) continue;
    relate(relations, detection.id, tracking.id);
    for (const Identified& one : theirs)
      if (is_of(one, target.peak, label) && !is_tracked(relations, one.id))
        relate(relations, one.id, tracking.id);
  }
  return detections;
}

}  // namespace cudaxcorr
