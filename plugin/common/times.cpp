// SPDX-License-Identifier: LGPL-2.1-or-later
#include "common/times.h"

#include <ctime>

namespace cudaxcorr {
namespace {

/// From 1900, where NTP begins, to 1970.
constexpr GstClockTime ntp_to_unix = 2'208'988'800 * GST_SECOND;

GstReferenceTimestampMeta* reference_of(GstBuffer* buffer, const char* reference) {
  GstCaps* caps = gst_caps_new_empty_simple(reference);
  GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(buffer, caps);
  gst_caps_unref(caps);
  return meta;
}

}  // namespace

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

std::optional<GstClockTime> utc_of(GstBuffer* buffer) {
  if (const auto* meta = reference_of(buffer, "timestamp/x-unix")) return meta->timestamp;
  const auto* meta = reference_of(buffer, "timestamp/x-ntp");
  if (!meta || meta->timestamp < ntp_to_unix) return std::nullopt;
  return meta->timestamp - ntp_to_unix;
}

std::string utc_text(GstClockTime utc) {
  const auto seconds = static_cast<std::time_t>(utc / GST_SECOND);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[sizeof "0000-00-00T00:00:00"];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const std::string fraction = std::to_string(utc % GST_SECOND);
  return std::string(text) + '.' + std::string(9 - fraction.size(), '0') + fraction + 'Z';
}

}  // namespace cudaxcorr
