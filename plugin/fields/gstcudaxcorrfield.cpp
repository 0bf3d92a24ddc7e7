// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element towards GStreamer and the application: properties, starting and stopping, the class.
// The work on frames is in process.cpp.

/**
 * SECTION:element-cudaxcorrfield
 * @title: cudaxcorrfield
 *
 * Measures displacement fields: lays windows, a grid of them or some at the places of a file, over
 * a reference, which is the frame before, the first one, an image or the frame after a signal, and
 * finds each window again in every frame, on an NVIDIA GPU or on the CPU. For particle image
 * velocimetry, digital image correlation and stabilisation. The frames themselves pass through
 * unchanged.
 *
 * The vectors leave the element as a custom meta `GstCudaXCorrFieldMeta` on the buffer (see
 * gstcudaxcorrfieldmeta.h); their mean, median, rms and the share of valid ones also in an element
 * message `cudaxcorrfield` on the bus. #xcorroverlay draws them, #xcorrjson writes them.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 -m filesrc location=clip.mp4 ! decodebin ! \
 *   cudaxcorrfield windows="<64,32>" subpixel=least-squares ! fakesink
 * ]| Print how each frame moves against the one before.
 * |[
 * gst-launch-1.0 filesrc location=test.mp4 ! decodebin ! \
 *   cudaxcorrfield reference=first spacing=8 ! xcorroverlay ! videoconvert ! autovideosink
 * ]| Show how a specimen is deformed against the first frame.
 *
 * Since: 0.1
 */
#include "fields/gstcudaxcorrfield.h"

#include "common/callback.h"
#include "common/element_class.h"
#include "common/stream_lock.h"
#include "fields/backend.h"
#include "fields/element.h"
#include "fields/process.h"
#include "fields/results.h"
#include "matching/image_size.h"
#include "matching/pad_templates.h"
#include "matching/pinned_pool.h"

GST_DEBUG_CATEGORY(gst_cuda_xcorr_field_debug);

using namespace cudaxcorr;
using namespace cudaxcorr::fields;

G_DEFINE_TYPE(GstCudaXCorrField, gst_cuda_xcorr_field, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(cudaxcorrfield, "cudaxcorrfield", GST_RANK_NONE,
                            GST_TYPE_CUDA_XCORR_FIELD)

namespace {

// ---- properties and signals -----------------------------------------------------------------

/// Reads the file by that function, unless it is the one that was read.
template <class Read>
std::optional<Fault> refresh(std::shared_ptr<const Read>& read, const std::string& file,
                             std::shared_ptr<const Read> (*by)(const std::string&, Fault&)) {
  if (file == name_of(read)) return std::nullopt;
  Fault fault;
  std::shared_ptr<const Read> made;
  if (!file.empty() && !(made = by(file, fault))) return fault;
  read = std::move(made);
  return std::nullopt;
}

SharedImage read_reference_file(const std::string& file, Fault& fault) {
  return read_image("Cannot read the reference file", file, "", max_frame_pixels, 0, fault);
}

SharedImage read_mask_file(const std::string& file, Fault& fault) {
  return read_image("Cannot read the mask file", file, "", max_frame_pixels, 0, fault);
}

std::optional<Fault> read_files(const Settings& settings, Files& files) {
  if (auto fault = refresh(files.reference, settings.reference_file, read_reference_file))
    return fault;
  if (auto fault = refresh(files.mask, settings.mask_file, read_mask_file)) return fault;
  return refresh(files.places, settings.places_file, read_places);
}

/// Takes the value and, unless the element is stopped, reads the file that it may name.
std::optional<Fault> change(GstCudaXCorrField* self, const FieldProperty<State>& property,
                            const GValue* value) {
  Element& element = *self->element;
  const std::lock_guard changing(element.changing);
  State changed;
  std::optional<Files> files;
  {
    const ObjectLock lock(self);
    changed = element.state;
    files = element.files;
  }
  if (!property.set(changed, value)) return malformed(property.spec, value);
  if (files)
    if (auto fault = read_files(changed.settings, *files)) return fault;
  const ObjectLock lock(self);  // what is replaced is released outside of it
  std::swap(element.state.settings, changed.settings);
  std::swap(element.files, files);
  return std::nullopt;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(object);
  if (const auto fault = change(self, properties()[id - 1], value))
    self->element->deferred_warnings.warn(self, *fault);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  const ObjectLock lock(object);
  properties()[id - 1].get(GST_CUDA_XCORR_FIELD(object)->element->state, value);
}

void ask_for_reference(GstCudaXCorrField* self) {
  bool useful;
  {
    const ObjectLock lock(self);
    const Reference reference = self->element->state.settings.reference;
    useful = reference == Reference::first || reference == Reference::signal;
    self->element->asked_for_reference = useful;
  }
  if (!useful)
    self->element->deferred_warnings.warn(
        self, {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
               "'take-reference' has no effect unless 'reference' is first or signal"});
}

// ---- starting and stopping ------------------------------------------------------------------

/// From now on files are read when properties name them.
std::optional<Fault> load_files(GstCudaXCorrField* self) {
  Element& element = *self->element;
  const std::lock_guard changing(element.changing);
  const Settings settings = copy_under_lock(self, element.state.settings);
  Files files;
  if (auto fault = read_files(settings, files)) return fault;
  const ObjectLock lock(self);
  element.files = std::move(files);
  return std::nullopt;
}

void drop_files(GstCudaXCorrField* self) {
  std::optional<Files> files;  // released outside the lock
  const ObjectLock lock(self);
  std::swap(self->element->files, files);
}

gboolean start(GstBaseTransform* base) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(base);
  Element& element = *self->element;
  element.deferred_warnings.post(self);
  element.working = {};
  element.unable.reset();
  element.kept.reset();
  element.warned_of_bad_frame = false;
  DeviceSettings device;
  {
    const ObjectLock lock(self);
    device = element.state.settings.device;
    element.state.report = {};
  }
  if (const auto fault = load_files(self)) {
    post_error(self, *fault);
    return FALSE;
  }
  const auto status = open_backend(self, device);
  if (status.ok()) return TRUE;
  drop_files(self);
  post_error(self, fault_of(status));
  return FALSE;
}

GstStateChangeReturn change_state(GstElement* base, GstStateChange change) {
  GST_CUDA_XCORR_FIELD(base)->element->stopping.heed(change);
  return GST_ELEMENT_CLASS(gst_cuda_xcorr_field_parent_class)->change_state(base, change);
}

gboolean stop(GstBaseTransform* base) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(base);
  close_backend(self);
  drop_files(self);
  const ObjectLock lock(self);
  self->element->asked_for_reference = false;
  return TRUE;
}

