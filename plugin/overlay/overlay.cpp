// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element xcorroverlay as GStreamer sees it: a bin around GStreamer's own `overlaycomposition`,
// which finds out whether a sink can blend, attaches the images or blends them, and passes frames
// on untouched if there is nothing to draw. What is drawn is in marks.cpp, how in painter.cpp.

/**
 * SECTION:element-xcorroverlay
 * @title: xcorroverlay
 *
 * Draws what #cudaxcorr found: a box around each place with the template's label, the track's
 * number, the score and, for tracks, the confidence and a trail of where they have been. Tentative
 * targets have a dotted box, lost ones that may be again somewhere have it there; other lost ones a
 * dashed box where they were last, for 50 analysed frames.
 *
 * Of what #cudaxcorrfield measured: arrows from the windows' centres, in another colour where they
 * were replaced, with one of a known length below; and, if asked for, a map of colours with its
 * scale.
 *
 * Where downstream can blend (glimagesink, say) the images go along with the frame as a
 * #GstVideoOverlayCompositionMeta and the frame itself stays as it is; else they are drawn into it,
 * into a copy when others hold the frame too. Frames without results pass untouched. A frame that
 * was not analysed (see #cudaxcorr:interval) has the marks of the last one that was.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=clip.mp4 ! decodebin ! videoconvert ! \
 *   cudaxcorr template=patch.png ! xcorroverlay ! videoconvert ! autovideosink
 * ]| Watch a template being found.
 *
 * Since: 0.1
 */
#include "overlay/overlay.h"

#include <string>
#include <utility>

#include <gst/video/video.h>

#include "common/callback.h"
#include "common/fault.h"
#include "common/field_properties.h"
#include "common/mapped_frame.h"
#include "common/property_rows.h"
#include "gstcudaxcorrfieldmeta.h"
#include "overlay/field_painter.h"
#include "overlay/painter.h"

GST_DEBUG_CATEGORY_STATIC(gst_xcorr_overlay_debug);
#define GST_CAT_DEFAULT gst_xcorr_overlay_debug

namespace {

using namespace cudaxcorr;

struct Settings {
  Look look;
  FieldLook field;
  unsigned trail_length = 25;
  bool hide_lost = false;
};

using Rows = PropertyRows<FieldProperty<Settings>>;

const FieldProperties<Settings>& properties() {
  static const FieldProperties<Settings> table = {
      Rows::count("line-width", "Line width",
                  "Width of the lines in pixels of a frame 720 high; it scales with the height", 1,
                  100, XCORR_AT(look.line_width)),
      Rows::count("color", "Color",
                  "Color of all marks, big-endian ARGB (0: a track, or template, has "
                  "its own)",
                  0, G_MAXUINT32, XCORR_AT(look.color)),
      Rows::text("font-desc", "Font description",
                 "Pango description of the font, such as 'Sans Bold 14': points in a frame 720 "
                 "high, which scale with the height, or pixels ('14px'), which do not",
                 XCORR_AT(look.font)),
      Rows::flag("show-label", "Show label", "Write the template's label",
                 XCORR_AT(look.show_label)),
      Rows::flag("show-id", "Show ID", "Write the track's number, if there is one",
                 XCORR_AT(look.show_id)),
      Rows::flag("show-score", "Show score",
                 "Write the score and, where there is one, the confidence in percent",
                 XCORR_AT(look.show_score)),
      Rows::count("trail-length", "Trail length",
                  "Analysed frames whose places make a track's trail (0: no trail)", 0, 10000,
                  XCORR_AT(trail_length)),
      Rows::flag("hide-lost", "Hide lost", "Draw nothing of tracks that are lost",
                 XCORR_AT(hide_lost)),
      Rows::flag("field-arrows", "Field arrows",
                 "Draw the displacements that cudaxcorrfield measured as arrows",
                 XCORR_AT(field.arrows)),
      Rows::number("field-arrow-scale", "Field arrow scale",
                   "Pixels of an arrow for each of the displacement (0: the longest is "
                   "as long as windows are apart or, at places, wide)",
                   0, 1e6, XCORR_AT(field.arrow_scale)),
      Rows::choice("field-map", "Field map", "What of a field is shown by colours",
                   field_map_type(), XCORR_AT(field.map)),
      Rows::number("field-map-range", "Field map range",
                   "The value of the map's last colour (0: the largest there is)", 0, 1e6,
                   XCORR_AT(field.map_range)),
  };
  return table;
}

struct Element {
  Settings settings;  ///< under the object lock
  // Of the streaming thread.
  Marks marks;
  Painter painter;
  FieldPainter field_painter;
  bool warned = false;  ///< of a frame of this segment
};

}  // namespace

