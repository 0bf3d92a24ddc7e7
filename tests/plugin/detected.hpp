// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames of things with what a detector says of them, as region-of-interest metas.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include <gst/video/gstvideometa.h>

#include "things.hpp"

struct Detected {
  int x, y, width, height;
  const char* label;
  double confidence = 1;
};

inline GstBuffer* detected_in(const Gray& image, const std::vector<Detected>& all) {
  GstBuffer* buffer = make_frame(GST_VIDEO_FORMAT_GRAY8, image);
  for (const Detected& one : all) {
    auto* roi = gst_buffer_add_video_region_of_interest_meta(
        buffer, one.label, static_cast<guint>(one.x), static_cast<guint>(one.y),
        static_cast<guint>(one.width), static_cast<guint>(one.height));
    if (one.confidence != 1)
      gst_video_region_of_interest_meta_add_param(
          roi,
          gst_structure_new("detection", "confidence", G_TYPE_DOUBLE, one.confidence, nullptr));
  }
  return buffer;
}

inline std::vector<Detected> all_of(std::initializer_list<Thing> things) {
  std::vector<Detected> all;
  for (const Thing& thing : things) all.push_back({thing.x, thing.y, width, height, thing.label});
  return all;
}

class Following : public Finder {
 public:
  explicit Following(const std::string& rest = "") : Finder("track-detections=true " + rest) {
    set_format(GST_VIDEO_FORMAT_GRAY8, frame_width, frame_height);
  }
  /// Detections of all things, or of none.
  Found see(std::initializer_list<Thing> things, bool detector_runs = true) {
    return find(
        detected_in(frame_of(things), detector_runs ? all_of(things) : std::vector<Detected>()));
  }
};