void set_context(GstElement* base, GstContext* context) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(base);
  const int cuda_device_id =
      copy_under_lock(self, self->element->state.settings.device.cuda_device_id);
  self->element->context.set_context(base, context, cuda_device_id);
  GST_ELEMENT_CLASS(gst_cuda_xcorr_field_parent_class)->set_context(base, context);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(base);
  // Neighbours query the context that the element works in.
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
      copy_under_lock(self, self->element->context).answer(GST_ELEMENT(self), query))
    return TRUE;
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_field_parent_class)->query(base, direction, query);
}

/// What downstream proposes; otherwise memory that a GPU uploads from fast.
gboolean propose_allocation(GstBaseTransform* base, GstQuery* decided, GstQuery* query) {
  const Element& element = *GST_CUDA_XCORR_FIELD(base)->element;
  const bool proposed = GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_field_parent_class)
                            ->propose_allocation(base, decided, query);
  if (gst_query_get_n_allocation_pools(query) > 0) return proposed;
  // A query may come when the element has stopped.
  const bool pinned =
      element.estimator && propose_pinned_pool(query, element.estimator->device(), element.context);
  return pinned || proposed;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* caps, GstCaps*) {
  Element& element = *GST_CUDA_XCORR_FIELD(base)->element;
  if (!element.caps.set(caps)) return FALSE;
  element.estimator->set_format(element.caps.info);
  // Another size or another luma: what was kept cannot be compared.
  element.kept.reset();
  element.unable.reset();
  element.warned_of_bad_frame = false;
  return TRUE;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  GstCudaXCorrField* self = GST_CUDA_XCORR_FIELD(base);
  self->element->stopping.heed(event);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP || GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT)
    interrupt(self);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) check_end(self);
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_field_parent_class)->sink_event(base, event);
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  return process(GST_CUDA_XCORR_FIELD(base), buffer);
}

void finalize(GObject* object) {
  delete GST_CUDA_XCORR_FIELD(object)->element;
  G_OBJECT_CLASS(gst_cuda_xcorr_field_parent_class)->finalize(object);
}

}  // namespace

static void gst_cuda_xcorr_field_init(GstCudaXCorrField* self) {
  self->element = new Element;
  init_transform(self, FALSE);
}

static void gst_cuda_xcorr_field_class_init(GstCudaXCorrFieldClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_cuda_xcorr_field_debug, "cudaxcorrfield", 0, "displacement fields");
  register_meta();
  mark_property_types();

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties(object_class, properties(), set_property, get_property);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  /**
   * GstCudaXCorrField::take-reference:
   *
   * The next frame becomes the reference, with `reference` first or signal.
   *
   * Since: 0.1
   */
  g_signal_new_class_handler("take-reference", G_TYPE_FROM_CLASS(klass),
                             static_cast<GSignalFlags>(G_SIGNAL_RUN_LAST | G_SIGNAL_ACTION),
                             G_CALLBACK(ask_for_reference), nullptr, nullptr, nullptr, G_TYPE_NONE,
                             0);
  add_pad_templates(element_class);
  describe(element_class, "CUDA displacement fields", "Filter/Analyzer/Video",
           "Measures how each part of the image has moved, by 2-D cross-correlation, on the GPU or "
           "the CPU",
           DOC_URL "/fields" DOC_SUFFIX);
  element_class->change_state = GST_DEBUG_FUNCPTR(change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR(set_context);

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->query = GST_DEBUG_FUNCPTR((callback<query, FALSE>));
  base_class->propose_allocation = GST_DEBUG_FUNCPTR((callback<propose_allocation, FALSE>));
  base_class->start = GST_DEBUG_FUNCPTR((callback<start, FALSE>));
  base_class->stop = GST_DEBUG_FUNCPTR((callback<stop, FALSE>));
  base_class->set_caps = GST_DEBUG_FUNCPTR((callback<set_caps, FALSE>));
  base_class->sink_event = GST_DEBUG_FUNCPTR((callback<sink_event, FALSE>));
  base_class->transform_ip = GST_DEBUG_FUNCPTR((callback<transform_ip, GST_FLOW_ERROR>));
}
