// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Without the library of GStreamer 1.24.
#include "cudaxcorr/analytics.h"

namespace cudaxcorr {

std::vector<DetectedBox> analytics_detections_of(GstBuffer*, const std::set<guint>&) { return {}; }

std::vector<gint> attach_analytics(GstBuffer*, const FrameResult&, const TrackTimes&) { return {}; }

}  // namespace cudaxcorr
