// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/properties.h"

#include <climits>

#include "common/property_flags.h"
#include "common/property_values.h"

namespace cudaxcorr {
namespace {

/// Twice this plus a template still fits an int.
constexpr guint max_search_margin = 1 << 20;

/// Each frame in flight has device memory of its own.
constexpr guint max_async_depth = 32;

GParamSpec* array_of(const char* name, const char* nick, const char* blurb, GParamSpec* element) {
  return gst_param_spec_array(name, nick, blurb, element, playing);
}

GType method_type() {
  static const GType type = [] {
    static std::vector<GEnumValue> values;  // GObject keeps the pointer
    for (const xcorr::MethodInfo& row : xcorr::methods())
      values.push_back({static_cast<int>(row.method), row.formula, row.name});
    values.push_back({0, nullptr, nullptr});
    return g_enum_register_static("GstCudaXCorrMethod", values.data());
  }();
  return type;
}

GType mask_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(MaskKind::none), "All pixels", "none"},
        {static_cast<int>(MaskKind::alpha), "Those with an alpha of 128 or more", "alpha"},
        {static_cast<int>(MaskKind::disc), "Those in the largest disc or ellipse", "disc"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrMask", values);
  }();
  return type;
}

/// The last two are what the property took when it was a boolean.
GType subpixel_type() {
  static const GType type = [] {
    constexpr int none = static_cast<int>(xcorr::Subpixel::none),
                  least_squares = static_cast<int>(xcorr::Subpixel::least_squares);
    static constexpr GEnumValue values[] = {
        {none, "Whole pixels", "none"},
        {static_cast<int>(xcorr::Subpixel::quadratic), "The extremum of a quadratic through scores",
         "quadratic"},
        {least_squares, "Least squares, but for brightness and contrast", "least-squares"},
        {none, "As none", "false"},
        {least_squares, "As least-squares", "true"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrSubpixel", values);
  }();
  return type;
}

GType polarity_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(xcorr::Polarity::same), "The template's", "same"},
        {static_cast<int>(xcorr::Polarity::inverted), "The opposite: dark where it is bright",
         "inverted"},
        {static_cast<int>(xcorr::Polarity::either), "Either", "either"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrPolarity", values);
  }();
  return type;
}

GType tracker_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(xcorr::FollowBy::automatic),
         "A filter where few upright targets are searched", "auto"},
        {static_cast<int>(xcorr::FollowBy::template_), "The template, and what it has taken up",
         "template"},
        {static_cast<int>(xcorr::FollowBy::filter),
         "A filter of its own, which learns; finds size and angle", "filter"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrTracker", values);
  }();
  return type;
}

GstStructure* stats(const Report& report) {
  constexpr double ms = 1e-6;  // of a nanosecond
  const double analysed = static_cast<double>(report.analysed);
  const double average = report.analysed ? ms * static_cast<double>(report.total_ns) / analysed : 0;
  GstStructure* stats =
      gst_structure_new("cudaxcorr-stats",                                          //
                        "frames", G_TYPE_UINT64, report.frames,                     //
                        "analysed", G_TYPE_UINT64, report.analysed,                 //
                        "in-gpu-memory", G_TYPE_UINT64, report.in_gpu_memory,       //
                        "skipped", G_TYPE_UINT64, report.frames - report.analysed,  //
                        "late", G_TYPE_UINT64, report.late,                         //
                        "average-ms", G_TYPE_DOUBLE, average,                       //
                        "last-ms", G_TYPE_DOUBLE, ms * static_cast<double>(report.last_ns),
                        "kernel", G_TYPE_STRING, report.kernel.c_str(), nullptr);
  for (int i = 0; i < xcorr::track_events; ++i)
    gst_structure_set(stats, name_of(static_cast<xcorr::TrackEvent>(i)), G_TYPE_UINT64,
                      report.targets[i], nullptr);
  return stats;
}

/// A row whose value is the field that `Access` returns.
template <class Access>
Property row(GParamSpec* spec, Access,
             std::optional<LoadedImages TemplateSet::*> images = std::nullopt) {
  return {spec,
          [](Settings& settings, const GValue* value) { return assign(Access{}(settings), value); },
          [](const Settings& settings, const Report&, GValue* value) {
            put(Access{}(settings), value);
          },
          images};
}

