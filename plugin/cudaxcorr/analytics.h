// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets as GstAnalytics metas, from GStreamer 1.24 on: an object detection for each target that
// is in the frame, related to a tracking with its id. Builds without that library attach nothing
// (analytics_absent.cpp).
#pragma once

#include <gst/gst.h>

#include "cudaxcorr/results.h"

namespace cudaxcorr {

/// The buffer must be writable.
void attach_analytics(GstBuffer* buffer, const FrameResult& result);

}  // namespace cudaxcorr