struct _GstXCorrOverlay {
  GstBin parent;
  Element* element;
};

G_DEFINE_TYPE(GstXCorrOverlay, gst_xcorr_overlay, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE(xcorroverlay, "xcorroverlay", GST_RANK_NONE, GST_TYPE_XCORR_OVERLAY)

namespace {

constexpr char caps_text[] =
    GST_VIDEO_CAPS_MAKE(GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS) "; "  //
    GST_VIDEO_CAPS_MAKE_WITH_FEATURES("ANY", GST_VIDEO_OVERLAY_COMPOSITION_BLEND_FORMATS);
GstStaticPadTemplate sink_template =
    GST_STATIC_PAD_TEMPLATE("sink", GST_PAD_SINK, GST_PAD_ALWAYS, GST_STATIC_CAPS(caps_text));
GstStaticPadTemplate src_template =
    GST_STATIC_PAD_TEMPLATE("src", GST_PAD_SRC, GST_PAD_ALWAYS, GST_STATIC_CAPS(caps_text));

// ---- frames ---------------------------------------------------------------------------------

/// Takes the image, if it is one.
void add(GstVideoOverlayComposition*& all, GstVideoOverlayRectangle* one) {
  if (!one) return;
  if (!all) all = gst_video_overlay_composition_new(nullptr);
  gst_video_overlay_composition_add_rectangle(all, one);
  gst_video_overlay_rectangle_unref(one);
}

GstVideoOverlayComposition* paint(Element& element, const Settings& settings,
                                  const GstStructure* field, const GstVideoInfo& info) {
  GstVideoOverlayComposition* all = nullptr;
  if (field)
    add(all,
        element.field_painter.paint(field, settings.field, settings.look, info.width, info.height));
  for (const Mark& mark : element.marks.current()) {
    if (mark.lost && settings.hide_lost) continue;
    add(all, element.painter.paint(mark, settings.look, info.width, info.height));
  }
  return all;
}

/// Whether marks may be drawn into the frame. What it is in other memory, or goes along with marks,
/// is not looked at here.
bool is_sound(GstXCorrOverlay* self, GstSample* sample, const GstVideoInfo& info) {
  const GstCapsFeatures* features = gst_caps_get_features(gst_sample_get_caps(sample), 0);
  if (!gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY)) return true;
  const MappedFrame mapped(info, gst_sample_get_buffer(sample), GST_MAP_READ);
  const char* fault = mapped.fault();
  if (fault && !std::exchange(self->element->warned, true))
    post_warning(self, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT,
                        std::string("A frame passes without marks: ") + fault});
  return !fault;
}

/// What to blend over the frame, or null to pass it unchanged.
GstVideoOverlayComposition* draw(GstXCorrOverlay* self, GstSample* sample, GstElement*) {
  GstBuffer* buffer = gst_sample_get_buffer(sample);
  const GstStructure* result = gst_cuda_xcorr_get_result(buffer);
  const GstStructure* field = gst_cuda_xcorr_get_field(buffer);
  GstVideoInfo info;
  if ((!result && !field) || !gst_video_info_from_caps(&info, gst_sample_get_caps(sample)))
    return nullptr;
  const Settings settings = copy_under_lock(self, self->element->settings);
  if (result) self->element->marks.update(result, settings.trail_length);
  if (!is_sound(self, sample, info)) return nullptr;
  return paint(*self->element, settings, field, info);
}

