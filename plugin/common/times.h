// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The times of a frame, as the element message and the lines of xcorrjson have them.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

/// A structure with timestamp, stream-time, running-time and duration (guint64, ns;
/// GST_CLOCK_TIME_NONE where unknown) of a buffer in that segment.
GstStructure* describe_times(const char* name, const GstSegment& segment, GstBuffer* buffer);

}  // namespace cudaxcorr
