// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/publish.h"

#include <utility>

#include "common/times.h"
#include "cudaxcorr/analytics.h"
#include "cudaxcorr/element.h"
#include "cudaxcorr/results.h"

namespace cudaxcorr {
namespace {

void record(GstCudaXCorr* self, const FrameInFlight& frame) {
  Report& report = self->element->report;
  const ObjectLock lock(self);
  ++report.analysed;
  if (frame.in_gpu_memory) ++report.in_gpu_memory;
  report.total_ns += frame.processing_ns;
  report.last_ns = frame.processing_ns;
  report.kernel = frame.kernel;
  count(frame.events, report);
}

}  // namespace

void count(const std::vector<xcorr::TargetEvent>& events, Report& report) {
  for (const xcorr::TargetEvent& event : events) ++report.targets[static_cast<int>(event.event)];
}

void publish(GstCudaXCorr* self, const FrameInFlight& frame) {
  Element& element = *self->element;
  GstBuffer* buffer = frame.buffer.get();
  const GstSegment& segment = GST_BASE_TRANSFORM(self)->segment;
  const Settings& settings = frame.requested.settings;
  const FrameResult result{{element.format.width, element.format.height},
                           settings.camera_id,
                           GST_BUFFER_PTS(buffer),
                           utc_of(buffer),
                           frame.processing_ns,
                           frame.backend,
                           frame.kernel,
                           frame.due,
                           *frame.requested.template_set,
                           frame.targets};
  GST_LOG_OBJECT(self, "%" G_GSIZE_FORMAT " peaks in %" GST_TIME_FORMAT, frame.targets.size(),
                 GST_TIME_ARGS(frame.processing_ns));
  if (frame.due) {
    record(self, frame);
    element.times.update(frame.targets, running_time_of(segment, result.pts));
  }
  attach_meta(buffer, result);
  if (settings.attach_roi_meta)
    attach_roi_metas(buffer, result, attach_analytics(buffer, result, element.times));
  if (!settings.post_messages || !frame.due) return;
  for (const xcorr::TargetEvent& event : frame.events)
    gst_element_post_message(GST_ELEMENT(self),
                             make_message(GST_OBJECT(self), segment, buffer, result, event));
  gst_element_post_message(GST_ELEMENT(self),
                           make_message(GST_OBJECT(self), segment, buffer, result));
}

void hold(GstCudaXCorr* self, const FrameInFlight& frame) {
  Element& element = *self->element;
  Sample held;
  if (frame.requested.settings.enable_capture) {
    GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
    held = take_sample(gst_sample_new(frame.buffer.get(), caps, nullptr, nullptr));
    gst_caps_unref(caps);
  }
  const ObjectLock lock(self);
  std::swap(element.last_frame, held);  // the previous one is released outside the lock
}

}  // namespace cudaxcorr
