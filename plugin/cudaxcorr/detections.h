// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What detectors have found in a frame, from the metas that they attach.
#pragma once

#include <vector>

#include <gst/gst.h>

#include "matching/detection_session.h"

namespace cudaxcorr {

/// Of region-of-interest metas and GstAnalytics object detections, but those of other elements of
/// this kind. The confidence of the former is that of a parameter `detection`, as DL Streamer's
/// elements write it; without one it is 1.
std::vector<DetectedBox> detections_of(GstBuffer* buffer);

}  // namespace cudaxcorr