/// A segment starts every stream and follows every seek.
GstPadProbeReturn on_event(GstPad*, GstPadProbeInfo* info, gpointer overlay) {
  Element& element = *GST_XCORR_OVERLAY(overlay)->element;
  if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_SEGMENT) {
    element.marks.forget();
    element.warned = false;
  }
  return GST_PAD_PROBE_OK;
}

/// Of an answer. `overlaycomposition` would draw beside the image of a cropped frame.
GstPadProbeReturn refuse_crop(GstPad*, GstPadProbeInfo* info, gpointer) {
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
  guint index;
  if (GST_QUERY_TYPE(query) == GST_QUERY_ALLOCATION &&
      gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, &index))
    gst_query_remove_nth_allocation_meta(query, index);
  return GST_PAD_PROBE_OK;
}

// ---- the bin --------------------------------------------------------------------------------

/// A ghost pad of the bin for the child's pad of that name, if there is a child.
GstPad* add_pad(GstXCorrOverlay* self, GstStaticPadTemplate& pad_template, GstElement* child) {
  GstPadTemplate* made = gst_static_pad_template_get(&pad_template);
  GstPad* pad = gst_ghost_pad_new_no_target_from_template(pad_template.name_template, made);
  gst_object_unref(made);
  if (child) {
    GstPad* target = gst_element_get_static_pad(child, pad_template.name_template);
    gst_ghost_pad_set_target(GST_GHOST_PAD(pad), target);
    gst_object_unref(target);
  }
  gst_element_add_pad(GST_ELEMENT(self), pad);
  return pad;
}

GstStateChangeReturn change_state(GstElement* base, GstStateChange transition) {
  if (transition == GST_STATE_CHANGE_NULL_TO_READY && GST_BIN_NUMCHILDREN(base) == 0) {
    post_error(base, {GST_CORE_ERROR, GST_CORE_ERROR_MISSING_PLUGIN,
                      "The element 'overlaycomposition' of GStreamer's base plugins is missing"});
    return GST_STATE_CHANGE_FAILURE;
  }
  return GST_ELEMENT_CLASS(gst_xcorr_overlay_parent_class)->change_state(base, transition);
}

void finalize(GObject* object) {
  delete GST_XCORR_OVERLAY(object)->element;
  G_OBJECT_CLASS(gst_xcorr_overlay_parent_class)->finalize(object);
}

}  // namespace

static void gst_xcorr_overlay_init(GstXCorrOverlay* self) {
  self->element = new Element;
  GstElement* child = gst_element_factory_make("overlaycomposition", nullptr);
  if (child) {
    gst_bin_add(GST_BIN(self), child);
    g_signal_connect_swapped(child, "draw", G_CALLBACK((callback<draw, nullptr>)), self);
  }
  GstPad* sink = add_pad(self, sink_template, child);
  gst_pad_add_probe(sink, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM, on_event, self, nullptr);
  constexpr auto answers =
      static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM | GST_PAD_PROBE_TYPE_PULL);
  gst_pad_add_probe(sink, answers, refuse_crop, nullptr, nullptr);
  add_pad(self, src_template, child);
}

static void gst_xcorr_overlay_class_init(GstXCorrOverlayClass* klass) {
  GST_DEBUG_CATEGORY_INIT(gst_xcorr_overlay_debug, "xcorroverlay", 0, "results drawn over video");
  gst_type_mark_as_plugin_api(field_map_type(), static_cast<GstPluginAPIFlags>(0));

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->finalize = finalize;
  install_properties<GstXCorrOverlay, properties>(object_class);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_add_static_pad_template(element_class, &sink_template);
  gst_element_class_add_static_pad_template(element_class, &src_template);
  describe(element_class, "Cross-correlation overlay", "Filter/Editor/Video",
           "Draws what cudaxcorr found over the frames", DOC_URL "/gstreamer" DOC_SUFFIX);
  element_class->change_state = GST_DEBUG_FUNCPTR(change_state);
}
