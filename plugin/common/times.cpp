// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/times.h"

namespace cudaxcorr {

GstClockTime stream_time_of(const GstSegment& segment, GstClockTime timestamp) {
  return segment.format == GST_FORMAT_TIME
             ? gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, timestamp)
             : GST_CLOCK_TIME_NONE;
}

GstClockTime running_time_of(const GstSegment& segment, GstClockTime timestamp) {
  return segment.format == GST_FORMAT_TIME
             ? gst_segment_to_running_time(&segment, GST_FORMAT_TIME, timestamp)
             : GST_CLOCK_TIME_NONE;
}

GstStructure* describe_times(const char* name, const GstSegment& segment, GstBuffer* buffer) {
  const GstClockTime timestamp = GST_BUFFER_PTS(buffer);
  const guint64 stream_time = stream_time_of(segment, timestamp);
  const guint64 running_time = running_time_of(segment, timestamp);
  return gst_structure_new(name,                                            //
                           "timestamp", G_TYPE_UINT64, guint64{timestamp},  //
                           "stream-time", G_TYPE_UINT64, stream_time,       //
                           "running-time", G_TYPE_UINT64, running_time,     //
                           "duration", G_TYPE_UINT64, guint64{GST_BUFFER_DURATION(buffer)},
                           nullptr);
}

}  // namespace cudaxcorr
