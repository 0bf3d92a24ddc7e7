// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/analytics.h"

#include <cmath>

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

namespace cudaxcorr {
namespace {

/// The time of the first detection is not known here.
void add_tracking(GstAnalyticsRelationMeta* relations, const Target& target, GstClockTime now,
                  GstAnalyticsTrackingMtd& tracking) {
  gst_analytics_relation_meta_add_tracking_mtd(relations, target.id, GST_CLOCK_TIME_NONE,
                                               &tracking);
  if (target.lost)
    gst_analytics_tracking_mtd_set_lost(&tracking);
  else
    gst_analytics_tracking_mtd_update_last_seen(&tracking, now);
}

void add_detection(GstAnalyticsRelationMeta* relations, const xcorr::Peak& peak,
                   const std::string& label, float confidence, GstAnalyticsODMtd& detection) {
  gst_analytics_relation_meta_add_od_mtd(
      relations, g_quark_from_string(label.c_str()), static_cast<gint>(std::lround(peak.x)),
      static_cast<gint>(std::lround(peak.y)), peak.width, peak.height, confidence, &detection);
}

}  // namespace

void attach_analytics(GstBuffer* buffer, const FrameResult& result) {
  if (result.targets.empty()) return;
  // A buffer has at most one, possibly another element's; this returns it.
  GstAnalyticsRelationMeta* const relations = gst_buffer_add_analytics_relation_meta(buffer);
  for (const Target& target : result.targets) {
    GstAnalyticsTrackingMtd tracking;
    GstAnalyticsODMtd detection;
    if (target.id) add_tracking(relations, target, result.pts, tracking);
    if (target.lost) continue;
    add_detection(relations, target.peak, result.bank[target.peak.template_index].label,
                  static_cast<float>(target.confidence), detection);
    if (target.id)
      gst_analytics_relation_meta_set_relation(relations, GST_ANALYTICS_REL_TYPE_RELATE_TO,
                                               detection.id, tracking.id);
  }
}

}  // namespace cudaxcorr
