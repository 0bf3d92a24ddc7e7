// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's properties as one table. A new property is a row in properties.cpp and a field of
// Settings (or of Report, when it is read-only).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gst/gst.h>

#include "matching/devices.h"
#include "matching/search_settings.h"
#include "matching/templates.h"

namespace cudaxcorr {

/// What the application sets. Guarded by the object lock.
struct Settings {
  TemplateSettings templates;
  unsigned max_template_pixels = xcorr::max_template_pixels;
  bool enable_capture = false;
  DeviceSettings device;
  SearchSettings search;
  unsigned interval = 1;
  unsigned response_template = 0;
  std::int64_t max_lateness = 50 * GST_MSECOND;
  std::string camera_id;
  bool post_messages = true;
  bool attach_roi_meta = true;
};

/// What the element reports. Guarded by the object lock.
struct Report {
  BackendChoice active_backend = BackendChoice::automatic;  ///< automatic: not started
  std::uint64_t frames = 0, analysed = 0, in_gpu_memory = 0, late = 0;
  std::uint64_t total_ns = 0, last_ns = 0;  ///< spent on analysed frames
  std::string kernel;
  std::uint64_t targets[xcorr::track_events] = {};  ///< by event
};

struct Property {
  GParamSpec* spec;
  /// Null if read-only. Returns false if the value is malformed, and then changes nothing.
  bool (*set)(Settings& settings, const GValue* value);
  void (*get)(const Settings& settings, const Report& report, GValue* value);
  /// Of a property of templates: the list of images that is loaded anew when it is set, or null.
  std::optional<LoadedImages TemplateSet::*> images = std::nullopt;
};

/// The table; a property's id is its index plus one.
const std::vector<Property>& properties();

/// Marks the properties' own types as part of the plugin's interface, for its documentation.
void mark_property_types();

}  // namespace cudaxcorr
