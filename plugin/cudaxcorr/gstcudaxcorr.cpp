// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element towards GStreamer and the application: properties, starting and stopping, the class.
// The work on frames is in process.cpp.

/**
 * SECTION:element-cudaxcorr
 * @title: cudaxcorr
 *
 * Finds one or more templates (small images) in every frame by two-dimensional cross-correlation,
 * on an NVIDIA GPU or on the CPU. The frames themselves pass through unchanged.
 *
 * Positions and scores leave the element in three ways: as a custom meta `GstCudaXCorrMeta` on the
 * buffer (see gstcudaxcorrmeta.h), as one #GstVideoRegionOfInterestMeta for each peak, and as an
 * element message `cudaxcorr` on the bus. The meta and the message have the same fields:
 *
 * * `frame-width`, `frame-height` (int): pixels
 * * `camera` (string): #cudaxcorr:camera-id, if it is set
 * * `utc` (string): when the frame was taken, as RFC 3339 has it, if a #GstReferenceTimestampMeta
 *   in Unix or NTP time says so
 * * `pts` (guint64)
 * * `processing-time` (guint64): nanoseconds
 * * `backend`, `kernel` (string)
 * * `analysed` (gboolean): FALSE for a frame that was skipped, by `interval` or since a live
 *   source's frames came too late; such a frame has no message
 * * `peaks` (GstValueArray of GstStructure): templates in order, best first within a template, with
 *   `template` (guint), `template-id` (guint: the template's own number, which stays), `label`
 *   (string: a file's is its name without extension), `id` (guint64: the track's number),
 *   `x`, `y`, `width`, `height` (gdouble, pixels), `nx`, `ny`, `nwidth`, `nheight` (gdouble, 0..1
 *   of the frame), `score` (gdouble), and for tracks `state` (string: none, tentative, tracked,
 *   lost) and `lost` (gboolean: not detected in this frame)
 * * `events` (GstValueArray of GstStructure): with #cudaxcorr:events; also `cudaxcorr-event`
 * messages
 *
 * The message has `timestamp`, `stream-time`, `running-time` and `duration` (guint64) besides.
 *
 * What is compared is the luma. Gray and YUV formats give theirs as it is; for packed RGB it is
 * (77 R + 150 G + 29 B + 128) / 256, BT.601's. Which pixels of a template count is what
 * #cudaxcorr:mask says, at first those that are opaque; the alpha of frames is ignored. Frames in
 * CUDA memory are searched where they lie; `in-gpu-memory` in #cudaxcorr:stats counts them.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 -m filesrc location=clip.mp4 ! decodebin ! cudaxcorr template=patch.png ! fakesink
 * ]| Follow a template through a file and print where it is.
 * |[
 * gst-launch-1.0 -m v4l2src ! videoconvert ! \
 *   cudaxcorr templates="<left.png,right.png>" max-peaks=3 threshold=0.7 ! \
 *   videoconvert ! autovideosink
 * ]| Look for two templates in a camera's image, each at up to three places.
 * |[
 * gst-launch-1.0 -m videotestsrc ! \
 *   cudaxcorr template=patch.png search-region="<0,0,160,120>" interval=5 backend=cpu ! fakesink
 * ]| Search a part of every fifth frame on the CPU.
 * |[
 * gst-launch-1.0 -m filesrc location=clip.mp4 ! decodebin ! \
 *   cudaxcorr template=patch.png track=true max-peaks=2 ! fakesink
 * ]| Follow up to two targets by ids that stay.
 * |[
 * gst-launch-1.0 -m filesrc location=clip.mp4 ! qtdemux ! h264parse ! nvh264dec ! \
 *   cudaxcorr template=patch.png async-depth=4 ! fakesink
 * ]| Frames stay on the GPU, four of them in flight.
 * |[
 * gst-launch-1.0 filesrc location=clip.mp4 ! decodebin ! queue ! \
 *   cudaxcorr name=match template=patch.png ! fakesink \
 *   match.response ! queue ! videoconvert ! autovideosink
 * ]| Show what the template scores at every place.
 *
 * Since: 0.1
 */
#include "common/callback.h"
#include "common/element_class.h"
#include "common/fault.h"
#include "common/stream_lock.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/element.h"
#include "cudaxcorr/latency.h"
#include "cudaxcorr/process.h"
#include "cudaxcorr/property_types.h"
#include "cudaxcorr/results.h"
#include "cudaxcorr/template_changes.h"
#include "matching/pad_templates.h"
#include "matching/pinned_pool.h"

GST_DEBUG_CATEGORY(gst_cuda_xcorr_debug);

using namespace cudaxcorr;

