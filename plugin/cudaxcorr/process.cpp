// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames are in flight from begin() to finish_oldest(). Nothing is posted or computed under the
// object lock. Frames are mapped read-only, so that those shared with others, after a `tee`, are
// not copied.
#include "cudaxcorr/process.h"

#include <algorithm>

#include "common/fault.h"
#include "common/times.h"
#include "cudaxcorr/analytics.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/element.h"
#include "cudaxcorr/latency.h"
#include "cudaxcorr/results.h"
#include "cudaxcorr/template_changes.h"
#include "matching/frame.h"

namespace cudaxcorr {
namespace {

/// Waits for the frame's analysis, if one is pending. If that fails it stays so.
xcorr::Status wait_for(Element& element, FrameInFlight& frame) {
  if (!frame.mapped) return {};
  const GstClockTime begin = gst_util_get_timestamp();
  const auto status = element.analyser->finish(frame.targets);
  if (!status.ok()) return status;
  frame.events = element.analyser->take_events();
  frame.mapped.reset();
  frame.processing_ns += gst_util_get_timestamp() - begin;
  frame.backend = element.analyser->device().backend;
  frame.kernel = element.analyser->kernel();
  return {};
}

/// Waits for the analysis of all frames.
xcorr::Status settle(Element& element) {
  xcorr::Status first;
  for (FrameInFlight& frame : element.frames)
    if (auto status = wait_for(element, frame); first.ok()) first = std::move(status);
  return first;
}

/// The template set that worked, without the templates that have been removed by their ids since.
std::shared_ptr<const TemplateSet> still_wanted(const std::shared_ptr<const TemplateSet>& working,
                                                const TemplateSet& refused) {
  auto template_set = std::make_shared<TemplateSet>(*working);
  const auto removed = [&](const SharedImage& image) {
    return std::ranges::find(refused.added, image->id, &LoadedImage::id) == refused.added.end();
  };
  return std::erase_if(template_set->added, removed) > 0 ? template_set : working;
}

/// Those of settings that may turn out not to work, and of what goes with them.
constexpr const char* refusable_properties[] = {
    "kernel",         "method",     "polarity",    "prefilter-sigma", "angle-start",
    "angle-extent",   "angle-step", "scale-min",   "scale-max",       "scale-step",
    "pyramid-levels", "exhaustive", "max-overlap", "async-depth"};

/// Resets them, unless they have been changed again since.
void reset(SearchSettings& now, const SearchSettings& refused, const SearchSettings& working) {
  const auto reset_one = [](auto& setting, const auto& not_taken, const auto& taken) {
    if (setting == not_taken) setting = taken;
  };
  xcorr::MatchSettings& match = now.match;
  reset_one(match.kernel, refused.match.kernel, working.match.kernel);
  reset_one(match.method, refused.match.method, working.match.method);
  reset_one(match.polarity, refused.match.polarity, working.match.polarity);
  reset_one(match.prefilter_sigma, refused.match.prefilter_sigma, working.match.prefilter_sigma);
  reset_one(match.poses, refused.match.poses, working.match.poses);
  reset_one(now.async_depth, refused.async_depth, working.async_depth);
}

/// Resets templates and settings to what worked, unless they have been changed again since.
void refuse(GstCudaXCorr* self, const Task& refused, const Task& working) {
  Snapshot& shared = self->element->shared;
  {
    const ObjectLock lock(self);
    reset(shared.settings.search, refused.search, working.search);
    if (shared.template_set == refused.template_set) {
      shared.template_set = working.template_set;
      shared.settings.templates = settings_of(*working.template_set);
    }
  }
  for (const char* name : refusable_properties) g_object_notify(G_OBJECT(self), name);
  notify_templates(self);
}

/// Posts the analyser's warnings.
void post_warnings(GstCudaXCorr* self) {
  for (const std::string& text : self->element->analyser->take_warnings())
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text});
}

Task task_of(GstCudaXCorr* self, const Snapshot& requested) {
  Task task{requested.template_set, requested.settings.search};
  if (is_on_cpu_fallback(self)) task.search.match.kernel = "auto";  // the other may be a GPU's
  return task;
}

