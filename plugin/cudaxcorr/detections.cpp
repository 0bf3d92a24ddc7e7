// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/detections.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include <gst/video/video.h>

#include "common/utf8.h"
#include "cudaxcorr/analytics.h"

namespace cudaxcorr {
namespace {

double confidence_between_0_and_1(double said) {
  return std::isnan(said) ? 0 : std::clamp(said, 0.0, 1.0);
}

double confidence_of(GstVideoRegionOfInterestMeta* roi) {
  double confidence = 1;
  if (const GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection"))
    gst_structure_get_double(detection, "confidence", &confidence);
  return confidence;
}

}  // namespace

std::vector<DetectedBox> detections_of(GstBuffer* buffer) {
  std::vector<DetectedBox> detected;
  std::set<guint> own;  // ROI metas have the ids of their object detections
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (gst_video_region_of_interest_meta_get_param(roi, "cudaxcorr")) {
      own.insert(static_cast<guint>(roi->id));
      continue;
    }
    const char* label = g_quark_to_string(roi->roi_type);
    detected.push_back({label ? valid_utf8(label) : "",
                        {static_cast<double>(roi->x), static_cast<double>(roi->y),
                         static_cast<double>(roi->w), static_cast<double>(roi->h)},
                        confidence_of(roi)});
  }
  std::ranges::move(analytics_detections_of(buffer, own), std::back_inserter(detected));
  for (DetectedBox& one : detected) one.confidence = confidence_between_0_and_1(one.confidence);
  return detected;
}

}  // namespace cudaxcorr
