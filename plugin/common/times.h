// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The times of a frame, as the element message and the lines of xcorrjson have them.
#pragma once

#include <optional>
#include <string>

#include <gst/gst.h>

namespace cudaxcorr {

/// Of a timestamp in that segment; GST_CLOCK_TIME_NONE where unknown, as in a segment of bytes.
GstClockTime stream_time_of(const GstSegment& segment, GstClockTime timestamp);
GstClockTime running_time_of(const GstSegment& segment, GstClockTime timestamp);

/// A structure with timestamp, stream-time, running-time and duration (guint64, ns;
/// GST_CLOCK_TIME_NONE where unknown) of a buffer in that segment.
GstStructure* describe_times(const char* name, const GstSegment& segment, GstBuffer* buffer);

/// When the frame was taken, in ns since 1970 in UTC, if its source says so by a
/// GstReferenceTimestampMeta of Unix time or NTP. Other references, such as PTP's, are not in UTC.
std::optional<GstClockTime> utc_of(GstBuffer* buffer);

/// As RFC 3339 has it, such as 2026-01-31T23:59:59.000000001Z.
std::string utc_text(GstClockTime utc);

}  // namespace cudaxcorr
