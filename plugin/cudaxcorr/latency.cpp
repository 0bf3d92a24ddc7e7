// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/latency.h"

#include <algorithm>

#include "common/times.h"
#include "cudaxcorr/element.h"

namespace cudaxcorr {
namespace {

/// Frame rates may be so low that the true latency is no GstClockTime, and differences are signed.
constexpr GstClockTime longest = G_MAXINT64;

GstClockTime sum(GstClockTime latency, GstClockTime own) {
  return latency > longest - own ? longest : latency + own;
}

}  // namespace

void answer_latency(GstCudaXCorr* self, GstQuery* query) {
  gboolean live;
  GstClockTime min, max;
  gst_query_parse_latency(query, &live, &min, &max);
  Latency latency;
  {
    const ObjectLock lock(self);
    self->element->latency.live = live;
    latency = self->element->latency;
  }
  if (GST_CLOCK_TIME_IS_VALID(max)) max = sum(max, latency.own);
  gst_query_set_latency(query, live, sum(min, latency.own), max);
}

void update_latency(GstCudaXCorr* self, unsigned max_in_flight) {
  const GstVideoInfo& format = self->element->caps.info;
  // Unknown for variable frame rates.
  const GstClockTime own =
      format.fps_n > 0 ? std::min(longest, gst_util_uint64_scale((max_in_flight - 1) * GST_SECOND,
                                                                 format.fps_d, format.fps_n))
                       : 0;
  {
    const ObjectLock lock(self);
    if (std::exchange(self->element->latency.own, own) == own) return;
  }
  gst_element_post_message(GST_ELEMENT(self), gst_message_new_latency(GST_OBJECT(self)));
}

bool is_late(GstCudaXCorr* self, const FrameInFlight& frame) {
  Element& element = *self->element;
  const std::int64_t max_lateness = frame.requested.settings.max_lateness;
  {
    const ObjectLock lock(self);
    if (!element.latency.live || max_lateness < 0) return false;
  }
  const GstClockTime running_time =
      running_time_of(GST_BASE_TRANSFORM(self)->segment, GST_BUFFER_PTS(frame.buffer.get()));
  const GstClockTime now = gst_element_get_current_running_time(GST_ELEMENT(self));
  return GST_CLOCK_TIME_IS_VALID(running_time) && GST_CLOCK_TIME_IS_VALID(now) &&
         element.lateness.is_late(running_time, now, max_lateness);
}

}  // namespace cudaxcorr
