// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/properties.h"

#include <climits>

#include "common/property_rows.h"

namespace cudaxcorr::fields {
namespace {

GType reference_type() {
  static const GType type = [] {
    static constexpr GEnumValue values[] = {
        {static_cast<int>(Reference::previous), "The frame before", "previous"},
        {static_cast<int>(Reference::first), "The first frame, or the one after 'take-reference'",
         "first"},
        {static_cast<int>(Reference::file), "The image of 'reference-file'", "file"},
        {static_cast<int>(Reference::signal), "The frame after 'take-reference'", "signal"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrFieldReference", values);
  }();
  return type;
}

GType subpixel_type() {
  static const GType type = [] {
    using xcorr::FieldSubpixel;
    static constexpr GEnumValue values[] = {
        {static_cast<int>(FieldSubpixel::none), "Whole pixels", "none"},
        {static_cast<int>(FieldSubpixel::gauss), "A Gauss curve through three scores each way",
         "gauss"},
        {static_cast<int>(FieldSubpixel::quadratic), "A quadratic through nine scores",
         "quadratic"},
        {static_cast<int>(FieldSubpixel::least_squares), "Least squares on the pixels",
         "least-squares"},
        {0, nullptr, nullptr}};
    return g_enum_register_static("GstCudaXCorrFieldSubpixel", values);
  }();
  return type;
}

GstStructure* stats(const Report& report) {
  constexpr double ms = 1e-6;  // of a nanosecond
  const double measured = static_cast<double>(report.measured);
  const double average = report.measured ? ms * static_cast<double>(report.total_ns) / measured : 0;
  return gst_structure_new("cudaxcorrfield-stats",                               //
                           "frames", G_TYPE_UINT64, guint64{report.frames},      //
                           "measured", G_TYPE_UINT64, guint64{report.measured},  //
                           "cuts", G_TYPE_UINT64, guint64{report.cuts},          //
                           "in-gpu-memory", G_TYPE_UINT64, guint64{report.in_gpu_memory},
                           "average-ms", G_TYPE_DOUBLE, average,  //
                           "last-ms", G_TYPE_DOUBLE, ms * static_cast<double>(report.last_ns),
                           nullptr);
}

using Row = FieldProperty<State>;
using Rows = PropertyRows<Row>;

FieldProperties<State> make_table() {
  return {
      // Its items are not described: GStreamer 1.22 crashes at an array in an array of numbers.
      Row::of(
          gst_param_spec_array("windows", "Windows",
                               "Pixels along a side of the windows of each pass, coarse to fine, "
                               "4 to 256 each and none larger than the one before, such as <64,32>",
                               nullptr, playing),
          XCORR_AT(settings.field.windows)),
      Rows::count("spacing", "Spacing", "Pixels from window to window of the last pass, 1 or more",
                  0, INT_MAX, XCORR_AT(settings.field.spacing)),
      Rows::text("places-file", "Places file",
                 "CSV file with x,y of the centre of a window a line, for windows "
                 "there instead of on a grid (none: a grid)",
                 XCORR_AT(settings.places_file)),
      Rows::count("search-range", "Search range",
                  "Pixels by which the first pass finds windows moved along each axis", 1, 64,
                  XCORR_AT(settings.field.search_range)),
      Rows::count("later-range", "Later range",
                  "The same for later passes, from where the pass before found them", 1, 64,
                  XCORR_AT(settings.field.later_range)),
      Rows::choice("subpixel", "Sub-pixel", "How displacements are found to a fraction of a pixel",
                   subpixel_type(), XCORR_AT(settings.field.subpixel)),
      Rows::count("order", "Order",
                  "With subpixel=least-squares, 0: windows move; 1: they are also "
                  "stretched and sheared, and bent with deformation; 2: and bent",
                  0, 2, XCORR_AT(settings.field.order)),
      Rows::count("spline-degree", "Spline degree",
                  "With subpixel=least-squares, 3 or 5: of the spline between pixels", 3, 5,
                  XCORR_AT(settings.field.spline_degree)),
      Rows::number("weight-sigma", "Weight sigma",
                   "With subpixel=least-squares, pixels: the width of a Gauss bell by "
                   "which a window's pixels weigh (0: all weigh alike)",
                   0, 1000, XCORR_AT(settings.field.weight_sigma)),
      Rows::number("median-limit", "Median limit",
                   "Normalised median test: a displacement farther than this many times "
                   "the neighbours' deviation from their median is replaced (0: none is)",
                   0, 1e6, XCORR_AT(settings.field.median_limit)),
      Rows::number("median-noise", "Median noise",
                   "Pixels that the median test adds to the neighbours' deviation", 0, 1e6,
                   XCORR_AT(settings.field.median_noise)),
      Rows::number("min-score", "Minimum score", "A displacement with a lower score is replaced",
                   -1, 1, XCORR_AT(settings.field.min_score)),
      Rows::number("min-ratio", "Minimum ratio",
                   "A displacement is replaced whose score has a lower ratio to that of "
                   "the second peak",
                   1, 100, XCORR_AT(settings.field.min_ratio)),
      Rows::number("smoothing", "Smoothing",
                   "Standard deviation, in windows, of a Gauss bell by which "
                   "displacements are averaged with those around them (0: not at all)",
                   0, 2, XCORR_AT(settings.field.smoothing)),
      Rows::number("prefilter-sigma", "Prefilter sigma",
                   "Pixels: both images are smoothed first by a Gauss bell of that "
                   "standard deviation (0: not at all)",
                   0, 10, XCORR_AT(settings.field.prefilter_sigma)),
      Rows::flag("deformation", "Deformation",
                 "Passes after the first search in the frame as the field found "
                 "before deforms it back",
                 XCORR_AT(settings.field.deformation)),
      Rows::flag("symmetric", "Symmetric",
                 "Displacements belong to the middle of the way, half in the "
                 "reference and half in the frame",
                 XCORR_AT(settings.field.symmetric)),
      Rows::text("mask-file", "Mask file",
                 "Image file of the frames' size; pixels of the reference count where "
                 "it is not black (none: all do)",
                 XCORR_AT(settings.mask_file)),
      Rows::number("min-counted", "Minimum counted",
                   "Of a window's pixels the share that must count under a mask, above "
                   "0",
                   0, 1, XCORR_AT(settings.field.min_counted)),
      Rows::choice("reference", "Reference", "What frames are compared with", reference_type(),
                   XCORR_AT(settings.reference)),
      Rows::text("reference-file", "Reference file",
                 "With reference=file, an image file of the frames' size",
                 XCORR_AT(settings.reference_file)),
      Rows::number("cut-score", "Cut score",
                   "A frame where half of the windows score less has the state 'cut' "
                   "(-1: none has)",
                   -1, 1, XCORR_AT(settings.cut_score)),
      Rows::number("max-work", "Maximum work",
                   "Seconds that a frame may take, by an estimate for this device; a task that "
                   "takes longer is refused (-1: one of more than 1 s is done, with a warning; 0: "
                   "without)",
                   -1, 1e6, XCORR_AT(settings.field.budget.max_work)),
      Rows::bytes("max-memory", "Maximum memory",
                  "Bytes that images, windows and their results may take; a task that takes more "
                  "is refused "
                  "(0: no limit)",
                  XCORR_AT(settings.field.budget.max_memory)),
      Rows::flag("post-messages", "Post messages",
                 "Post an element message 'cudaxcorrfield' for each measured frame",
                 XCORR_AT(settings.post_messages)),
      Rows::choice("backend", "Backend", "Where to compute", backend_type(),
                   XCORR_AT(settings.device.backend), ready),
      {g_param_spec_enum("active-backend", "Active backend",
                         "Where it computes ('auto': not started)", backend_type(),
                         static_cast<int>(BackendChoice::automatic), readable),
       nullptr, [](const State& s, GValue* value) { put(s.report.active_backend, value); }},
      Rows::integer("cuda-device-id", "CUDA device ID",
                    "CUDA's number of the GPU (-1: any, by the pipeline and by load)", -1, INT_MAX,
                    XCORR_AT(settings.device.cuda_device_id), ready),
      {g_param_spec_boxed("stats", "Statistics",
                          "Since the start: frames, measured, cuts (of these), in-gpu-memory (of "
                          "the measured, read there; all uint64), average-ms, last-ms (double)",
                          GST_TYPE_STRUCTURE, readable),
       nullptr, [](const State& s, GValue* value) { g_value_take_boxed(value, stats(s.report)); }},
  };
}

}  // namespace

const FieldProperties<State>& properties() {
  static const FieldProperties<State> table = make_table();
  return table;
}

void mark_property_types() {
  for (const GType type : {reference_type(), subpixel_type(), backend_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}

}  // namespace cudaxcorr::fields
