// SPDX-License-Identifier: LGPL-2.1-or-later
//
// When a frame is: the fields of time that the element message has, and the lines of xcorrjson.
#pragma once

#include <gst/gst.h>

namespace cudaxcorr {

/// A structure with timestamp, stream-time, running-time and duration (guint64, ns;
/// GST_CLOCK_TIME_NONE where unknown), of a buffer of that segment.
GstStructure* describe_times(const char* name, const GstSegment& segment, GstBuffer* buffer);

}  // namespace cudaxcorr
