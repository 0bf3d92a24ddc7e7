// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element xcorrjson as GStreamer sees it: frames pass unchanged, and each makes a line or a
// record. What these look like is in json_text.cpp and npz.cpp, how they reach the disk in
// line_file.cpp.

/**
 * SECTION:element-xcorrjson
 * @title: xcorrjson
 *
 * Writes what #cudaxcorr found as JSON Lines: one object for each frame, on a line of its own, to
 * the file `location` or to standard output. Each line is written when its frame passes, and what
 * is written are whole lines, even when the disk becomes full.
 *
 * An object has `schema`, the version of what follows (1), and the fields of the element message
 * `cudaxcorr`, by the same names: `timestamp`, `stream-time`, `running-time` and `duration` of the
 * frame (nanoseconds, null where unknown), then all of the frame's meta. A frame without that meta
 * has the first five only. What #cudaxcorrfield measured is an object `field` in it, in which
 * arrays are lists of numbers.
 *
 * With format=npz the fields of #cudaxcorrfield become a file that `numpy.load` reads: a record for
 * each frame.
 *
 * With changes=true lines have `came` and `left`, the labels that this frame shows and the analysed
 * one before did not, and the other way round, in the place of `peaks`: where hundreds of labels
 * stay where they are a line is short. Of the frames only those go on that show a label first or
 * last, for pictures of them, and the first of all, for which sinks wait.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 filesrc location=clip.mp4 ! decodebin ! videoconvert ! \
 *   cudaxcorr template=patch.png post-messages=false ! xcorrjson location=places.jsonl ! fakesink
 * ]| Write the places of a template into a file.
 * |[
 * gst-launch-1.0 -q v4l2src ! decodebin ! videoconvert ! cudaxcorr template=patch.png ! \
 *   xcorrjson ! fakesink | jq '.peaks[0].score'
 * ]| Hand them to another program.
 *
 * Since: 0.1
 */
#include "json/json.h"

#include <optional>
#include <string>
#include <utility>

#include "common/callback.h"
#include "common/fault.h"
#include "common/field_properties.h"
#include "common/property_rows.h"
#include "common/times.h"
#include "gstcudaxcorrfieldmeta.h"
#include "json/json_text.h"
#include "json/label_changes.h"
#include "json/line_file.h"
#include "json/npz.h"

GST_DEBUG_CATEGORY_STATIC(gst_xcorr_json_debug);
#define GST_CAT_DEFAULT gst_xcorr_json_debug

namespace {

using namespace cudaxcorr;

enum class Format { json, npz };

GType format_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(Format::json), "JSON Lines", "json"},
        {static_cast<int>(Format::npz), "Fields of cudaxcorrfield, for numpy.load", "npz"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstXCorrJsonFormat", values);
  }();
  return type;
}

struct Settings {
  std::string location;
  Format format = Format::json;
  bool changes = false;
};

using Rows = PropertyRows<FieldProperty<Settings>>;

const FieldProperties<Settings>& properties() {
  static const FieldProperties<Settings> table = {
      Rows::text("location", "Location", "File to write, emptied first (none: standard output)",
                 XCORR_AT(location), ready),
      Rows::choice("format", "Format", "What is written", format_type(), XCORR_AT(format), ready),
      Rows::flag(
          "changes", "Changes",
          "Write which labels come and go instead of peaks, and pass on only the first and the "
          "last frames that show them",
          XCORR_AT(changes), ready),
  };
  return table;
}

struct Element {
  // Under the object lock.
  Settings settings;
  bool stopping = false, flushing = false;
  // Of the streaming thread, but for interruptions.
  LineFile file;
  std::optional<NpzIndex> npz;          ///< with format=npz
  std::optional<LabelChanges> changes;  ///< with changes=true
};

}  // namespace

struct _GstXCorrJson {
  GstBaseTransform parent;
  Element* element;
};

G_DEFINE_TYPE(GstXCorrJson, gst_xcorr_json, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(xcorrjson, "xcorrjson", GST_RANK_NONE, GST_TYPE_XCORR_JSON)

namespace {

/// Posts the fault, if there is one. Whether there is none.
bool check(GstXCorrJson* self, const std::optional<Fault>& fault) {
  if (fault) post_error(self, *fault);
  return !fault;
}

/// While the element stops or is flushed, the streaming thread must not wait for a pipe's reader.
void interrupt(GstXCorrJson* self, bool Element::*reason, bool exists) {
  Element& element = *self->element;
  const ObjectLock lock(self);
  element.*reason = exists;
  element.file.interrupt(element.stopping || element.flushing);
}

/// Empty of a frame without a field.
std::string npz_of(NpzIndex& index, const GstSegment& segment, GstBuffer* buffer) {
  const GstStructure* field = gst_cuda_xcorr_get_field(buffer);
  if (!field) return {};
  GstStructure* times = describe_times("times", segment, buffer);
  const std::string entry = index.add(npy_record({times, field}));
  gst_structure_free(times);
  return entry;
}

/// What makes the records a file. On a full disk the last ones give way.
std::optional<Fault> write_index(LineFile& file, NpzIndex& index) {
  auto fault = file.write(index.directory());
  while (fault && !index.empty()) {
    file.take_back(index.drop_last());
    fault = file.write(index.directory());
  }
  return fault;
}

gboolean start(GstBaseTransform* base) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  const Settings settings = copy_under_lock(self, self->element->settings);
  interrupt(self, &Element::flushing, false);  // a flush may have been cut off by the stop
  Element& element = *self->element;
  element.npz.reset();
  element.changes.reset();
  if (settings.changes && settings.format == Format::json) element.changes.emplace();
  if (!check(self, element.file.open(settings.location))) return FALSE;
  if (settings.format == Format::json) return TRUE;
  if (element.file.is_regular()) {
    element.npz.emplace();
    return TRUE;
  }
  post_error(self, {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_WRITE,
                    "Cannot write .npz to " + element.file.name() + ": it is no file on a disk"});
  element.file.close();
  return FALSE;
}

gboolean stop(GstBaseTransform* base) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  Element& element = *self->element;
  if (element.npz) element.file.interrupt(false);  // it does not wait
  element.changes.reset();
  const bool whole = !element.npz || check(self, write_index(element.file, *element.npz));
  return check(self, element.file.close()) && whole;
}