std::vector<Property> make_table() {
  const Settings initial;
  return {
      row(
          g_param_spec_string("template", "Template",
                              "Image file with the template to search for (none: frames pass)",
                              nullptr, playing),
          [](auto& s) -> auto& { return s.templates.file; }, &TemplateSet::single),
      row(
          array_of("templates", "Templates",
                   "Image files with further templates, after the one of 'template'",
                   g_param_spec_string("file", "File", "Image file", nullptr, basic)),
          [](auto& s) -> auto& { return s.templates.files; }, &TemplateSet::several),
      row(
          g_param_spec_boxed("template-sample", "Template sample",
                             "A further template as a GstSample of raw video, after those of files",
                             GST_TYPE_SAMPLE, playing),
          [](auto& s) -> auto& { return s.templates.sample; }, &TemplateSet::sampled),
      row(
          g_param_spec_enum("mask", "Mask", "Which pixels of a template count", mask_type(),
                            static_cast<int>(initial.templates.mask.kind), playing),
          [](auto& s) -> auto& { return s.templates.mask.kind; }, nullptr),
      row(
          g_param_spec_uint("mask-inset", "Mask inset",
                            "With mask=disc, pixels between the disc and the template's edges", 0,
                            INT_MAX, initial.templates.mask.inset, playing),
          [](auto& s) -> auto& { return s.templates.mask.inset; }, nullptr),
      row(
          g_param_spec_string("mask-file", "Mask file",
                              "Image file of the templates' size; pixels count where it is not "
                              "black, whatever 'mask' says (none: 'mask' says it)",
                              nullptr, playing),
          [](auto& s) -> auto& { return s.templates.mask.file; }, &TemplateSet::mask_file),
      row(
          g_param_spec_uint("max-template-pixels", "Maximum template pixels",
                            "Largest number of pixels of a template; a larger image is refused "
                            "before it is decoded",
                            1, xcorr::max_template_pixels, initial.max_template_pixels, playing),
          [](auto& s) -> auto& { return s.max_template_pixels; }),
      row(
          g_param_spec_boolean("enable-capture", "Enable capture",
                               "Hold the last frame, of which 'capture-template' takes a part; "
                               "elements that write into frames then copy each",
                               initial.enable_capture, playing),
          [](auto& s) -> auto& { return s.enable_capture; }),
      row(
          g_param_spec_enum("method", "Method", "How a window of the frame is compared",
                            method_type(), static_cast<int>(initial.search.match.method), playing),
          [](auto& s) -> auto& { return s.search.match.method; }),
      row(
          g_param_spec_double("threshold", "Threshold",
                              "How close a match must be, as a fraction of an exact copy's score; "
                              "for sqdiff methods scores up to (1 - threshold) of a zero window's",
                              -1, 1, initial.search.match.threshold, controllable),
          [](auto& s) -> auto& { return s.search.match.threshold; }),
      row(
          g_param_spec_enum("polarity", "Polarity",
                            "Which contrast a match has; others than the template's need a method "
                            "of ccoeff",
                            polarity_type(), static_cast<int>(initial.search.match.polarity),
                            playing),
          [](auto& s) -> auto& { return s.search.match.polarity; }),
      row(
          g_param_spec_double("min-contrast", "Minimum contrast",
                              "Standard deviation, in gray levels, below which the pixels under a "
                              "template are no match (0: they may be flat)",
                              0, 255, initial.search.match.min_contrast, playing),
          [](auto& s) -> auto& { return s.search.match.min_contrast; }),
      row(
          g_param_spec_uint("max-peaks", "Maximum peaks",
                            "Maximum number of peaks reported for each template", 1, 1024,
                            initial.search.match.max_peaks, playing),
          [](auto& s) -> auto& { return s.search.match.max_peaks; }),
      row(
          g_param_spec_uint(
              "min-peak-distance", "Minimum peak distance",
              "Minimum distance between two peaks of a template in pixels, across and down "
              "(0: half the template's width and height)",
              0, INT_MAX, initial.search.match.min_peak_distance, playing),
          [](auto& s) -> auto& { return s.search.match.min_peak_distance; }),
      row(
          g_param_spec_enum("subpixel", "Sub-pixel",
                            "How positions are found to a fraction of a pixel", subpixel_type(),
                            static_cast<int>(initial.search.match.subpixel), playing),
          [](auto& s) -> auto& { return s.search.match.subpixel; }),
      row(
          g_param_spec_double("angle-start", "Angle start",
                              "First angle at which templates are searched, in degrees, "
                              "counter-clockwise as seen",
                              -360, 360, initial.search.match.poses.angle_start, playing),
          [](auto& s) -> auto& { return s.search.match.poses.angle_start; }),
      row(
          g_param_spec_double("angle-extent", "Angle extent",
                              "Degrees from the first angle to the last (0: only the first; 360: "
                              "any angle)",
                              0, 360, initial.search.match.poses.angle_extent, playing),
          [](auto& s) -> auto& { return s.search.match.poses.angle_extent; }),
      row(
          g_param_spec_double("angle-step", "Angle step",
                              "Degrees from one angle to the next, before refinement (0: from the "
                              "template's size)",
                              0, 360, initial.search.match.poses.angle_step, playing),
          [](auto& s) -> auto& { return s.search.match.poses.angle_step; }),
      row(
          g_param_spec_double("scale-min", "Minimum scale",
                              "Smallest size at which templates are searched, as a factor", 0.1, 10,
                              initial.search.match.poses.scale_min, playing),
          [](auto& s) -> auto& { return s.search.match.poses.scale_min; }),
      row(
          g_param_spec_double("scale-max", "Maximum scale",
                              "Largest size at which templates are searched, as a factor", 0.1, 10,
                              initial.search.match.poses.scale_max, playing),
          [](auto& s) -> auto& { return s.search.match.poses.scale_max; }),
      row(
          g_param_spec_double("scale-step", "Scale step",
                              "From one scale to the next, as a share of it, before refinement (0: "
                              "from the template's size)",
                              0, 1, initial.search.match.poses.scale_step, playing),
          [](auto& s) -> auto& { return s.search.match.poses.scale_step; }),
      row(
          g_param_spec_int("pyramid-levels", "Pyramid levels",
                           "How often frame and template are halved for the first pass over angles "
                           "and scales (-1: as the template's details permit)",
                           -1, 8, initial.search.match.poses.pyramid_levels, playing),
          [](auto& s) -> auto& { return s.search.match.poses.pyramid_levels; }),
      row(
          g_param_spec_boolean("exhaustive", "Exhaustive",
                               "Search all angles and scales at full size, whatever the levels",
                               initial.search.match.poses.exhaustive, playing),
          [](auto& s) -> auto& { return s.search.match.poses.exhaustive; }),
      row(
          g_param_spec_double(
              "max-overlap", "Maximum overlap",
              "Of two places at any angles or scales whose common part is more than "
              "this of the smaller one's area, the better is reported",
              0, 1, initial.search.match.poses.max_overlap, playing),
          [](auto& s) -> auto& { return s.search.match.poses.max_overlap; }),
      row(
          g_param_spec_boolean("best-template", "Best template",
                               "Of templates that match one place, report only the best",
                               initial.search.match.best_template, playing),
          [](auto& s) -> auto& { return s.search.match.best_template; }),
      row(
          // Its items are not described: GStreamer 1.22 crashes at an array in an array of numbers.
          array_of("search-region", "Search region",
                   "Part of the frame that is searched, <x, y, width, height> in pixels; a match "
                   "lies wholly inside (empty, or of no size: the frame)",
                   nullptr),
          [](auto& s) -> auto& { return s.search.match.search_region; }),
      row(
          g_param_spec_double("prefilter-sigma", "Prefilter sigma",
                              "Smooth the frame and the templates by a Gaussian of this many "
                              "pixels before they are compared (0: no)",
                              0, 10, initial.search.match.prefilter_sigma, playing),
          [](auto& s) -> auto& { return s.search.match.prefilter_sigma; }),
      row(
          g_param_spec_boolean("track", "Track",
                               "Follow up to max-peaks targets of each template by ids that stay, "
                               "searching near the places where they are expected",
                               initial.search.tracking.enabled, playing),
          [](auto& s) -> auto& { return s.search.tracking.enabled; }),
      row(
          g_param_spec_enum("tracker", "Tracker",
                            "With 'track', what follows a target that a template has found",
                            tracker_type(), static_cast<int>(initial.search.tracking.by), playing),
          [](auto& s) -> auto& { return s.search.tracking.by; }),
      row(
          g_param_spec_uint("search-margin", "Search margin",
                            "With 'track', pixels around the expected place that are searched", 1,
                            max_search_margin, initial.search.tracking.search_margin, playing),
          [](auto& s) -> auto& { return s.search.tracking.search_margin; }),
      row(
          g_param_spec_uint("redetect-interval", "Redetect interval",
                            "With 'track', search a whole frame every Nth analysed frame while a "
                            "target is lost or fewer than max-peaks are followed",
                            1, INT_MAX, initial.search.tracking.redetect_interval, playing),
          [](auto& s) -> auto& { return s.search.tracking.redetect_interval; }),
      row(
          g_param_spec_uint("recheck-interval", "Recheck interval",
                            "With 'track', search a whole frame every Nth analysed frame while all "
                            "targets are followed, in case they are elsewhere (0: never)",
                            0, INT_MAX, initial.search.tracking.recheck_interval, playing),
          [](auto& s) -> auto& { return s.search.tracking.recheck_interval; }),
      row(
          g_param_spec_uint(
              "min-frames-for-lost", "Minimum frames for lost",
              "With 'track', a target is lost after this many analysed frames in a row "
              "without a detection",
              1, INT_MAX, initial.search.tracking.min_frames_for_lost, playing),
          [](auto& s) -> auto& { return s.search.tracking.min_frames_for_lost; }),
      row(
          g_param_spec_uint("forget-after", "Forget after",
                            "With 'track', a target ends after this many analysed frames in a row "
                            "without a detection (0: never)",
                            0, INT_MAX, initial.search.tracking.forget_after, playing),
          [](auto& s) -> auto& { return s.search.tracking.forget_after; }),
      row(
          g_param_spec_double("min-confidence", "Minimum confidence",
                              "With 'track', how sure it must be that a place is the target's, or "
                              "the target is reported as lost",
                              0, 1, initial.search.tracking.min_confidence, controllable),
          [](auto& s) -> auto& { return s.search.tracking.min_confidence; }),
      row(
          g_param_spec_double(
              "track-angle", "Track angle",
              "With 'track' and where angles or scales are searched: degrees that a "
              "target turns from one frame to the next at most, from any angle (0: "
              "it stays within the angles that are searched)",
              0, 180, initial.search.tracking.turn, playing),
          [](auto& s) -> auto& { return s.search.tracking.turn; }),
      row(
          g_param_spec_double(
              "track-scale", "Track scale",
              "With 'track' and where angles or scales are searched: share by which "
              "a target grows or shrinks from one frame to the next at most, to any "
              "size (0: it stays within the scales that are searched)",
              0, 1, initial.search.tracking.growth, playing),
          [](auto& s) -> auto& { return s.search.tracking.growth; }),
      row(
          g_param_spec_double(
              "template-update", "Template update",
              "With 'track', the weight at which the matched patch is blended into the "
              "template after each frame in which its target is tracked (0: the "
              "template never changes)",
              0, 1, initial.search.tracking.update, controllable),
          [](auto& s) -> auto& { return s.search.tracking.update; }),
      row(
          g_param_spec_double(
              "template-update-score", "Template update score",
              "How close a match must be for 'template-update' to blend it in, on the "
              "scale of 'threshold'",
              -1, 1, initial.search.tracking.update_score, controllable),
          [](auto& s) -> auto& { return s.search.tracking.update_score; }),
      row(
          g_param_spec_uint("interval", "Interval", "Analyse every Nth frame, pass the others", 1,
                            G_MAXUINT, initial.interval, playing),
          [](auto& s) -> auto& { return s.interval; }),
      row(
          g_param_spec_uint(
              "async-depth", "Asynchronous depth",
              "Maximum number of frames in flight; each leaves when that many, itself "
              "included, have arrived (1: at once). With 'track' it is 1",
              1, max_async_depth, initial.search.async_depth, playing),
          [](auto& s) -> auto& { return s.search.async_depth; }),
      row(
          g_param_spec_int64("max-lateness", "Maximum lateness",
                             "Pass a live source's frame unanalysed if it arrives more nanoseconds "
                             "than this later than usual (-1: never)",
                             -1, G_MAXINT64, initial.max_lateness, playing),
          [](auto& s) -> auto& { return s.max_lateness; }),
      row(
          g_param_spec_uint("response-template", "Response template",
                            "Number of the template whose scores the pad 'response' shows", 0,
                            G_MAXUINT, initial.response_template, playing),
          [](auto& s) -> auto& { return s.response_template; }),
      row(
          g_param_spec_string("camera-id", "Camera ID",
                              "Name of the camera, which results then have as 'camera' (none: they "
                              "have no such field)",
                              nullptr, playing),
          [](auto& s) -> auto& { return s.camera_id; }),
      row(
          g_param_spec_boolean("post-messages", "Post messages",
                               "Post an element message 'cudaxcorr' for each analysed frame",
                               initial.post_messages, playing),
          [](auto& s) -> auto& { return s.post_messages; }),
      row(
          g_param_spec_boolean("attach-roi-meta", "Attach ROI meta",
                               "Attach a region-of-interest meta for each peak and, in builds "
                               "that have them, GstAnalytics metas, besides the "
                               "GstCudaXCorrMeta of the frame",
                               initial.attach_roi_meta, playing),
          [](auto& s) -> auto& { return s.attach_roi_meta; }),
      row(
          g_param_spec_string(
              "kernel", "Kernel",
              "Name of the correlation kernel to use; 'auto': what benchmarks found "
              "fastest; 'tune': what is fastest here, measured once (2 s at most "
              "before a frame) and remembered",
              initial.search.match.kernel.c_str(), playing),
          [](auto& s) -> auto& { return s.search.match.kernel; }),
      row(
          g_param_spec_enum("backend", "Backend", "Where to compute", backend_type(),
                            static_cast<int>(initial.device.backend), ready),
          [](auto& s) -> auto& { return s.device.backend; }),
      {g_param_spec_enum("active-backend", "Active backend",
                         "Where it computes ('auto': not started)", backend_type(),
                         static_cast<int>(BackendChoice::automatic), readable),
       nullptr,
       [](const Settings&, const Report& r, GValue* value) { put(r.active_backend, value); }},
      row(
          g_param_spec_int("cuda-device-id", "CUDA device ID",
                           "CUDA's number of the GPU (-1: any, by the pipeline and by load)", -1,
                           INT_MAX, initial.device.cuda_device_id, ready),
          [](auto& s) -> auto& { return s.device.cuda_device_id; }),
      row(
          g_param_spec_string("devices", "Devices",
                              "CUDA's numbers of several GPUs that share the templates, such as "
                              "0,1, none of them twice (none: one GPU)",
                              nullptr, ready),
          [](auto& s) -> auto& { return s.device.devices; }),
      {g_param_spec_boxed(
           "stats", "Statistics",
           "Since the start: frames, analysed, in-gpu-memory (of these, read there), "
           "skipped, late (of these; all uint64), average-ms, last-ms "
           "(double, of the analysed), kernel (string); with 'track', of targets, how many "
           "entered, left, lost, found, dropped (uint64)",
           GST_TYPE_STRUCTURE, readable),
       nullptr,
       [](const Settings&, const Report& r, GValue* value) {
         g_value_take_boxed(value, stats(r));
       }},
  };
}

}  // namespace

const std::vector<Property>& properties() {
  static const std::vector<Property> table = make_table();
  return table;
}

void mark_property_types() {
  gst_type_mark_as_plugin_api(method_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(subpixel_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(polarity_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(mask_type(), static_cast<GstPluginAPIFlags>(0));
  gst_type_mark_as_plugin_api(backend_type(), static_cast<GstPluginAPIFlags>(0));
}

}  // namespace cudaxcorr
