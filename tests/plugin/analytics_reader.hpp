// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The GstAnalytics metas of a buffer, for tests: object detections with the tracks that they are
// related to, and trackings.
#pragma once

#define GST_USE_UNSTABLE_API
#include <gst/analytics/analytics.h>

#include <string>
#include <vector>

#include "support.hpp"

struct Detection {
  guint id;
  std::string label;
  gint x, y, width, height;
  gfloat confidence;
  guint64 tracked_as;  ///< 0: not related to a tracking
};

struct Tracking {
  guint64 id;
  GstClockTime first_seen, last_seen;
  gboolean lost;
};

struct Analytics {
  std::vector<Detection> detections;
  std::vector<Tracking> trackings;
};

inline Tracking read(GstAnalyticsTrackingMtd& mtd) {
  Tracking tracking;
  fail_unless(gst_analytics_tracking_mtd_get_info(&mtd, &tracking.id, &tracking.first_seen,
                                                  &tracking.last_seen, &tracking.lost));
  return tracking;
}

inline Analytics analytics_of(GstBuffer* buffer) {
  Analytics found;
  GstAnalyticsRelationMeta* relations = gst_buffer_get_analytics_relation_meta(buffer);
  if (!relations) return found;
  gpointer state = nullptr;
  GstAnalyticsMtd mtd;
  while (gst_analytics_relation_meta_iterate(relations, &state,
                                             gst_analytics_tracking_mtd_get_mtd_type(), &mtd))
    found.trackings.push_back(read(mtd));
  state = nullptr;
  while (gst_analytics_relation_meta_iterate(relations, &state, gst_analytics_od_mtd_get_mtd_type(),
                                             &mtd)) {
    Detection detection{};
    detection.id = mtd.id;
    fail_unless(gst_analytics_od_mtd_get_location(&mtd, &detection.x, &detection.y,
                                                  &detection.width, &detection.height,
                                                  &detection.confidence));
    detection.label = g_quark_to_string(gst_analytics_od_mtd_get_obj_type(&mtd));
    GstAnalyticsMtd related;
    if (gst_analytics_relation_meta_get_direct_related(
            relations, mtd.id, GST_ANALYTICS_REL_TYPE_RELATE_TO,
            gst_analytics_tracking_mtd_get_mtd_type(), nullptr, &related))
      detection.tracked_as = read(related).id;
    found.detections.push_back(detection);
  }
  return found;
}
