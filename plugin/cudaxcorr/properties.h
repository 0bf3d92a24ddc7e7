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

#include <xcorr/presence.hpp>

#include "common/property_values.h"
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
  bool events = false;
  xcorr::PresenceSettings presence;
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
  using Owner = Settings;
  using Set = bool (*)(Settings& settings, const GValue* value);
  using Get = void (*)(const Settings& settings, const Report& report, GValue* value);

  GParamSpec* spec;
  /// Null if read-only. Returns false if the value is malformed, and then changes nothing.
  Set set;
  Get get;
  /// Of a property of templates: the list of images that is loaded anew when it is set, or null.
  std::optional<LoadedImages TemplateSet::*> images = std::nullopt;

  /// Its value is the field that `Access` returns.
  template <class Access>
  static Property of(GParamSpec* spec, Access) {
    return {spec, [](Settings& all, const GValue* value) { return assign(Access{}(all), value); },
            [](const Settings& all, const Report&, GValue* value) { put(Access{}(all), value); }};
  }
};

/// The table; a property's id is its index plus one.
const std::vector<Property>& properties();

}  // namespace cudaxcorr
