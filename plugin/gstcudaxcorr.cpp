// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element: what GStreamer asks of it, and the hand-over between its threads. Settings, Report
// and the bank of templates are shared and guarded by the object lock; the Analyser belongs to the
// streaming thread. Frames are mapped for reading only, so that those after a `tee` are not copied.

/**
 * SECTION:element-cudaxcorr
 * @title: cudaxcorr
 *
 * Finds one or more templates (small pictures) in every frame by two-dimensional cross-correlation,
 * on an NVIDIA GPU or on the CPU. The frames themselves pass through unchanged.
 *
 * Positions and scores leave the element in three ways: as a custom meta `GstCudaXCorrMeta` on the
 * buffer (see gstcudaxcorrmeta.h), as one #GstVideoRegionOfInterestMeta for each peak, and as an
 * element message `cudaxcorr` on the bus. The meta and the message have the same fields:
 *
 * * `frame-width`, `frame-height` (int): pixels
 * * `pts` (guint64)
 * * `processing-time` (guint64): nanoseconds
 * * `backend`, `kernel` (string)
 * * `analysed` (gboolean): FALSE for a frame that `interval` skipped; such a frame has no message
 * * `peaks` (GstValueArray of GstStructure): templates in order, best first within a template, with
 *   `template` (guint), `label` (string: the file's name without extension), `id` (guint64),
 *   `x`, `y`, `width`, `height` (gdouble, pixels), `nx`, `ny`, `nwidth`, `nheight` (gdouble, 0..1
 * of the frame), `score` (gdouble), `lost` (gboolean)
 *
 * The message has `timestamp`, `stream-time`, `running-time` and `duration` (guint64) besides.
 *
 * What is compared is the luma. Gray and YUV formats give theirs as it is; for packed RGB it is
 * (77 R + 150 G + 29 B + 128) / 256, BT.601's.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 -m filesrc location=clip.mp4 ! decodebin ! cudaxcorr template=patch.png ! fakesink
 * ]| Follow a template through a file and print where it is.
 * |[
 * gst-launch-1.0 -m v4l2src ! cudaxcorr templates="<left.png,right.png>" max-peaks=3 threshold=0.7
 * ! videoconvert ! autovideosink
 * ]| Look for two templates in a camera's picture, each at up to three places.
 * |[
 * gst-launch-1.0 -m videotestsrc ! cudaxcorr template=patch.png search-region="<0,0,160,120>"
 * interval=5 backend=cpu ! fakesink
 * ]| Search a part of every fifth frame on the CPU.
 *
 * Since: 0.1
 */
#include "gstcudaxcorr.h"

#include <memory>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include "analyser.h"
#include "fault.h"
#include "properties.h"
#include "results.h"

GST_DEBUG_CATEGORY_STATIC(gst_cuda_xcorr_debug);
#define GST_CAT_DEFAULT gst_cuda_xcorr_debug

using namespace cudaxcorr;

namespace {

/// What the properties say, at one moment.
struct Snapshot {
  Settings settings;
  std::shared_ptr<const Bank> bank;
};

struct Element {
  // Under the object lock.
  Snapshot shared;  ///< its bank is null while stopped
  Report report;
  // One change of the templates at a time; the object lock is not held while files are read.
  std::mutex loading;
  // Of the streaming thread.
  GstVideoInfo format;
  std::optional<Analyser> analyser;
  Snapshot current;          ///< for the frame in work
  guint waited = G_MAXUINT;  ///< frames since the last analysed one began, with it; at first: due
  std::vector<xcorr::Peak> peaks;
};

}  // namespace

struct _GstCudaXCorr {
  GstBaseTransform parent;
  Element* element;
};

G_DEFINE_TYPE(GstCudaXCorr, gst_cuda_xcorr, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(cudaxcorr, "cudaxcorr", GST_RANK_NONE, GST_TYPE_CUDA_XCORR)

namespace {

constexpr char caps_text[] =
    "video/x-raw, format = (string) " CUDAXCORR_FORMATS
    ", width = (int) [ 1, max ], height = (int) [ 1, max ], framerate = (fraction) [ 0, max ]";
GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(caps_text));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(caps_text));

class ObjectLock {
 public:
  explicit ObjectLock(gpointer object) : object_(GST_OBJECT_CAST(object)) {
    GST_OBJECT_LOCK(object_);
  }
  ~ObjectLock() { GST_OBJECT_UNLOCK(object_); }
  ObjectLock(const ObjectLock&) = delete;

 private:
  GstObject* object_;
};

void fail(GstCudaXCorr* self, const Fault& fault) {
  post(GST_ELEMENT_CAST(self), GST_MESSAGE_ERROR, fault);
}
void warn(GstCudaXCorr* self, const Fault& fault) {
  post(GST_ELEMENT_CAST(self), GST_MESSAGE_WARNING, fault);
}

