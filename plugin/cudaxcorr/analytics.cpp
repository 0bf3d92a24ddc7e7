// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/analytics.h"

#include <cmath>

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

namespace cudaxcorr {
namespace {

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

}  // namespace

std::vector<gint> attach_analytics(GstBuffer* buffer, const FrameResult& result,
                                   const TrackTimes& times) {
  std::vector<gint> detections;
  if (result.targets.empty()) return detections;
  // A buffer has at most one, possibly another element's; this returns it.
  GstAnalyticsRelationMeta* const relations = gst_buffer_add_analytics_relation_meta(buffer);
  for (const xcorr::Target& target : result.targets) {
    GstAnalyticsTrackingMtd tracking;
    GstAnalyticsODMtd detection;
    if (target.id) add_tracking(relations, target, times.of(target.id), tracking);
    if (target.lost) continue;
    add_detection(relations, target.peak, result.template_set[target.peak.template_index].label,
                  static_cast<float>(target.confidence), detection);
    detections.push_back(static_cast<gint>(detection.id));
    if (target.id)
      gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               detection.id, tracking.id);
  }
  return detections;
}

}  // namespace cudaxcorr