/// Configures the analyser for this frame. A change that fails is refused with a warning.
xcorr::Status configure(GstCudaXCorr* self, Snapshot& requested) {
  Element& element = *self->element;
  SearchSettings& search = requested.settings.search;
  Task task = task_of(self, requested);
  if (element.analyser->is_ready_for(task)) return {};
  if (auto status = settle(element); !status.ok()) return status;
  xcorr::Status status = element.analyser->configure(task);
  // After an error of the device no other settings would work either; another may take these.
  const bool refusable = !status.ok() && status.code() != xcorr::Code::device_error &&
                         !may_fall_back_to_cpu(self, requested.settings, status);
  const Task asked{requested.template_set, search};
  if (refusable && element.working != asked) {
    const Task working{still_wanted(element.working.template_set, *asked.template_set),
                       element.working.search};
    post_warning(self, fault_of(status));
    refuse(self, asked, working);
    requested.template_set = working.template_set;
    reset(search, asked.search, working.search);
    task = task_of(self, requested);
    status = requested.has_templates() ? element.analyser->configure(task) : xcorr::Status();
  }
  if (status.ok()) element.working = {requested.template_set, search};
  post_warnings(self);
  if (const std::string text = element.analyser->take_tuning(); !text.empty())
    GST_INFO_OBJECT(self, "kernel=tune: %s", text.c_str());
  return status;
}

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

/// Frames in CUDA memory are read in place, in the context that they belong to; all others in host
/// memory.
xcorr::Status begin_analysis(GstCudaXCorr* self, FrameInFlight& frame) {
  Element& element = *self->element;
  const GstClockTime begin = gst_util_get_timestamp();
  GstBuffer* buffer = frame.buffer.get();
  const PipelineContext context = PipelineContext::of(buffer);
  const bool on_gpu = can_read_in(element.analyser->devices(), context);
  // First, since nothing is prepared for frames that are not there.
  auto mapped = std::make_unique<MappedFrame>(element.format, buffer,
                                              on_gpu ? flags_to_read_on_gpu() : GST_MAP_READ);
  if (const char* fault = *mapped ? fault_of_luma(*mapped) : mapped->fault()) {
    pass_unanalysed(self, frame, fault);
    return {};
  }
  if (on_gpu && context != element.context) {
    if (auto status = settle(element); !status.ok()) return status;
    if (auto status = work_in(self, context, frame.requested.settings); !status.ok()) return status;
  }
  if (auto status = configure(self, frame.requested); !status.ok()) return status;
  if (!frame.requested.has_templates()) return {};  // what there was has been refused

  frame.mapped = std::move(mapped);
  if (on_gpu) wait_for_writers(buffer);
  frame.in_gpu_memory = on_gpu;
  const auto memory = on_gpu ? xcorr::Memory::device : xcorr::Memory::host;
  const auto status = element.analyser->begin(*frame.mapped, memory, element.number);
  frame.processing_ns = gst_util_get_timestamp() - begin;
  if (status.ok()) respond(self, frame, memory);
  return status;
}

/// Analyses a frame while no others are in flight.
xcorr::Status analyse(GstCudaXCorr* self, FrameInFlight& frame) {
  frame.mapped.reset();
  const auto status = begin_analysis(self, frame);
  return status.ok() ? wait_for(*self->element, frame) : status;
}

/// Analyses the frames in flight that have no result again, after the GPU has failed.
xcorr::Status analyse_again(GstCudaXCorr* self) {
  std::vector<FrameInFlight*> pending;
  for (FrameInFlight& frame : self->element->frames)
    if (frame.mapped) pending.push_back(&frame);
  for (FrameInFlight* frame : pending) frame->mapped.reset();
  for (FrameInFlight* frame : pending)
    if (auto status = analyse(self, *frame); !status.ok()) return status;
  return {};
}

/// While the CPU stands in for the GPU: analyses the frame by the GPU, if it is time to try that
/// and it works. False: nothing has changed.
bool analyse_by_gpu_again(GstCudaXCorr* self, FrameInFlight& frame) {
  auto gpu = gpu_to_try(self, frame.requested.settings);
  if (!gpu || !settle(*self->element).ok()) return false;
  BackendSession cpu = exchange(self, std::move(*gpu));
  const auto status = analyse(self, frame);
  if (status.ok() && frame.due) {  // else it was a frame that tells nothing
    end_cpu_fallback(self);
    return true;
  }
  GST_INFO_OBJECT(self, "the GPU still fails: %s", status.message().c_str());
  frame.mapped.reset();
  exchange(self, std::move(cpu));
  return status.ok();
}