// ---- properties -----------------------------------------------------------------------------

Fault malformed(const Property& property) {
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS,
          std::string("The value given to '") + property.spec->name +
              "' is malformed; the old one stays"};
}

/// Reads the files of one of the two properties into the bank.
bool load_into(Bank& bank, Pictures Bank::*pictures, const Settings& settings, Fault& fault) {
  auto loaded = load(files_of(settings, pictures), fault);
  if (loaded) bank.*pictures = std::move(*loaded);
  return loaded.has_value();
}

/// While started the files are read at once, and on a failure everything stays as it was.
std::optional<Fault> set_templates(GstCudaXCorr* self, const Property& property,
                                   const GValue* value) {
  Element& element = *self->element;
  const std::lock_guard loading(element.loading);
  Snapshot wanted;
  {
    const ObjectLock lock(self);
    wanted = element.shared;
  }
  if (!property.set(wanted.settings, value)) return malformed(property);
  if (wanted.bank) {
    auto bank = std::make_shared<Bank>(*wanted.bank);
    Fault fault;
    if (!load_into(*bank, property.pictures, wanted.settings, fault)) return fault;
    wanted.bank = std::move(bank);
  }
  const ObjectLock lock(self);
  property.set(element.shared.settings, value);
  if (element.shared.bank) element.shared.bank = wanted.bank;
  return std::nullopt;
}

std::optional<Fault> set_value(GstCudaXCorr* self, const Property& property, const GValue* value) {
  const ObjectLock lock(self);
  if (property.set(self->element->shared.settings, value)) return std::nullopt;
  return malformed(property);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  GstCudaXCorr* self = GST_CUDA_XCORR(object);
  const Property& property = properties()[id - 1];
  const auto fault =
      property.pictures ? set_templates(self, property, value) : set_value(self, property, value);
  if (fault) warn(self, *fault);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  const Element& element = *GST_CUDA_XCORR(object)->element;
  const ObjectLock lock(object);
  properties()[id - 1].get(element.shared.settings, element.report, value);
}

// ---- starting and stopping ------------------------------------------------------------------

void set_active_backend(GstCudaXCorr* self, BackendChoice backend) {
  {
    const ObjectLock lock(self);
    self->element->report.active_backend = backend;
  }
  g_object_notify(G_OBJECT(self), "active-backend");
}

/// Fills the bank from the files that the properties name.
std::optional<Fault> load_all(GstCudaXCorr* self) {
  Element& element = *self->element;
  const std::lock_guard loading(element.loading);
  Settings settings;
  {
    const ObjectLock lock(self);
    settings = element.shared.settings;
  }
  auto bank = std::make_shared<Bank>();
  Fault fault;
  for (const auto pictures : {&Bank::single, &Bank::several})
    if (!load_into(*bank, pictures, settings, fault)) return fault;
  const ObjectLock lock(self);
  element.shared.bank = std::move(bank);
  return std::nullopt;
}

gboolean start(GstBaseTransform* base) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  Settings settings;
  {
    const ObjectLock lock(self);
    settings = element.shared.settings;
    element.report = {};
  }
  std::string note;
  auto analyser = Analyser::open(settings.backend, settings.cuda_device_id, note);
  if (!analyser.ok()) {
    fail(self, fault_of(analyser.status()));
    return FALSE;
  }
  if (!note.empty()) GST_INFO_OBJECT(self, "working on the CPU: %s", note.c_str());
  if (const auto fault = load_all(self)) {
    fail(self, *fault);
    return FALSE;
  }
  element.analyser.emplace(std::move(analyser.value()));
  element.waited = G_MAXUINT;
  set_active_backend(self, element.analyser->backend() == xcorr::Backend::cuda
                               ? BackendChoice::cuda
                               : BackendChoice::cpu);
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  element.analyser.reset();
  element.current = {};
  {
    const ObjectLock lock(self);
    element.shared.bank.reset();
  }
  set_active_backend(self, BackendChoice::automatic);
  return TRUE;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* caps, GstCaps*) {
  Element& element = *GST_CUDA_XCORR(base)->element;
  if (!gst_video_info_from_caps(&element.format, caps)) return FALSE;
  element.analyser->set_format(element.format);
  element.waited = G_MAXUINT;
  return TRUE;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    GST_CUDA_XCORR(base)->element->waited = G_MAXUINT;
  return GST_BASE_TRANSFORM_CLASS(gst_cuda_xcorr_parent_class)->sink_event(base, event);
}

// ---- frames ---------------------------------------------------------------------------------

/// Takes the settings of this frame. Here, since it decides whether the buffer is made writable.
void before_transform(GstBaseTransform* base, GstBuffer* buffer) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  const GstClockTime time =
      gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(self), time);
  {
    const ObjectLock lock(self);
    element.current = element.shared;
    ++element.report.frames;
  }
  gst_base_transform_set_passthrough(base, element.current.bank->size() == 0);
}

