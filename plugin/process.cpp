// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The streaming thread's work on a frame. It works on its own copy of the settings; no message is
// posted and nothing is computed under the object lock. Frames are mapped for reading only, so that
// those that others hold too, after a `tee`, are not copied.
#include "analytics.h"
#include "fault.h"
#include "gstcudaxcorr_private.h"
#include "results.h"
#include "template_changes.h"

namespace cudaxcorr {
namespace {

/// Puts templates and kernel back to what worked, where nobody has changed them since.
void refuse(GstCudaXCorr* self, const Task& refused, const Task& working) {
  Snapshot& shared = self->element->shared;
  {
    const ObjectLock lock(self);
    if (shared.settings.match.kernel == refused.match.kernel)
      shared.settings.match.kernel = working.match.kernel;
    if (shared.bank == refused.bank) {
      shared.bank = working.bank;
      shared.settings.templates = settings_of(*working.bank);
    }
  }
  g_object_notify(G_OBJECT(self), "kernel");
  notify_templates(self);
}

/// Makes the analyser ready for this frame. A change that cannot be done is refused with a warning
/// if there is something that worked before.
xcorr::Status configure(GstCudaXCorr* self) {
  Element& element = *self->element;
  const Settings& settings = element.current.settings;
  Task task{element.current.bank, settings.match, settings.tracking};
  xcorr::Status status = element.analyser->configure(task);
  // After an error of the device nothing can be expected to work.
  const bool refusable = !status.ok() && status.code() != xcorr::Code::device_error;
  if (const auto& last = element.analyser->task(); refusable && last && *last != task) {
    const Task working = *last;
    post_warning(self, fault_of(status));
    refuse(self, task, working);
    task.bank = element.current.bank = working.bank;
    task.match.kernel = working.match.kernel;
    status = element.analyser->configure(task);
  }
  for (const std::string& text : element.analyser->take_warnings())
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text});
  if (const std::string text = element.analyser->take_tuning(); !text.empty())
    GST_INFO_OBJECT(self, "kernel=tune: %s", text.c_str());
  return status;
}

xcorr::Status analyse(GstCudaXCorr* self, GstBuffer* buffer) {
  Element& element = *self->element;
  if (auto status = configure(self); !status.ok()) return status;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &element.format, buffer, GST_MAP_READ))
    return {xcorr::Code::invalid_argument, "Cannot map a frame: it is too small for its caps"};
  const auto status = element.analyser->analyse(frame, element.number, element.targets);
  gst_video_frame_unmap(&frame);
  return status;
}

void record(GstCudaXCorr* self, const FrameResult& result) {
  Report& report = self->element->report;
  const ObjectLock lock(self);
  ++report.analysed;
  report.total_ns += result.processing_ns;
  report.last_ns = result.processing_ns;
  report.kernel = result.kernel;
}

void publish(GstCudaXCorr* self, GstBuffer* buffer, const FrameResult& result) {
  const Settings& settings = self->element->current.settings;
  attach_meta(buffer, result);
  if (settings.attach_roi_meta) {
    attach_roi_metas(buffer, result);
    attach_analytics(buffer, result, settings.match.method);
  }
  if (settings.post_messages && result.analysed)
    gst_element_post_message(
        GST_ELEMENT(self),
        make_message(GST_OBJECT(self), GST_BASE_TRANSFORM(self)->segment, buffer, result));
}

/// Keeps the frame for capture-template.
void hold(GstCudaXCorr* self, GstBuffer* buffer) {
  Element& element = *self->element;
  Sample frame;
  if (element.current.settings.enable_capture) {
    GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(self));
    frame = take_sample(gst_sample_new(buffer, caps, nullptr, nullptr));
    gst_caps_unref(caps);
  }
  const ObjectLock lock(self);
  std::swap(element.last_frame, frame);  // the one before goes outside the lock
}

}  // namespace

bool take_settings(GstCudaXCorr* self, GstBuffer* buffer) {
  Element& element = *self->element;
  const GstClockTime time = gst_segment_to_stream_time(&GST_BASE_TRANSFORM(self)->segment,
                                                       GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(self), time);
  Snapshot taken;
  {
    const ObjectLock lock(self);
    taken = element.shared;
    ++element.report.frames;
  }
  element.current = std::move(taken);
  hold(self, buffer);
  return element.current.bank->size() > 0;
}

GstFlowReturn process(GstCudaXCorr* self, GstBuffer* buffer) {
  Element& element = *self->element;
  ++element.number;
  if (GST_BUFFER_FLAG_IS_SET(buffer, GST_BUFFER_FLAG_DISCONT)) element.analyser->interrupt();
  const bool due = element.waited >= element.current.settings.interval;
  const GstClockTime begin = gst_util_get_timestamp();
  element.targets.clear();
  if (due) {
    if (const auto status = analyse(self, buffer); !status.ok()) {
      post_error(self, fault_of(status));
      return GST_FLOW_ERROR;
    }
    element.waited = 0;
  }
  ++element.waited;

  const FrameResult result{{element.format.width, element.format.height},
                           GST_BUFFER_PTS(buffer),
                           due ? gst_util_get_timestamp() - begin : 0,
                           element.analyser->backend(),
                           element.analyser->kernel(),
                           due,
                           *element.current.bank,
                           element.targets};
  if (due) record(self, result);
  GST_LOG_OBJECT(self, "%" G_GSIZE_FORMAT " peaks in %" GST_TIME_FORMAT, element.targets.size(),
                 GST_TIME_ARGS(result.processing_ns));
  publish(self, buffer, result);
  return GST_FLOW_OK;
}

}  // namespace cudaxcorr
