// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames are in flight from begin() to finish_oldest(). Nothing is posted or computed under the
// object lock. Frames are mapped read-only, so that those shared with others, after a `tee`, are
// not copied.
#include "cudaxcorr/process.h"

#include <utility>

#include "common/fault.h"
#include "common/times.h"
#include "cudaxcorr/analysis.h"
#include "cudaxcorr/element.h"
#include "cudaxcorr/fallback.h"
#include "cudaxcorr/latency.h"
#include "cudaxcorr/publish.h"

namespace cudaxcorr {
namespace {

/// Once: a pipeline that never finds anything looks healthy. Not with `enable-capture`, where the
/// application is going to take a template from a frame.
void warn_of_no_templates(GstCudaXCorr* self, const Settings& settings) {
  if (settings.enable_capture || std::exchange(self->element->warned_of_no_templates, true)) return;
  const std::string& folder = settings.templates.folder;
  post_warning(self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                      folder.empty() ? "There is no template, so frames pass and nothing is "
                                       "searched for: set 'template' to an image file, or emit "
                                       "'add-template-file'"
                                     : "There is no template in the folder '" + folder +
                                           "', so frames pass and nothing is searched for until "
                                           "an image comes there"});
}

/// Whether the frame is to be analysed, by `interval` and by the clock.
bool is_due(GstCudaXCorr* self, const FrameInFlight& frame) {
  Element& element = *self->element;
  bool due = element.waited >= frame.requested.settings.interval;
  if (is_late(self, frame) && due) {
    due = false;
    const ObjectLock lock(self);
    ++element.report.late;
  }
  if (due) element.waited = 0;
  if (element.waited < G_MAXUINT) ++element.waited;
  return due;
}

/// Ends the stream with an error or, where the work was stopped, gives up the frames in flight.
GstFlowReturn fail(GstCudaXCorr* self, const xcorr::Status& status) {
  if (status.code() != xcorr::Code::stopped) {
    post_error(self, fault_of(status));
    return GST_FLOW_ERROR;
  }
  discard(self);
  self->element->analyser->forget();
  return GST_FLOW_FLUSHING;
}

}  // namespace

FrameInFlight arrive(GstCudaXCorr* self, const GstBuffer* buffer) {
  Element& element = *self->element;
  const GstClockTime time =
      stream_time_of(GST_BASE_TRANSFORM(self)->segment, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(self), time);
  const ObjectLock lock(self);
  ++element.report.frames;
  return FrameInFlight(element.shared);
}

GstFlowReturn begin(GstCudaXCorr* self, FrameInFlight frame) {
  Element& element = *self->element;
  const Settings& settings = frame.requested.settings;
  xcorr::Status status;
  if (frame.requested.has_task()) {
    ++element.number;
    if (GST_BUFFER_IS_DISCONT(frame.buffer.get())) {
      element.analyser->interrupt();
      if (element.label_events) element.label_events->interrupt();
    }
    frame.due = is_due(self, frame);
    frame.backend = element.analyser->device().backend;
    frame.kernel = element.analyser->kernel();
    // Where targets are searched depends on the frame before.
    if (frame.due && settings.search.follows()) status = settle(self);
    if (!status.ok()) status = fall_back(self, settings, status);
    if (status.ok() && frame.due && !try_gpu(self, frame)) {
      status = start(self, frame);
      if (!status.ok() && (status = fall_back(self, settings, status)).ok())
        status = start(self, frame);
    }
  } else {
    element.working = {frame.requested.template_set, settings.search};
    warn_of_no_templates(self, settings);
  }
  if (!status.ok()) return fail(self, status);
  element.frames.push_back(std::move(frame));
  return GST_FLOW_OK;
}

bool may_hold_more(const GstCudaXCorr* self) {
  const auto& frames = self->element->frames;
  return frames.empty() || frames.size() < frames.back().requested.settings.search.max_in_flight();
}

GstFlowReturn finish_oldest(GstCudaXCorr* self, GstBuffer** out) {
  Element& element = *self->element;
  FrameInFlight& oldest = element.frames.front();
  auto status = finish(self, oldest);
  if (status.ok()) status = release(self, oldest);
  if (!status.ok()) {
    status = fall_back(self, oldest.requested.settings, status);
    if (status.ok()) status = release(self, oldest);
  }
  FrameInFlight frame = std::move(oldest);
  element.frames.pop_front();
  if (!status.ok()) return fail(self, status);
  if (frame.requested.has_task()) publish(self, frame);
  // Before the frame itself is pushed: that may block in a sink that waits for this image's.
  element.response.push(frame.buffer.get(), frame.image.release());
  hold(self, frame);
  *out = frame.buffer.release();
  return GST_FLOW_OK;
}

void drain(GstCudaXCorr* self) {
  GstFlowReturn flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && !self->element->frames.empty()) {
    GstBuffer* buffer = nullptr;
    flow = finish_oldest(self, &buffer);
    if (buffer) flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer);
  }
  discard(self);
}

void discard(GstCudaXCorr* self) {
  Element& element = *self->element;
  auto status = settle(self);
  for (FrameInFlight& frame : element.frames)
    if (auto released = release(self, frame); status.ok()) status = std::move(released);
  if (!status.ok()) GST_WARNING_OBJECT(self, "%s", status.message().c_str());
  {
    const ObjectLock lock(self);
    for (const FrameInFlight& frame : element.frames) count(frame.events, element.report);
  }
  element.frames.clear();
}

}  // namespace cudaxcorr
