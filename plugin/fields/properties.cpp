// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/properties.h"

#include <climits>

#include "common/property_flags.h"

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

FieldProperties<State> make_table() {
  const Settings initial;
  return {
      field<State>(
          // Its items are not described: GStreamer 1.22 crashes at an array in an array of numbers.
          gst_param_spec_array("windows", "Windows",
                               "Pixels along a side of the windows of each pass, coarse to fine, "
                               "4 to 256 each and none larger than the one before, such as <64,32>",
                               nullptr, playing),
          [](auto& s) -> auto& { return s.settings.field.windows; }),
      field<State>(
          g_param_spec_uint("spacing", "Spacing",
                            "Pixels from window to window of the last pass, 1 or more", 0, INT_MAX,
                            initial.field.spacing, playing),
          [](auto& s) -> auto& { return s.settings.field.spacing; }),
      field<State>(
          g_param_spec_string("places-file", "Places file",
                              "CSV file with x,y of the centre of a window a line, for windows "
                              "there instead of on a grid (none: a grid)",
                              nullptr, playing),
          [](auto& s) -> auto& { return s.settings.places_file; }),
      field<State>(
          g_param_spec_uint("search-range", "Search range",
                            "Pixels by which the first pass finds windows moved along each axis", 1,
                            64, initial.field.search_range, playing),
          [](auto& s) -> auto& { return s.settings.field.search_range; }),
      field<State>(
          g_param_spec_uint("later-range", "Later range",
                            "The same for later passes, from where the pass before found them", 1,
                            64, initial.field.later_range, playing),
          [](auto& s) -> auto& { return s.settings.field.later_range; }),
      field<State>(
          g_param_spec_enum("subpixel", "Sub-pixel",
                            "How displacements are found to a fraction of a pixel", subpixel_type(),
                            static_cast<int>(initial.field.subpixel), playing),
          [](auto& s) -> auto& { return s.settings.field.subpixel; }),
      field<State>(
          g_param_spec_uint("order", "Order",
                            "With subpixel=least-squares, 0: windows move; 1: they are also "
                            "stretched and sheared; 2: and bent",
                            0, 2, initial.field.order, playing),
          [](auto& s) -> auto& { return s.settings.field.order; }),
      field<State>(
          g_param_spec_uint("spline-degree", "Spline degree",
                            "With subpixel=least-squares, 3 or 5: of the spline between pixels", 3,
                            5, initial.field.spline_degree, playing),
          [](auto& s) -> auto& { return s.settings.field.spline_degree; }),
      field<State>(
          g_param_spec_double("weight-sigma", "Weight sigma",
                              "With subpixel=least-squares, pixels: the width of a Gauss bell by "
                              "which a window's pixels weigh (0: all weigh alike)",
                              0, 1000, initial.field.weight_sigma, playing),
          [](auto& s) -> auto& { return s.settings.field.weight_sigma; }),
      field<State>(
          g_param_spec_double(
              "median-limit", "Median limit",
              "Normalised median test: a displacement farther than this many times "
              "the neighbours' deviation from their median is replaced (0: none is)",
              0, 1e6, initial.field.median_limit, playing),
          [](auto& s) -> auto& { return s.settings.field.median_limit; }),
      field<State>(
          g_param_spec_double("median-noise", "Median noise",
                              "Pixels that the median test adds to the neighbours' deviation", 0,
                              1e6, initial.field.median_noise, playing),
          [](auto& s) -> auto& { return s.settings.field.median_noise; }),
      field<State>(
          g_param_spec_double("min-score", "Minimum score",
                              "A displacement with a lower score is replaced", -1, 1,
                              initial.field.min_score, playing),
          [](auto& s) -> auto& { return s.settings.field.min_score; }),
      field<State>(
          g_param_spec_double("min-ratio", "Minimum ratio",
                              "A displacement is replaced whose score has a lower ratio to that of "
                              "the second peak",
                              1, 100, initial.field.min_ratio, playing),
          [](auto& s) -> auto& { return s.settings.field.min_ratio; }),
      field<State>(
          g_param_spec_double("smoothing", "Smoothing",
                              "Standard deviation, in windows, of a Gauss bell by which "
                              "displacements are averaged with those around them (0: not at all)",
                              0, 2, initial.field.smoothing, playing),
          [](auto& s) -> auto& { return s.settings.field.smoothing; }),
      field<State>(
          g_param_spec_double("prefilter-sigma", "Prefilter sigma",
                              "Pixels: both images are smoothed first by a Gauss bell of that "
                              "standard deviation (0: not at all)",
                              0, 10, initial.field.prefilter_sigma, playing),
          [](auto& s) -> auto& { return s.settings.field.prefilter_sigma; }),
      field<State>(
          g_param_spec_boolean("deformation", "Deformation",
                               "Passes after the first search in the frame as the field found "
                               "before deforms it back",
                               initial.field.deformation, playing),
          [](auto& s) -> auto& { return s.settings.field.deformation; }),
      field<State>(
          g_param_spec_boolean("symmetric", "Symmetric",
                               "Displacements belong to the middle of the way, half in the "
                               "reference and half in the frame",
                               initial.field.symmetric, playing),
          [](auto& s) -> auto& { return s.settings.field.symmetric; }),
      field<State>(
          g_param_spec_string("mask-file", "Mask file",
                              "Image file of the frames' size; pixels of the reference count where "
                              "it is not black (none: all do)",
                              nullptr, playing),
          [](auto& s) -> auto& { return s.settings.mask_file; }),
      field<State>(
          g_param_spec_double("min-counted", "Minimum counted",
                              "Of a window's pixels the share that must count under a mask, above "
                              "0",
                              0, 1, initial.field.min_counted, playing),
          [](auto& s) -> auto& { return s.settings.field.min_counted; }),
      field<State>(
          g_param_spec_enum("reference", "Reference", "What frames are compared with",
                            reference_type(), static_cast<int>(initial.reference), playing),
          [](auto& s) -> auto& { return s.settings.reference; }),
      field<State>(
          g_param_spec_string("reference-file", "Reference file",
                              "With reference=file, an image file of the frames' size", nullptr,
                              playing),
          [](auto& s) -> auto& { return s.settings.reference_file; }),
      field<State>(
          g_param_spec_double("cut-score", "Cut score",
                              "A frame where half of the windows score less has the state 'cut' "
                              "(-1: none has)",
                              -1, 1, initial.cut_score, playing),
          [](auto& s) -> auto& { return s.settings.cut_score; }),
      field<State>(
          g_param_spec_boolean("post-messages", "Post messages",
                               "Post an element message 'cudaxcorrfield' for each measured frame",
                               initial.post_messages, playing),
          [](auto& s) -> auto& { return s.settings.post_messages; }),
      field<State>(
          g_param_spec_enum("backend", "Backend", "Where to compute", backend_type(),
                            static_cast<int>(initial.device.backend), ready),
          [](auto& s) -> auto& { return s.settings.device.backend; }),
      {g_param_spec_enum("active-backend", "Active backend",
                         "Where it computes ('auto': not started)", backend_type(),
                         static_cast<int>(BackendChoice::automatic), readable),
       nullptr, [](const State& s, GValue* value) { put(s.report.active_backend, value); }},
      field<State>(
          g_param_spec_int("cuda-device-id", "CUDA device ID",
                           "CUDA's number of the GPU (-1: any, by the pipeline and by load)", -1,
                           INT_MAX, initial.device.cuda_device_id, ready),
          [](auto& s) -> auto& { return s.settings.device.cuda_device_id; }),
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