G_DEFINE_TYPE(GstCudaXCorr, gst_cuda_xcorr, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(cudaxcorr, "cudaxcorr", GST_RANK_NONE, GST_TYPE_CUDA_XCORR)

namespace {

// ---- properties -----------------------------------------------------------------------------

std::optional<Fault> set_value(GstCudaXCorr* self, const Property& property, const GValue* value) {
  const ObjectLock lock(self);
  if (property.set(self->element->shared.settings, value)) return std::nullopt;
  return malformed(property.spec, value);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GstCudaXCorr* self = GST_CUDA_XCORR(object);
  const Property& property = properties()[id - 1];
  const auto fault =
      property.images ? set_templates(self, property, value) : set_value(self, property, value);
  if (fault) self->element->deferred_warnings.warn(self, *fault);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  const Element& element = *GST_CUDA_XCORR(object)->element;
  const ObjectLock lock(object);
  properties()[id - 1].get(element.shared.settings, element.report, value);
}

// ---- starting and stopping ------------------------------------------------------------------

gboolean start(GstBaseTransform* base) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  element.deferred_warnings.post(self);
  Settings settings;
  {
    const ObjectLock lock(self);
    settings = element.shared.settings;
    element.report = {};
  }
  if (const auto status = open_backend(self, settings); !status.ok()) {
    post_error(self, fault_of(status));
    return FALSE;
  }
  if (const auto fault = load_templates(self)) {
    close_backend(self);
    post_error(self, *fault);
    return FALSE;
  }
  auto template_set = copy_under_lock(self, element.shared.template_set);
  {
    const StreamLock streaming(base);
    element.working = {std::move(template_set), settings.search};
    element.warned_of_no_templates = false;
    element.warned_of_bad_frame = false;
    element.waited = G_MAXUINT;
    element.lateness = {};
    element.times = {};
    element.label_events.reset();
    element.response.restart();
  }
  return TRUE;
}

GstStateChangeReturn change_state(GstElement* base, GstStateChange change) {
  GST_CUDA_XCORR(base)->element->stopping.heed(change);
  return GST_ELEMENT_CLASS(gst_cuda_xcorr_parent_class)->change_state(base, change);
}

gboolean stop(GstBaseTransform* base) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  {
    const StreamLock streaming(base);
    discard(self);
  }
  close_backend(self);
  Sample frame;  // released outside the lock
  {
    const ObjectLock lock(self);
    element.shared.template_set.reset();
    frame = std::exchange(element.last_frame, nullptr);
  }
  stop_watching(self);
  return TRUE;
}

void set_context(GstElement* base, GstContext* context) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  const int cuda_device_id = first_of(copy_under_lock(self, self->element->shared.settings.device));
  self->element->context.set_context(base, context, cuda_device_id);
  GST_ELEMENT_CLASS(gst_cuda_xcorr_parent_class)->set_context(base, context);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  // Neighbours query the context that the element works in.
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
      copy_under_lock(self, self->element->context).answer(GST_ELEMENT(self), query))
    return TRUE;
  const xcorr::StopScope scope(self->element->stopping.request());
  // Such as DRAIN, which asks for all buffers back.
  if (direction == GST_PAD_SINK && GST_QUERY_IS_SERIALIZED(query)) drain(self);
  if (!GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_parent_class)->query(base, direction, query))
    return FALSE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) answer_latency(self, query);
  return TRUE;
}

/// Frames pass through, so what downstream proposes; otherwise memory that a GPU uploads from fast.
gboolean propose_allocation(GstBaseTransform* base, GstQuery* decided, GstQuery* query) {
  const Element& element = *GST_CUDA_XCORR(base)->element;
  const guint held = copy_under_lock(base, element.shared.settings.search).max_in_flight() - 1;
  const bool proposed = GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_parent_class)
                            ->propose_allocation(base, decided, query);
  if (gst_query_get_n_allocation_pools(query) > 0) {
    reserve_buffers(query, held);
    return proposed;
  }
  // A query may come when the element has stopped.
  const bool pinned =
      element.analyser && propose_pinned_pool(query, element.analyser->device(), element.context);
  return pinned || proposed;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* caps, GstCaps*) {
  Element& element = *GST_CUDA_XCORR(base)->element;
  const xcorr::StopScope scope(element.stopping.request());
  drain(GST_CUDA_XCORR(base));
  if (!element.caps.set(caps)) return FALSE;
  element.analyser->set_format(element.caps.info);
  element.response.set_format(element.caps.info);
  element.refused.reset();
  element.warned_of_bad_frame = false;
  element.waited = G_MAXUINT;
  return TRUE;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  element.stopping.heed(event);
  const xcorr::StopScope scope(element.stopping.request());
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    discard(self);
    element.waited = G_MAXUINT;
    element.lateness = {};
    if (element.label_events) element.label_events->interrupt();
    if (element.analyser) element.analyser->interrupt();  // else it has stopped meanwhile
  } else if (GST_EVENT_IS_SERIALIZED(event)) {
    drain(self);  // the event must not overtake earlier frames
  }
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) element.lateness = {};
  element.response.handle_event(event);
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_parent_class)->sink_event(base, event);
}

