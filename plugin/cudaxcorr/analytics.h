// SPDX-License-Identifier: LGPL-2.1-or-later
//
// GstAnalytics metas, from GStreamer 1.24 on. Detectors say by them what they have found; targets
// go out as an object detection for each that is in the frame, related to a tracking with its id.
// Builds without that library read and attach nothing (analytics_absent.cpp).
#pragma once

#include <set>
#include <vector>

#include <gst/gst.h>

#include "cudaxcorr/results.h"
#include "cudaxcorr/track_times.h"
#include "matching/detection_session.h"

namespace cudaxcorr {

/// The object detections of a buffer, but those of the given ids.
std::vector<DetectedBox> analytics_detections_of(GstBuffer* buffer,
                                                 const std::set<guint>& left_out);

/// The tracking of a target is related to the detector's own detections of its label and place,
/// too, so that who knows the detector finds the ids. The buffer must be writable. Gives the ids of
/// the detections: of targets that are not lost, in their order, or none in builds that attach
/// nothing.
std::vector<gint> attach_analytics(GstBuffer* buffer, const FrameResult& result,
                                   const TrackTimes& times);

}  // namespace cudaxcorr
