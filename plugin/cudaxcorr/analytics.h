// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Targets in GStreamer's own vocabulary for analytics, from GStreamer 1.24 on: an object detection
// for each that was seen in the frame, related to a tracking that has the id. In builds without
// that library nothing is attached (analytics_absent.cpp).
#pragma once

#include <gst/gst.h>

#include <xcorr/methods.hpp>

#include "cudaxcorr/results.h"

namespace cudaxcorr {

/// Scores of `method` become confidences. The buffer must be writable.
void attach_analytics(GstBuffer* buffer, const FrameResult& result, xcorr::Method method);

}  // namespace cudaxcorr
