// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element xcorrjson as GStreamer sees it: frames pass unchanged, and each makes a line. What a
// line looks like is in json_text.cpp, how it reaches the disk in line_file.cpp.

/**
 * SECTION:element-xcorrjson
 * @title: xcorrjson
 *
 * Writes what #cudaxcorr found as JSON Lines: one object for each frame, on a line of its own, to
 * the file `location` or to standard output. Each line is written when its frame passes, and what
 * is written are whole lines, even when the disk becomes full.
 *
 * An object has the fields of the element message `cudaxcorr`, by the same names: `timestamp`,
 * `stream-time`, `running-time` and `duration` of the frame (nanoseconds, null where unknown), then
 * all of the frame's meta. A frame without that meta has the first four only.
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

#include "common/fault.h"
#include "common/field_properties.h"
#include "common/property_flags.h"
#include "common/times.h"
#include "gstcudaxcorrmeta.h"
#include "json/json_text.h"
#include "json/line_file.h"

GST_DEBUG_CATEGORY_STATIC(gst_xcorr_json_debug);
#define GST_CAT_DEFAULT gst_xcorr_json_debug

namespace {

using namespace cudaxcorr;

struct Settings {
  std::string location;
};

const FieldProperties<Settings>& properties() {
  static const FieldProperties<Settings> table = {
      field<Settings>(
          g_param_spec_string("location", "Location",
                              "File to write, emptied first (none: standard output)", nullptr,
                              ready),
          [](auto& s) -> auto& { return s.location; }),
  };
  return table;
}

struct Element {
  Settings settings;  ///< under the object lock
  LineFile file;
};

}  // namespace

struct _GstXCorrJson {
  GstBaseTransform parent;
  Element* element;
};

G_DEFINE_TYPE(GstXCorrJson, gst_xcorr_json, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(xcorrjson, "xcorrjson", GST_RANK_NONE, GST_TYPE_XCORR_JSON)

namespace {

GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS_ANY);

/// Posts the fault, if there is one. Whether there is none.
bool check(GstXCorrJson* self, const std::optional<Fault>& fault) {
  if (fault) post_error(self, *fault);
  return !fault;
}

gboolean start(GstBaseTransform* base) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  const Settings settings = copy_under_lock(self, self->element->settings);
  return check(self, self->element->file.open(settings.location));
}

gboolean stop(GstBaseTransform* base) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  return check(self, self->element->file.close());
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstXCorrJson* self = GST_XCORR_JSON(base);
  GstStructure* times = describe_times("times", base->segment, buffer);
  std::string line = json_text({times, gst_cuda_xcorr_get_result(buffer)});
  gst_structure_free(times);
  return check(self, self->element->file.write(std::move(line))) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

void finalize(GObject* object) {
  delete GST_XCORR_JSON(object)->element;
  G_OBJECT_CLASS(gst_xcorr_json_parent_class)->finalize(object);
}

}  // namespace

static void gst_xcorr_json_init(GstXCorrJson* self) {
  self->element = new Element;
  GstBaseTransform* base = GST_BASE_TRANSFORM(self);
  gst_base_transform_set_passthrough(base, TRUE);
  // Its quality of service would drop whole frames.
  gst_base_transform_set_qos_enabled(base, FALSE);
}

static void gst_xcorr_json_class_init(GstXCorrJsonClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_xcorr_json_debug, "xcorrjson", 0, "results as JSON");

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties<GstXCorrJson, properties>(object_class);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  gst_element_class_set_static_metadata(
      element_class, "Cross-correlation results as JSON", "Filter/Metadata/Video",
      "Writes what cudaxcorr found, a line for each frame", "The cudaxcorr authors");
  gst_element_class_add_static_metadata(element_class, GST_ELEMENT_METADATA_DOC_URI,
                                        DOC_URL "/gstreamer.md");

  GstBaseTransformClass* base_class = GST_BASE_TRANSFORM_CLASS(klass);
  base_class->start = GST_DEBUG_FUNCPTR(start);
  base_class->stop = GST_DEBUG_FUNCPTR(stop);
  base_class->transform_ip = GST_DEBUG_FUNCPTR(transform_ip);
}
