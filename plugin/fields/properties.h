// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The properties of cudaxcorrfield as one table. A new property is a row in properties.cpp and a
// field of Settings (or of Report, when it is read-only).
#pragma once

#include <cstdint>
#include <string>

#include <xcorr/field.hpp>

#include "common/field_properties.h"
#include "fields/task.h"
#include "matching/devices.h"

namespace cudaxcorr::fields {

/// What the application sets.
struct Settings {
  xcorr::FieldSettings field;
  Reference reference = Reference::previous;
  std::string reference_file, mask_file, places_file;
  double cut_score = 0.4;
  bool post_messages = true;
  DeviceSettings device;
};

/// What the element reports.
struct Report {
  BackendChoice active_backend = BackendChoice::automatic;  ///< automatic: not started
  std::uint64_t frames = 0, measured = 0, cuts = 0, in_gpu_memory = 0;
  std::uint64_t total_ns = 0, last_ns = 0;  ///< spent on measured frames
};

struct State {
  Settings settings;
  Report report;
};

/// The table; a property's id is its index plus one.
const FieldProperties<State>& properties();

/// Marks the properties' own types as part of the plugin's interface, for its documentation.
void mark_property_types();

}  // namespace cudaxcorr::fields
