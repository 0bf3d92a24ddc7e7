// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/analysis.h"

#include <memory>
#include <utility>

#include "common/fault.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/configure.h"
#include "cudaxcorr/detections.h"
#include "cudaxcorr/element.h"
#include "matching/frame.h"
#include "matching/upper_bytes.h"

namespace cudaxcorr {
namespace {

/// Computes the image for the pad `response`, if there is that pad and that template.
void respond(GstCudaXCorr* self, FrameInFlight& frame, xcorr::Memory memory) {
  Element& element = *self->element;
  const unsigned index = frame.requested.settings.response_template;
  if (!element.response.exists() || index >= frame.requested.template_set->size()) return;
  xcorr::Response response;
  if (element.analyser->respond(*frame.mapped, memory, index, response)) {
    frame.image.reset(element.response.draw(response, frame.buffer.get()));
    if (!frame.image)
      element.analyser->warn("The pad 'response' has no image: there is no memory for it");
  }
  post_warnings(self);
}

/// What is wrong with one buffer need not be with the next, which is due.
void pass_unanalysed(GstCudaXCorr* self, FrameInFlight& frame, const char* fault) {
  Element& element = *self->element;
  if (!std::exchange(element.warned_of_bad_frame, true))
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        std::string("A frame passes unanalysed: ") + fault});
  frame.due = false;
  element.waited = G_MAXUINT;
}

}  // namespace

xcorr::Status start(GstCudaXCorr* self, FrameInFlight& frame) {
  Element& element = *self->element;
  const GstClockTime begin = gst_util_get_timestamp();
  GstBuffer* buffer = frame.buffer.get();
  // First, since nothing is prepared for frames that are not there.
  Incoming incoming = receive(element.caps, buffer, element.analyser->devices());
  const MappedFrame& mapped = *incoming.mapped;
  if (const char* fault = mapped ? fault_of_luma(mapped) : mapped.fault()) {
    pass_unanalysed(self, frame, fault);
    return {};
  }
  const bool detections = frame.requested.settings.search.tracking.detections;
  if (detections && luma_type(element.caps.info) != xcorr::ElementType::u8) {
    pass_unanalysed(self, frame, "'track-detections' needs frames of 8 bits");
    return {};
  }
  const GpuPlace& place = incoming.place;
  if (place.exists() && !place.is_of(element.analyser->devices(), element.context)) {
    if (auto status = settle(self); !status.ok()) return status;
    if (auto status = work_in(self, place, frame.requested.settings); !status.ok()) return status;
  }
  if (auto status = configure(self, frame.requested); !status.ok()) {
    if (!is_refusal(status)) return status;
    pass_unanalysed(self, frame, status.message().c_str());
    return {};
  }
  if (!frame.requested.has_task()) return {};  // what there was has been refused

  if (element.analyser->is_in_color() && lacks_upper_bytes(element.caps.info)) {
    copy_upper_bytes(incoming, element.caps, buffer);
    if (const char* fault = incoming.mapped->fault()) {
      pass_unanalysed(self, frame, fault);
      return {};
    }
  } else {
    prepare_to_read(incoming, buffer, element.analyser->device(), element.context);
  }
  frame.mapped = std::move(incoming.mapped);
  frame.in_gpu_memory = incoming.on_gpu();
  const auto memory = incoming.memory();
  const auto status =
      element.analyser->begin(*frame.mapped, memory, element.number,
                              detections ? detections_of(buffer) : std::vector<DetectedBox>());
  frame.processing_ns = gst_util_get_timestamp() - begin;
  if (status.ok()) {
    frame.pending = true;
    respond(self, frame, memory);
  } else {
    frame.mapped.reset();
  }
  return status;
}

xcorr::Status finish(GstCudaXCorr* self, FrameInFlight& frame) {
  if (!frame.pending) return {};
  Analyser& analyser = *self->element->analyser;
  const GstClockTime begin = gst_util_get_timestamp();
  if (auto status = analyser.finish(frame.targets); !status.ok()) return status;
  frame.events = analyser.take_events();
  frame.labels = analyser.labels();
  post_warnings(self);
  frame.pending = false;
  frame.processing_ns += gst_util_get_timestamp() - begin;
  frame.backend = analyser.device().backend;
  frame.kernel = analyser.kernel();
  return {};
}

xcorr::Status release(GstCudaXCorr* self, FrameInFlight& frame) {
  if (!frame.mapped) return {};
  auto status = self->element->analyser->release();
  frame.mapped.reset();
  return status;
}

xcorr::Status settle(GstCudaXCorr* self) {
  xcorr::Status first;
  for (FrameInFlight& frame : self->element->frames)
    if (auto status = finish(self, frame); first.ok()) first = std::move(status);
  return first;
}

}  // namespace cudaxcorr