/// Begins the analysis; if the GPU fails, the CPU takes over, with the frames in flight first.
xcorr::Status begin_on_any_backend(GstCudaXCorr* self, FrameInFlight& frame) {
  if (analyse_by_gpu_again(self, frame)) return {};
  const auto status = begin_analysis(self, frame);
  if (status.ok() || !fall_back_to_cpu(self, frame.requested.settings, status)) return status;
  frame.mapped.reset();
  if (auto again = analyse_again(self); !again.ok()) return again;
  return begin_analysis(self, frame);
}

/// Waits for the oldest frame; if the GPU fails, the CPU takes over.
xcorr::Status finish_on_any_backend(GstCudaXCorr* self) {
  Element& element = *self->element;
  FrameInFlight& oldest = element.frames.front();
  const auto status = wait_for(element, oldest);
  if (status.ok() || !fall_back_to_cpu(self, oldest.requested.settings, status)) return status;
  return analyse_again(self);
}

/// The object must be locked.
void count(const std::vector<xcorr::TargetEvent>& events, Report& report) {
  for (const xcorr::TargetEvent& event : events) ++report.targets[static_cast<int>(event.event)];
}

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

/// Keeps the frame for `capture-template`.
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

/// Once: a pipeline that never finds anything looks healthy. Not with `enable-capture`, where the
/// application is going to take a template from a frame.
void warn_of_no_templates(GstCudaXCorr* self, const Settings& settings) {
  if (settings.enable_capture || std::exchange(self->element->warned_of_no_templates, true)) return;
  post_warning(self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
                      "There is no template, so frames pass and nothing is searched for: set "
                      "'template' to an image file, or emit 'add-template-file'"});
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

/// The oldest frame with its result, or null after posting an error.
GstBuffer* take_oldest(GstCudaXCorr* self) {
  Element& element = *self->element;
  const auto status = finish_on_any_backend(self);
  FrameInFlight frame = std::move(element.frames.front());
  element.frames.pop_front();
  if (!status.ok()) {
    post_error(self, fault_of(status));
    return nullptr;
  }
  if (frame.requested.has_templates()) publish(self, frame);
  // Before the frame itself is pushed: that may block in a sink that waits for this image's.
  element.response.push(frame.buffer.get(), frame.image.release());
  hold(self, frame);
  return frame.buffer.release();
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
  if (frame.requested.has_templates()) {
    ++element.number;
    if (GST_BUFFER_IS_DISCONT(frame.buffer.get())) element.analyser->interrupt();
    frame.due = is_due(self, frame);
    frame.backend = element.analyser->device().backend;
    frame.kernel = element.analyser->kernel();
    const auto status = frame.due ? begin_on_any_backend(self, frame) : xcorr::Status();
    if (!status.ok()) {
      post_error(self, fault_of(status));
      return GST_FLOW_ERROR;
    }
  } else {
    element.working = {frame.requested.template_set, frame.requested.settings.search};
    warn_of_no_templates(self, frame.requested.settings);
  }
  element.frames.push_back(std::move(frame));
  return GST_FLOW_OK;
}

GstFlowReturn finish_oldest(GstCudaXCorr* self, GstBuffer** out) {
  const auto& frames = self->element->frames;
  if (frames.empty() || frames.size() < frames.back().requested.settings.search.max_in_flight())
    return GST_FLOW_OK;
  *out = take_oldest(self);
  return *out ? GST_FLOW_OK : GST_FLOW_ERROR;
}

void drain(GstCudaXCorr* self) {
  Element& element = *self->element;
  GstFlowReturn flow = GST_FLOW_OK;
  while (flow == GST_FLOW_OK && !element.frames.empty()) {
    GstBuffer* buffer = take_oldest(self);
    flow = buffer ? gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(self), buffer) : GST_FLOW_ERROR;
  }
  discard(self);
}

void discard(GstCudaXCorr* self) {
  Element& element = *self->element;
  if (const auto status = settle(element); !status.ok())
    GST_WARNING_OBJECT(self, "%s", status.message().c_str());
  {
    const ObjectLock lock(self);
    for (const FrameInFlight& frame : element.frames) count(frame.events, element.report);
  }
  element.frames.clear();
}

}  // namespace cudaxcorr