GstFlowReturn hand_on(GstBaseTransform* base, HeldFrame frame) {
  return frame ? gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(base), frame.release()) : GST_FLOW_OK;
}

/// A reader learns by the line which frames follow, so the line is written first.
GstFlowReturn tell_change(GstXCorrJson* self, GstBuffer* buffer) {
  GstBaseTransform* base = &self->parent;
  LineFile& file = self->element->file;
  LabelChange change = self->element->changes->take(buffer);
  if (!check(self, file.write(change_text(base->segment, buffer, change) + '\n')))
    return GST_FLOW_ERROR;
  if (file.interrupted()) return GST_FLOW_FLUSHING;
  const GstFlowReturn flow = hand_on(base, std::move(change.before));
  return flow == GST_FLOW_OK && !change.goes_on ? GST_BASE_TRANSFORM_FLOW_DROPPED : flow;
}

/// Whether frames that follow are of another kind, or none follow.
bool ends_frames(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) return true;
  if (GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return false;
  GstCaps* caps = nullptr;
  gst_event_parse_caps(event, &caps);
  GstCaps* before = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SINK_PAD(base));
  const bool same = before && gst_caps_is_equal(before, caps);
  gst_clear_caps(&before);
  return !same;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  if (self->element->changes) return tell_change(self, buffer);
  LineFile& file = self->element->file;
  auto& npz = self->element->npz;
  const std::string record =
      npz ? npz_of(*npz, base->segment, buffer) : frame_text(base->segment, buffer) + '\n';
  if (!check(self, file.write(record))) {
    if (npz) npz->drop_last();
    return GST_FLOW_ERROR;
  }
  return file.interrupted() ? GST_FLOW_FLUSHING : GST_FLOW_OK;
}

GstStateChangeReturn change_state(GstElement* base, GstStateChange transition) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) interrupt(self, &Element::stopping, true);
  const auto result =
      GST_ELEMENT_CLASS(gst_xcorr_json_parent_class)->change_state(base, transition);
  if (transition == GST_STATE_CHANGE_PAUSED_TO_READY) interrupt(self, &Element::stopping, false);
  return result;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) interrupt(self, &Element::flushing, true);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) interrupt(self, &Element::flushing, false);
  auto& changes = self->element->changes;
  if (changes && GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) changes.emplace();
  if (changes && ends_frames(base, event)) hand_on(base, changes->finish());
  return GST_BASE_TRANSFORM_CLASS(gst_xcorr_json_parent_class)->sink_event(base, event);
}

void finalize(GObject* object) {
  delete GST_XCORR_JSON(object)->element;
  G_OBJECT_CLASS(gst_xcorr_json_parent_class)->finalize(object);
}

}  // namespace

static void gst_xcorr_json_init(GstXCorrJson* self) {
  self->element = new Element;
  init_transform(self, TRUE);
}

static void gst_xcorr_json_class_init(GstXCorrJsonClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_xcorr_json_debug, "xcorrjson", 0, "results as JSON");
  gst_type_mark_as_plugin_api(format_type(), static_cast<GstPluginAPIFlags>(0));

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties<GstXCorrJson, properties>(object_class);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  add_any_pads(element_class);
  describe(element_class, "Cross-correlation results as JSON", "Filter/Metadata/Video",
           "Writes what cudaxcorr found, a line for each frame", DOC_URL "/gstreamer" DOC_SUFFIX);

  element_class->change_state = GST_DEBUG_FUNCPTR(change_state);

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->start = GST_DEBUG_FUNCPTR((callback<start, FALSE>));
  base_class->stop = GST_DEBUG_FUNCPTR((callback<stop, FALSE>));
  base_class->sink_event = GST_DEBUG_FUNCPTR((callback<sink_event, FALSE>));
  base_class->transform_ip = GST_DEBUG_FUNCPTR((callback<transform_ip, GST_FLOW_ERROR>));
}