/// The property values that lead to a bank.
void name_files(Settings& settings, const Bank& bank) {
  settings.template_file = bank.single.empty() ? "" : bank.single.front()->file;
  settings.template_files.clear();
  for (const auto& picture : bank.several) settings.template_files.push_back(picture->file);
}

/// Puts templates and kernel back to what worked, where nobody has changed them since.
void refuse(GstCudaXCorr* self, const Task& refused, const Task& working) {
  Snapshot& shared = self->element->shared;
  {
    const ObjectLock lock(self);
    if (shared.settings.match.kernel == refused.match.kernel)
      shared.settings.match.kernel = working.match.kernel;
    if (shared.bank == refused.bank) {
      shared.bank = working.bank;
      name_files(shared.settings, *working.bank);
    }
  }
  for (const char* name : {"kernel", "template", "templates"})
    g_object_notify(G_OBJECT(self), name);
}

/// Makes the analyser ready for this frame. A change that cannot be done is refused with a warning
/// if there is something that worked before.
xcorr::Status configure(GstCudaXCorr* self) {
  Element& element = *self->element;
  Task task{element.current.bank, element.current.settings.match};
  xcorr::Status status = element.analyser->configure(task);
  const auto working = element.analyser->task();
  const bool refusable =
      status.code() == xcorr::Code::unsupported || status.code() == xcorr::Code::invalid_argument;
  if (refusable && working && *working != task) {
    warn(self, fault_of(status));
    refuse(self, task, *working);
    task.bank = element.current.bank = working->bank;
    task.match.kernel = working->match.kernel;
    status = element.analyser->configure(task);
  }
  for (const std::string& text : element.analyser->take_warnings())
    warn(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED, text});
  return status;
}

xcorr::Status analyse(GstCudaXCorr* self, GstBuffer* buffer) {
  Element& element = *self->element;
  if (auto status = configure(self); !status.ok()) return status;
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &element.format, buffer, GST_MAP_READ))
    return {xcorr::Code::invalid_argument, "Cannot map a frame: it is too small for its caps"};
  const auto status = element.analyser->analyse(frame, element.peaks);
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
  if (settings.attach_roi_meta) attach_roi_metas(buffer, result);
  if (settings.post_messages && result.analysed)
    gst_element_post_message(
        GST_ELEMENT(self),
        make_message(GST_OBJECT(self), GST_BASE_TRANSFORM(self)->segment, buffer, result));
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstCudaXCorr* self = GST_CUDA_XCORR(base);
  Element& element = *self->element;
  const bool due = element.waited >= element.current.settings.interval;
  const GstClockTime begin = gst_util_get_timestamp();
  element.peaks.clear();
  if (due) {
    if (const auto status = analyse(self, buffer); !status.ok()) {
      fail(self, fault_of(status));
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
                           element.peaks};
  if (due) record(self, result);
  GST_LOG_OBJECT(self, "%" G_GSIZE_FORMAT " peaks in %" GST_TIME_FORMAT, element.peaks.size(),
                 GST_TIME_ARGS(result.processing_ns));
  publish(self, buffer, result);
  return GST_FLOW_OK;
}

void finalize(GObject* object) {
  delete GST_CUDA_XCORR(object)->element;
  G_OBJECT_CLASS(gst_cuda_xcorr_parent_class)->finalize(object);
}

}  // namespace

static void gst_cuda_xcorr_init(GstCudaXCorr* self) {
  self->element = new Element;
  GstBaseTransform* base = GST_BASE_TRANSFORM(self);
  gst_base_transform_set_in_place(base, TRUE);
  // Its quality of service would drop whole frames.
  gst_base_transform_set_qos_enabled(base, FALSE);
}

static void gst_cuda_xcorr_class_init(GstCudaXCorrClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_cuda_xcorr_debug, "cudaxcorr", 0, "template matching");
  register_meta();
  mark_property_types();

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = set_property;
  object_class->get_property = get_property;
  object_class->finalize = finalize;
  for (guint id = 1; id <= properties().size(); ++id)
    g_object_class_install_property(object_class, id, properties()[id - 1].spec);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "CUDA cross-correlation", "Filter/Analyzer/Video",
      "Finds templates in video frames by 2-D cross-correlation, on the GPU or the CPU",
      "The cudaxcorr authors");

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->start = GST_DEBUG_FUNCPTR(start);
  base_class->stop = GST_DEBUG_FUNCPTR(stop);
  base_class->set_caps = GST_DEBUG_FUNCPTR(set_caps);
  base_class->sink_event = GST_DEBUG_FUNCPTR(sink_event);
  base_class->before_transform = GST_DEBUG_FUNCPTR(before_transform);
  base_class->transform_ip = GST_DEBUG_FUNCPTR(transform_ip);
  base_class->transform_ip_on_passthrough = FALSE;
}
