// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/process.h"

#include <string>
#include <utility>
#include <vector>

#include "common/fault.h"
#include "common/mapped_frame.h"
#include "fields/backend.h"
#include "fields/element.h"
#include "fields/results.h"
#include "matching/frame.h"
#include "matching/long_work.h"

namespace cudaxcorr::fields {
namespace {

/// What is asked for at the arrival of a frame.
struct Request {
  Settings settings;
  Task task;
  bool new_reference;  ///< this frame shall become it
};

Task task_of(const Settings& settings, const Files& files) {
  return {settings.field, settings.reference, files};
}

Request take_request(Element& element) {
  ++element.state.report.frames;
  const Settings& settings = element.state.settings;
  return {settings, task_of(settings, *element.files),
          std::exchange(element.asked_for_reference, false)};
}

/// Sets the settings to what worked, unless they have been changed again since.
void refuse(GstCudaXCorrField* self, const Task& refused, const Task& working) {
  Element& element = *self->element;
  {
    const ObjectLock lock(self);
    Settings& settings = element.state.settings;
    if (task_of(settings, *element.files) != refused) return;
    settings.field = working.field;
    settings.reference = working.reference;
    settings.reference_file = name_of(working.files.reference);
    settings.mask_file = name_of(working.files.mask);
    settings.places_file = name_of(working.files.places);
    element.files = working.files;
  }
  for (const auto& property : properties())
    if (property.set) g_object_notify_by_pspec(G_OBJECT(self), property.spec);
}

/// Whether another task might do what this one could not.
bool is_refusable(const xcorr::Status& status) {
  return !status.ok() && status.code() != xcorr::Code::device_error &&
         status.code() != xcorr::Code::stopped;
}

/// Prepares the estimator; the frame that stays the reference is its reference again.
xcorr::Status prepare(Element& element, const Task& task) {
  if (auto status = element.estimator->configure(task); !status.ok()) return status;
  if (!task.keeps_a_frame()) element.kept.reset();
  return element.kept ? element.estimator->set_reference(element.kept->view()) : xcorr::Status();
}

/// Prepares for the task or, with a warning, for the one that worked before. What neither permits
/// is in `unable` then.
xcorr::Status configure(GstCudaXCorrField* self, Task& task) {
  Element& element = *self->element;
  if (element.estimator->is_ready_for(task) || element.unable == task) return {};
  auto status = prepare(element, task);
  if (is_refusable(status) && element.working != task) {
    const auto before = element.estimator->is_ready_for(element.working)
                            ? xcorr::Status()
                            : prepare(element, element.working);
    if (before.ok()) {
      post_warning(self, fault_of(status));
      refuse(self, task, element.working);
      task = element.working;
      status = before;
    }
  }
  if (status.ok()) {
    element.working = task;
    if (auto text = text_of_work(element.estimator->seconds(), task.field.budget, "field");
        !text.empty())
      post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text});
  } else if (is_refusable(status) && !is_failure_of_device(status)) {
    element.unable = task;
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        "Frames of these caps pass unmeasured: " + status.message()});
    return {};
  }
  return status;
}

/// Keeps a copy in host memory, since the estimator may be made anew and the frame is downstream's.
xcorr::Status keep_reference(Element& element, GstBuffer* buffer) {
  const auto mapped = map_on_host(element.caps, buffer);
  if (!*mapped) return {xcorr::Code::device_error, mapped->fault()};
  element.kept = luma_of(luma_view(*mapped));
  return element.estimator->set_reference(element.kept->view());
}

bool becomes_reference(const Element& element, const Request& request) {
  switch (request.task.reference) {
    case Reference::previous:
      return !element.estimator->has_reference();
    case Reference::first:
      return request.new_reference || !element.kept;
    case Reference::signal:
      return request.new_reference;
    case Reference::file:
      break;
  }
  return false;
}

/// A frame and its view, where the estimator reads it.
struct Frame {
  GstBuffer* buffer;
  xcorr::MatrixView luma;
};

xcorr::Status take_reference(Element& element, const Task& task, const Frame& frame) {
  element.reference_pts = GST_BUFFER_PTS(frame.buffer);
  return task.keeps_a_frame() ? keep_reference(element, frame.buffer)
                              : element.estimator->set_reference(frame.luma);
}

