// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/properties.h"

#include <algorithm>
#include <climits>
#include <iterator>

#include "common/property_rows.h"
#include "cudaxcorr/property_types.h"

namespace cudaxcorr {
namespace {

using Rows = PropertyRows<Property>;

/// Twice this plus a template still fits an int.
constexpr guint max_search_margin = 1 << 20;

/// Each frame in flight has device memory of its own.
constexpr guint max_async_depth = 32;

GParamSpec* array_of(const char* name, const char* nick, const char* blurb, GParamSpec* element) {
  return gst_param_spec_array(name, nick, blurb, element, playing);
}

/// A property of templates, with the list of images that is loaded anew when it is set.
Property of_templates(Property row, LoadedImages TemplateSet::*list) {
  row.images = list;
  return row;
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

/// What is searched for.
std::vector<Property> template_rows() {
  return {
      of_templates(Rows::text("template", "Template",
                              "Image file with the template to search for (none: frames pass)",
                              XCORR_AT(templates.file)),
                   &TemplateSet::single),
      of_templates(
          Property::of(array_of("templates", "Templates",
                                "Image files with further templates, after the one of 'template'",
                                g_param_spec_string("file", "File", "Image file", nullptr, basic)),
                       XCORR_AT(templates.files)),
          &TemplateSet::several),
      of_templates(
          Property::of(g_param_spec_boxed(
                           "template-sample", "Template sample",
                           "A further template as a GstSample of raw video, after those of files",
                           GST_TYPE_SAMPLE, playing),
                       XCORR_AT(templates.sample)),
          &TemplateSet::sampled),
      of_templates(Rows::text("templates-dir", "Templates directory",
                              "Folder of image files with further templates, labelled by their "
                              "names, after 'template-sample'; what 'templates.yaml' in it says of "
                              "them counts, and changes are taken over while frames flow",
                              XCORR_AT(templates.folder)),
                   &TemplateSet::of_folder),
      of_templates(Rows::choice("mask", "Mask", "Which pixels of a template count", mask_type(),
                                XCORR_AT(templates.mask.kind)),
                   nullptr),
      of_templates(Rows::count("mask-inset", "Mask inset",
                               "With mask=disc, pixels between the disc and the template's edges",
                               0, INT_MAX, XCORR_AT(templates.mask.inset)),
                   nullptr),
      of_templates(Rows::text("mask-file", "Mask file",
                              "Image file of the templates' size; pixels count where it is not "
                              "black, whatever 'mask' says (none: 'mask' says it)",
                              XCORR_AT(templates.mask.file)),
                   &TemplateSet::mask_file),
      Rows::count("max-template-pixels", "Maximum template pixels",
                  "Largest number of pixels of a template; a larger image is refused "
                  "before it is decoded",
                  1, xcorr::max_template_pixels, XCORR_AT(max_template_pixels)),
      Rows::flag("enable-capture", "Enable capture",
                 "Hold the last frame, of which 'capture-template' takes a part; "
                 "elements that write into frames then copy each",
                 XCORR_AT(enable_capture)),
  };
}

/// How frames are searched, and what of it is reported.
std::vector<Property> search_rows() {
  return {
      Rows::choice("method", "Method", "How a window of the frame is compared", method_type(),
                   XCORR_AT(search.match.method)),
      Rows::choice("match-on", "Match on", "What of frames and templates is compared",
                   match_on_type(), XCORR_AT(search.match.match_on)),
      Rows::number("edge-contrast", "Edge contrast",
                   "On edges: the least gradient of a template's edges, in gray levels a pixel",
                   0.1, 64, XCORR_AT(search.match.edge_contrast)),
      Rows::number("threshold", "Threshold",
                   "How close a match must be, as a fraction of an exact copy's score; "
                   "for sqdiff methods scores up to (1 - threshold) of a zero window's",
                   -1, 1, XCORR_AT(search.match.threshold), controllable),
      Rows::choice("polarity", "Polarity",
                   "Which contrast a match has; others than the template's need a method "
                   "of ccoeff",
                   polarity_type(), XCORR_AT(search.match.polarity)),
      Rows::number("min-contrast", "Minimum contrast",
                   "Standard deviation, in gray levels, below which the pixels under a "
                   "template are no match (0: they may be flat)",
                   0, 255, XCORR_AT(search.match.min_contrast)),
      Rows::number("confirm-threshold", "Confirm threshold",
                   "Largest difference, in gray levels, of template and frame in any 8x8 pixels of "
                   "a match that is looked at again (0: none is)",
                   0, 255, XCORR_AT(search.match.confirm_threshold)),
      Rows::count("max-peaks", "Maximum peaks",
                  "Maximum number of peaks reported for each template", 1, 1024,
                  XCORR_AT(search.match.max_peaks)),
      Rows::count("min-peak-distance", "Minimum peak distance",
                  "Minimum distance between two peaks of a template in pixels, across and down "
                  "(0: half the template's width and height)",
                  0, INT_MAX, XCORR_AT(search.match.min_peak_distance)),
      Rows::choice("subpixel", "Sub-pixel", "How positions are found to a fraction of a pixel",
                   subpixel_type(), XCORR_AT(search.match.subpixel)),
      Rows::flag("best-template", "Best template",
                 "Of templates that match one place, report only the best",
                 XCORR_AT(search.match.best_template)),
      // Its items are not described: GStreamer 1.22 crashes at an array in an array of numbers.
      Property::of(
          array_of("search-region", "Search region",
                   "Part of the frame that is searched, <x, y, width, height> in pixels; a match "
                   "lies wholly inside (empty, or of no size: the frame)",
                   nullptr),
          XCORR_AT(search.match.search_region)),
      Rows::number("overhang", "Overhang",
                   "Share of the template's pixels that may lie outside the frame; the score is "
                   "that of the others (the CPU only)",
                   0, 0.5, XCORR_AT(search.match.overhang)),
      Rows::number("prefilter-sigma", "Prefilter sigma",
                   "Smooth the frame and the templates by a Gaussian of this many "
                   "pixels before they are compared (0: no)",
                   0, 10, XCORR_AT(search.match.prefilter_sigma)),
      Rows::text("kernel", "Kernel",
                 "Name of the correlation kernel to use; 'auto': what benchmarks found "
                 "fastest; 'tune': what is fastest here, measured once (2 s at most "
                 "before a frame) and remembered",
                 XCORR_AT(search.match.kernel)),
      Rows::number("max-work", "Maximum work",
                   "Seconds that a frame may take, by an estimate for this device; a task that "
                   "takes longer is refused (-1: one of more than 1 s is done, with a warning; 0: "
                   "without)",
                   -1, 1e6, XCORR_AT(search.match.budget.max_work)),
      Rows::bytes("max-memory", "Maximum memory",
                  "Bytes that templates with all that is made of them may take; a task that takes "
                  "more is refused "
                  "(0: no limit)",
                  XCORR_AT(search.match.budget.max_memory)),
  };
}

/// The angles and scales that are searched.
std::vector<Property> pose_rows() {
  return {
      Rows::number("angle-start", "Angle start",
                   "First angle at which templates are searched, in degrees, "
                   "counter-clockwise as seen",
                   -360, 360, XCORR_AT(search.match.poses.angle_start)),
      Rows::number("angle-extent", "Angle extent",
                   "Degrees from the first angle to the last (0: only the first; 360: "
                   "any angle)",
                   0, 360, XCORR_AT(search.match.poses.angle_extent)),
      Rows::number("angle-step", "Angle step",
                   "Degrees from one angle to the next, before refinement (0: from the "
                   "template's size)",
                   0, 360, XCORR_AT(search.match.poses.angle_step)),
      Rows::number("scale-min", "Minimum scale",
                   "Smallest size at which templates are searched, as a factor", 0.1, 10,
                   XCORR_AT(search.match.poses.scale_min)),
      Rows::number("scale-max", "Maximum scale",
                   "Largest size at which templates are searched, as a factor", 0.1, 10,
                   XCORR_AT(search.match.poses.scale_max)),
      Rows::number("scale-step", "Scale step",
                   "From one scale to the next, as a share of it, before refinement (0: "
                   "from the template's size)",
                   0, 1, XCORR_AT(search.match.poses.scale_step)),
      Rows::integer("pyramid-levels", "Pyramid levels",
                    "How often frame and template are halved for the first pass over angles "
                    "and scales (-1: as the template's details permit)",
                    -1, 8, XCORR_AT(search.match.poses.pyramid_levels)),
      Rows::flag("exhaustive", "Exhaustive",
                 "Search all angles and scales at full size, whatever the levels",
                 XCORR_AT(search.match.poses.exhaustive)),
      Rows::number("max-overlap", "Maximum overlap",
                   "Of two places at any angles or scales whose common part is more than "
                   "this of the smaller one's area, the better is reported",
                   0, 1, XCORR_AT(search.match.poses.max_overlap)),
  };
}

/// How targets are followed.
std::vector<Property> track_rows() {
  return {
      Rows::flag("track", "Track",
                 "Follow up to max-peaks targets of each template by ids that stay, "
                 "searching near the places where they are expected",
                 XCORR_AT(search.tracking.enabled)),
      Rows::flag("track-detections", "Track detections",
                 "Follow what a detector upstream finds, given as GstVideoRegionOfInterestMeta in "
                 "all frames or some, instead of templates",
                 XCORR_AT(search.tracking.detections)),
      Rows::count("max-targets", "Maximum number of targets",
                  "With 'track-detections', the maximum number of targets of each label", 1, 1024,
                  XCORR_AT(search.max_targets)),
      Rows::choice("tracker", "Tracker",
                   "With 'track', what follows a target that a template has found", tracker_type(),
                   XCORR_AT(search.tracking.by)),
      Rows::count("search-margin", "Search margin",
                  "With 'track', pixels around the expected place that are searched", 1,
                  max_search_margin, XCORR_AT(search.tracking.search_margin)),
      Rows::count("redetect-interval", "Redetect interval",
                  "With 'track', search a whole frame every Nth analysed frame while a "
                  "target is lost or fewer than max-peaks are followed",
                  1, INT_MAX, XCORR_AT(search.tracking.redetect_interval)),
      Rows::count("recheck-interval", "Recheck interval",
                  "With 'track', search a whole frame every Nth analysed frame while all "
                  "targets are followed, in case they are elsewhere (0: never)",
                  0, INT_MAX, XCORR_AT(search.tracking.recheck_interval)),
      Rows::count("min-frames-for-lost", "Minimum frames for lost",
                  "With 'track', a target is lost after this many analysed frames in a row "
                  "without a detection",
                  1, INT_MAX, XCORR_AT(search.tracking.min_frames_for_lost)),
      Rows::count("forget-after", "Forget after",
                  "With 'track', a target ends after this many analysed frames in a row "
                  "without a detection (0: never)",
                  0, INT_MAX, XCORR_AT(search.tracking.forget_after)),
      Rows::number("min-confidence", "Minimum confidence",
                   "How sure it must be that a place is right, or it is not reported; with "
                   "'track', or the target is reported as lost (-1: with 'track' 0.4, "
                   "else places have no confidence)",
                   -1, 1, XCORR_AT(search.min_confidence), controllable),
      Rows::number("track-angle", "Track angle",
                   "With 'track' and where angles or scales are searched: degrees that a "
                   "target turns from one frame to the next at most, from any angle (0: "
                   "it stays within the angles that are searched)",
                   0, 180, XCORR_AT(search.tracking.turn)),
      Rows::number("track-scale", "Track scale",
                   "With 'track' and where angles or scales are searched: share by which "
                   "a target grows or shrinks from one frame to the next at most, to any "
                   "size (0: it stays within the scales that are searched)",
                   0, 1, XCORR_AT(search.tracking.growth)),
      Rows::number("template-update", "Template update",
                   "With 'track', the weight at which the matched patch is blended into the "
                   "template after each frame in which its target is tracked (0: the "
                   "template never changes)",
                   0, 1, XCORR_AT(search.tracking.update), controllable),
      Rows::number("template-update-score", "Template update score",
                   "How close a match must be for 'template-update' to blend it in, on the "
                   "scale of 'threshold'",
                   -1, 1, XCORR_AT(search.tracking.update_score), controllable),
  };
}

/// Which frames are analysed, and where results go.
std::vector<Property> output_rows() {
  return {
      Rows::count("interval", "Interval", "Analyse every Nth frame, pass the others", 1, G_MAXUINT,
                  XCORR_AT(interval)),
      Rows::count("async-depth", "Asynchronous depth",
                  "Maximum number of frames in flight; each leaves when that many, itself "
                  "included, have arrived (1: at once). With 'track' it is 2 at most",
                  1, max_async_depth, XCORR_AT(search.async_depth)),
      Rows::integer("max-lateness", "Maximum lateness",
                    "Pass a live source's frame unanalysed if it arrives more nanoseconds "
                    "than this later than usual (-1: never)",
                    -1, G_MAXINT64, XCORR_AT(max_lateness)),
      Rows::count("response-template", "Response template",
                  "Number of the template whose scores the pad 'response' shows", 0, G_MAXUINT,
                  XCORR_AT(response_template)),
      Rows::text("camera-id", "Camera ID",
                 "Name of the camera, which results then have as 'camera' (none: they "
                 "have no such field)",
                 XCORR_AT(camera_id)),
      Rows::flag("post-messages", "Post messages",
                 "Post an element message 'cudaxcorr' for each analysed frame",
                 XCORR_AT(post_messages)),
      Rows::flag("attach-roi-meta", "Attach ROI meta",
                 "Attach a region-of-interest meta for each peak and, in builds "
                 "that have them, GstAnalytics metas, besides the "
                 "GstCudaXCorrMeta of the frame",
                 XCORR_AT(attach_roi_meta)),
      Rows::flag("events", "Events",
                 "Tell when a label appears and when it is gone: in the frame's meta, and by an "
                 "element message 'cudaxcorr-event'",
                 XCORR_AT(events)),
      Rows::count("appear-frames", "Appear frames",
                  "With 'events', a label appears once this many analysed frames in a row have "
                  "shown it",
                  1, INT_MAX, XCORR_AT(presence.appear_frames)),
      Rows::count("gone-frames", "Gone frames",
                  "With 'events', a label is gone once this many analysed frames in a row have "
                  "not shown it",
                  1, INT_MAX, XCORR_AT(presence.gone_frames)),
  };
}

/// Where it computes.
std::vector<Property> device_rows() {
  return {
      Rows::choice("backend", "Backend", "Where to compute", backend_type(),
                   XCORR_AT(device.backend), ready),
      {g_param_spec_enum("active-backend", "Active backend",
                         "Where it computes ('auto': not started)", backend_type(),
                         static_cast<int>(BackendChoice::automatic), readable),
       nullptr,
       [](const Settings&, const Report& r, GValue* value) { put(r.active_backend, value); }},
      Rows::integer("cuda-device-id", "CUDA device ID",
                    "CUDA's number of the GPU (-1: any, by the pipeline and by load)", -1, INT_MAX,
                    XCORR_AT(device.cuda_device_id), ready),
      Property::of(
          g_param_spec_string("devices", "Devices",
                              "CUDA's numbers of several GPUs that share the templates, such as "
                              "0,1, none of them twice (none: one GPU)",
                              nullptr, ready),
          XCORR_AT(device.devices)),
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
  static const std::vector<Property> table = [] {
    std::vector<Property> all;
    for (const auto group :
         {template_rows, search_rows, pose_rows, track_rows, output_rows, device_rows})
      std::ranges::move(group(), std::back_inserter(all));
    return all;
  }();
  return table;
}

}  // namespace cudaxcorr
