// SPDX-License-Identifier: LGPL-2.1-or-later
#include "cudaxcorr/detections.h"

#include <algorithm>
#include <cmath>

#include <gst/video/video.h>

#include "common/utf8.h"

namespace cudaxcorr {
namespace {

double confidence_of(GstVideoRegionOfInterestMeta* roi) {
  double confidence = 1;
  if (const GstStructure* detection = gst_video_region_of_interest_meta_get_param(roi, "detection"))
    gst_structure_get_double(detection, "confidence", &confidence);
  return std::isnan(confidence) ? 0 : std::clamp(confidence, 0.0, 1.0);
}

}  // namespace

std::vector<DetectedBox> detections_of(GstBuffer* buffer) {
  std::vector<DetectedBox> detected;
  gpointer state = nullptr;
  while (GstMeta* meta = gst_buffer_iterate_meta_filtered(
             buffer, &state, GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE)) {
    auto* roi = reinterpret_cast<GstVideoRegionOfInterestMeta*>(meta);
    if (gst_video_region_of_interest_meta_get_param(roi, "cudaxcorr")) continue;
    const char* label = g_quark_to_string(roi->roi_type);
    detected.push_back({label ? valid_utf8(label) : "",
                        {static_cast<double>(roi->x), static_cast<double>(roi->y),
                         static_cast<double>(roi->w), static_cast<double>(roi->h)},
                        confidence_of(roi)});
  }
  return detected;
}

}  // namespace cudaxcorr
