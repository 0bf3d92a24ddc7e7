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

/// What has become of labels by this frame, if that is asked for.
std::vector<LabelEvent> events_of(GstCudaXCorr* self, const FrameInFlight& frame) {
  Element& element = *self->element;
  const Settings& settings = frame.requested.settings;
  GstBuffer* buffer = frame.buffer.get();
  if (!settings.events) {
    element.label_events.reset();
    return {};
  }
  if (!element.label_events) element.label_events.emplace();
  element.label_events->configure(settings.presence);
  if (!frame.due) {
    element.label_events->skip();
    return {};
  }
  const GstClockTime running_time =
      running_time_of(GST_BASE_TRANSFORM(self)->segment, GST_BUFFER_PTS(buffer));
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
  auto events =
      element.label_events->update({running_time, utc_of(buffer).value_or(xcorr::unknown_time)},
                                   buffer, caps, frame.template_set(), frame.targets);
  gst_caps_unref(caps);
  return events;
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
  const std::vector<LabelEvent> events = events_of(self, frame);
  const FrameResult result{{element.caps.info.width, element.caps.info.height},
                           settings.camera_id,
                           GST_BUFFER_PTS(buffer),
                           utc_of(buffer),
                           frame.processing_ns,
                           frame.backend,
                           frame.kernel,
                           frame.due,
                           *frame.template_set(),
                           frame.targets,
                           settings.events ? std::optional(std::span(events)) : std::nullopt};
  GST_LOG_OBJECT(self, "%" G_GSIZE_FORMAT " peaks in %" GST_TIME_FORMAT, frame.targets.size(),
                 GST_TIME_ARGS(frame.processing_ns));
  if (frame.due) {
    record(self, frame);
    element.times.update(frame.targets, running_time_of(segment, result.pts));
  }
  attach_meta(buffer, result);
  if (settings.attach_roi_meta)
    attach_roi_metas(buffer, result, attach_analytics(buffer, result, element.times));
  for (const LabelEvent& event : events)
    gst_element_post_message(GST_ELEMENT(self),
                             make_message(GST_OBJECT(self), segment, buffer, result, event));
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