xcorr::Status compare(Element& element, const Request& request, const Frame& frame,
                      FieldResult& result) {
  FieldEstimator& estimator = *element.estimator;
  if (becomes_reference(element, request)) {
    result.state = FieldState::reference;
    return take_reference(element, request.task, frame);
  }
  if (!estimator.has_reference()) {
    result.state = FieldState::no_reference;
    return {};
  }
  if (auto status = estimator.measure(frame.luma, result.vectors); !status.ok()) return status;
  const bool resembles = median_score(result.vectors) >= request.settings.cut_score;
  result.state = resembles ? FieldState::measured : FieldState::cut;
  result.grid = estimator.grid();
  result.window = request.task.field.windows.back();
  result.spacing = request.task.files.places ? 0 : request.task.field.spacing;
  if (request.task.reference != Reference::file) result.reference_pts = element.reference_pts;
  if (request.task.reference != Reference::previous) return {};
  element.reference_pts = GST_BUFFER_PTS(frame.buffer);
  return estimator.advance();
}

/// Frames in a GPU's memory are read in place, in the context that they belong to.
xcorr::Status measure(GstCudaXCorrField* self, GstBuffer* buffer, Request& request,
                      FieldResult& result) {
  Element& element = *self->element;
  const std::vector<xcorr::Device> devices{element.estimator->device()};
  const Incoming incoming = receive(element.caps, buffer, devices);
  const MappedFrame& mapped = *incoming.mapped;
  if (const char* fault = mapped ? fault_of_luma(mapped) : mapped.fault()) {
    if (!std::exchange(element.warned_of_bad_frame, true))
      post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                          std::string("A frame passes unmeasured: ") + fault});
    return {};
  }
  const GpuPlace& place = incoming.place;
  if (place.exists() && !place.is_of(devices, element.context))
    if (auto status = work_in(self, place); !status.ok()) return status;
  if (auto status = configure(self, request.task); !status.ok()) return status;
  if (element.unable == request.task) return {};
  prepare_to_read(incoming, buffer, element.estimator->device(), element.context);
  result.in_gpu_memory = incoming.on_gpu();
  result.backend = element.estimator->device().backend;
  return compare(element, request, {buffer, luma_view(mapped, incoming.memory())}, result);
}

void record(GstCudaXCorrField* self, const FieldResult& result) {
  Report& report = self->element->state.report;
  const ObjectLock lock(self);
  ++report.measured;
  if (result.state == FieldState::cut) ++report.cuts;
  if (result.in_gpu_memory) ++report.in_gpu_memory;
  report.total_ns += result.processing_ns;
  report.last_ns = result.processing_ns;
}

void publish(GstCudaXCorrField* self, GstBuffer* buffer, const Request& request,
             const FieldResult& result) {
  attach_meta(buffer, result);
  if (!result.has_field()) return;
  record(self, result);
  if (!request.settings.post_messages) return;
  const GstSegment& segment = GST_BASE_TRANSFORM(self)->segment;
  gst_element_post_message(GST_ELEMENT(self),
                           make_message(GST_OBJECT(self), segment, buffer, result));
}

}  // namespace

GstFlowReturn process(GstCudaXCorrField* self, GstBuffer* buffer) {
  Element& element = *self->element;
  const xcorr::StopScope scope(element.stopping.request());
  if (GST_BUFFER_IS_DISCONT(buffer)) interrupt(self);
  Request request;
  {
    const ObjectLock lock(self);
    request = take_request(element);
  }
  FieldResult result;
  result.frame = {element.caps.info.width, element.caps.info.height};
  result.pts = GST_BUFFER_PTS(buffer);
  result.backend = element.estimator->device().backend;
  const GstClockTime begin = gst_util_get_timestamp();
  auto status = measure(self, buffer, request, result);
  if (fall_back_to_cpu(self, request.settings.device, status))
    status = measure(self, buffer, request, result);
  if (status.code() == xcorr::Code::stopped) {
    element.estimator->set_format(element.caps.info);  // what it has is not whole
    return GST_FLOW_FLUSHING;
  }
  if (!status.ok()) {
    post_error(self, fault_of(status));
    return GST_FLOW_ERROR;
  }
  result.processing_ns = gst_util_get_timestamp() - begin;
  publish(self, buffer, request, result);
  return GST_FLOW_OK;
}

void interrupt(GstCudaXCorrField* self) {
  Element& element = *self->element;
  if (element.estimator && element.working.reference == Reference::previous)
    element.estimator->forget_reference();
}

void check_end(GstCudaXCorrField* self) {
  bool alone;
  {
    const ObjectLock lock(self);
    const State& state = self->element->state;
    alone = state.report.frames == 1 && state.settings.reference != Reference::file;
  }
  if (alone)
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                        "The stream ends after one frame, which has nothing to be compared with"});
}

}  // namespace cudaxcorr::fields
