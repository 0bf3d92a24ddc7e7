// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/times.h"

namespace cudaxcorr {

GstStructure* describe_times(const char* name, const GstSegment& segment, GstBuffer* buffer) {
  const GstClockTime timestamp = GST_BUFFER_PTS(buffer);
  guint64 stream_time = GST_CLOCK_TIME_NONE, running_time = GST_CLOCK_TIME_NONE;
  if (segment.format == GST_FORMAT_TIME) {
    stream_time = gst_segment_to_stream_time(&segment, GST_FORMAT_TIME, timestamp);
    running_time = gst_segment_to_running_time(&segment, GST_FORMAT_TIME, timestamp);
  }
  return gst_structure_new(name,                                            //
                           "timestamp", G_TYPE_UINT64, guint64{timestamp},  //
                           "stream-time", G_TYPE_UINT64, stream_time,       //
                           "running-time", G_TYPE_UINT64, running_time,     //
                           "duration", G_TYPE_UINT64, guint64{GST_BUFFER_DURATION(buffer)},
                           nullptr);
}

}  // namespace cudaxcorr
