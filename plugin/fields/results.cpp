// SPDX-License-Identifier: LGPL-2.1-or-later
#include "fields/results.h"

#include <algorithm>
#include <cmath>
#include <new>

#include "common/custom_meta.h"
#include "common/times.h"
#include "gstcudaxcorrfieldmeta.h"

namespace cudaxcorr::fields {
namespace {

using xcorr::FieldStatus;
using xcorr::FieldVector;

struct Array {
  const char* name;
  float (*value)(const FieldVector&);
};

constexpr Array arrays[] = {
    {"x", [](const FieldVector& v) { return v.x; }},
    {"y", [](const FieldVector& v) { return v.y; }},
    {"dx", [](const FieldVector& v) { return v.dx; }},
    {"dy", [](const FieldVector& v) { return v.dy; }},
    {"dx-by-x", [](const FieldVector& v) { return v.dx_by_x; }},
    {"dx-by-y", [](const FieldVector& v) { return v.dx_by_y; }},
    {"dy-by-x", [](const FieldVector& v) { return v.dy_by_x; }},
    {"dy-by-y", [](const FieldVector& v) { return v.dy_by_y; }},
    {"score", [](const FieldVector& v) { return v.score; }},
    {"ratio", [](const FieldVector& v) { return v.ratio; }},
    {"sigma", [](const FieldVector& v) { return v.sigma; }},
    {"status", [](const FieldVector& v) { return static_cast<float>(v.status); }},
};

const char* name_of(FieldState state) {
  switch (state) {
    case FieldState::measured:
      return "measured";
    case FieldState::cut:
      return "cut";
    case FieldState::reference:
      return "reference";
    case FieldState::no_reference:
      return "no-reference";
    case FieldState::unmeasured:
      break;
  }
  return "unmeasured";
}

/// 0 of none.
float median(std::vector<float> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Of the windows that are ok.
struct Summary {
  double valid = 0;  ///< their share of those that are not masked
  double mean_x = 0, mean_y = 0, median_x = 0, median_y = 0, rms = 0;
};

Summary summary_of(const std::vector<FieldVector>& vectors) {
  std::vector<float> dx, dy;
  std::size_t counted = 0;
  Summary s;
  for (const FieldVector& v : vectors) {
    counted += v.status != FieldStatus::masked;
    if (v.status != FieldStatus::ok) continue;
    dx.push_back(v.dx);
    dy.push_back(v.dy);
    s.mean_x += v.dx;
    s.mean_y += v.dy;
    s.rms += double{v.dx} * v.dx + double{v.dy} * v.dy;
  }
  if (dx.empty()) return {};
  const auto count = static_cast<double>(dx.size());
  return {count / static_cast<double>(counted),
          s.mean_x / count,
          s.mean_y / count,
          median(std::move(dx)),
          median(std::move(dy)),
          std::sqrt(s.rms / count)};
}

void fill(GstStructure* structure, const FieldResult& result) {
  const Summary summary = summary_of(result.vectors);
  gst_structure_set(structure,                                                        //
                    "state", G_TYPE_STRING, name_of(result.state),                    //
                    "frame-width", G_TYPE_INT, result.frame.width,                    //
                    "frame-height", G_TYPE_INT, result.frame.height,                  //
                    "pts", G_TYPE_UINT64, guint64{result.pts},                        //
                    "reference-pts", G_TYPE_UINT64, guint64{result.reference_pts},    //
                    "processing-time", G_TYPE_UINT64, guint64{result.processing_ns},  //
                    "backend", G_TYPE_STRING, xcorr::name_of(result.backend),         //
                    "valid", G_TYPE_DOUBLE, summary.valid,                            //
                    "mean-x", G_TYPE_DOUBLE, summary.mean_x,                          //
                    "mean-y", G_TYPE_DOUBLE, summary.mean_y,                          //
                    "median-x", G_TYPE_DOUBLE, summary.median_x,                      //
                    "median-y", G_TYPE_DOUBLE, summary.median_y,                      //
                    "rms", G_TYPE_DOUBLE, summary.rms,                                //
                    "columns", G_TYPE_INT, result.grid.width,                         //
                    "rows", G_TYPE_INT, result.grid.height,                           //
                    "window", G_TYPE_INT, result.window,                              //
                    "spacing", G_TYPE_INT, result.spacing, nullptr);
}

void fill_arrays(GstStructure* structure, const std::vector<FieldVector>& vectors) {
  const gsize bytes = vectors.size() * sizeof(float);
  for (const Array& array : arrays) {
    auto* values = static_cast<float*>(g_try_malloc(bytes));
    if (!values && bytes > 0) throw std::bad_alloc();
    std::transform(vectors.begin(), vectors.end(), values, array.value);
    GValue value = G_VALUE_INIT;
    g_value_init(&value, G_TYPE_BYTES);
    g_value_take_boxed(&value, g_bytes_new_take(values, bytes));
    gst_structure_take_value(structure, array.name, &value);
  }
}

}  // namespace

float median_score(const std::vector<FieldVector>& vectors) {
  std::vector<float> scores;
  for (const FieldVector& v : vectors)
    if (v.status != FieldStatus::masked && v.status != FieldStatus::flat) scores.push_back(v.score);
  return scores.empty() ? 1 : median(std::move(scores));
}

void register_meta() { register_custom_meta(GST_CUDA_XCORR_FIELD_META_NAME); }

void attach_meta(GstBuffer* buffer, const FieldResult& result) {
  GstCustomMeta* meta = gst_buffer_add_custom_meta(buffer, GST_CUDA_XCORR_FIELD_META_NAME);
  GstStructure* structure = gst_custom_meta_get_structure(meta);
  fill(structure, result);
  fill_arrays(structure, result.vectors);
}

GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FieldResult& result) {
  GstStructure* structure = describe_times("cudaxcorrfield", segment, buffer);
  fill(structure, result);
  return gst_message_new_element(source, structure);
}

}  // namespace cudaxcorr::fields
