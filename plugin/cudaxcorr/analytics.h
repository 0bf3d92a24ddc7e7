// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets as GstAnalytics metas, from GStreamer 1.24 on: an object detection for each target that
// is in the frame, related to a tracking with its id. Builds without that library attach nothing
// (analytics_absent.cpp).
#pragma once

#include <vector>

#include <gst/gst.h>

#include "cudaxcorr/results.h"
#include "cudaxcorr/track_times.h"

namespace cudaxcorr {

/// The buffer must be writable. Gives the ids of the detections: of targets that are not lost, in
/// their order, or none in builds that attach nothing.
std::vector<gint> attach_analytics(GstBuffer* buffer, const FrameResult& result,
                                   const TrackTimes& times);

}  // namespace cudaxcorr