// ---- frames ---------------------------------------------------------------------------------

/// Does nothing, but must exist for the base class to make buffers writable.
GstFlowReturn transform_ip(GstBaseTransform*, GstBuffer*) { return GST_FLOW_OK; }

/// Called once with a new buffer, which it takes over, and then until nothing leaves. The base
/// class makes the buffer writable unless the frame passes through unchanged.
GstFlowReturn generate_output(GstBaseTransform* base, GstBuffer** out) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  const xcorr::StopScope scope(self->element->stopping.request());
  if (base->queued_buf) {
    // The base class marks what leaves next as the discontinuity, which must be this buffer.
    if (GST_BUFFER_IS_DISCONT(base->queued_buf)) drain(self);
    FrameInFlight frame = arrive(self, base->queued_buf);
    gst_base_transform_set_passthrough(base, !frame.requested.has_task());
    update_latency(self, frame.requested.settings.search.max_in_flight());
    GstBuffer* buffer = nullptr;
    GstFlowReturn flow =
        GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_parent_class)->generate_output(base, &buffer);
    if (buffer) {
      frame.buffer.reset(buffer);
      flow = begin(self, std::move(frame));
    }
    if (flow != GST_FLOW_OK) return flow;
  }
  return may_hold_more(self) ? GST_FLOW_OK : finish_oldest(self, out);
}

/// The base class knows only one src pad.
GstFlowReturn chain(GstPad* pad, GstObject* parent, GstBuffer* buffer) {
  Element& element = *GST_CUDA_XCORR(parent)->element;
  return element.response.combine(element.base_chain(pad, parent, buffer));
}

GstPad* request_new_pad(GstElement* base, GstPadTemplate* pad_template, const gchar*,
                        const GstCaps*) {
  return GST_CUDA_XCORR(base)->element->response.add(base, pad_template);
}

void release_pad(GstElement* base, GstPad* pad) {
  GST_CUDA_XCORR(base)->element->response.remove(base, pad);
}

void finalize(GObject* object) {
  delete GST_CUDA_XCORR(object)->element;
  G_OBJECT_CLASS(gst_cuda_xcorr_parent_class)->finalize(object);
}

}  // namespace

static void gst_cuda_xcorr_init(GstCudaXCorr* self) {
  self->element = new Element;
  init_transform(self, FALSE);
  GstBaseTransform* base = GST_BASE_TRANSFORM(self);
  GstPad* sink = GST_BASE_TRANSFORM_SINK_PAD(base);
  self->element->response.set_element_pads(sink, GST_BASE_TRANSFORM_SRC_PAD(base));
  self->element->base_chain = GST_PAD_CHAINFUNC(sink);
  gst_pad_set_chain_function(sink, GST_DEBUG_FUNCPTR(chain));
}

static void gst_cuda_xcorr_class_init(GstCudaXCorrClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_cuda_xcorr_debug, "cudaxcorr", 0, "template matching");
  register_meta();
  mark_property_types();

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties(object_class, properties(), set_property, get_property);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  install_template_signals(element_class);
  add_pad_templates(element_class);
  gst_element_class_add_static_pad_template(element_class, &response_template);
  describe(element_class, "CUDA cross-correlation", "Filter/Analyzer/Video",
           "Finds templates in video frames by 2-D cross-correlation, on the GPU or the CPU",
           DOC_URL "/gstreamer" DOC_SUFFIX);

  element_class->change_state = GST_DEBUG_FUNCPTR(change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR(set_context);
  element_class->request_new_pad = GST_DEBUG_FUNCPTR(request_new_pad);
  element_class->release_pad = GST_DEBUG_FUNCPTR(release_pad);

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->query = GST_DEBUG_FUNCPTR((callback<query, FALSE>));
  base_class->propose_allocation = GST_DEBUG_FUNCPTR((callback<propose_allocation, FALSE>));
  base_class->start = GST_DEBUG_FUNCPTR((callback<start, FALSE>));
  base_class->stop = GST_DEBUG_FUNCPTR((callback<stop, FALSE>));
  base_class->set_caps = GST_DEBUG_FUNCPTR((callback<set_caps, FALSE>));
  base_class->sink_event = GST_DEBUG_FUNCPTR((callback<sink_event, FALSE>));
  base_class->transform_ip = GST_DEBUG_FUNCPTR(transform_ip);
  base_class->generate_output = GST_DEBUG_FUNCPTR((callback<generate_output, GST_FLOW_ERROR>));
  base_class->transform_ip_on_passthrough = FALSE;
}
