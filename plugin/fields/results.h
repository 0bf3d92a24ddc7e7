// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How fields leave the element: as the custom meta and as the bus message. The fields are
// documented in gstcudaxcorrfieldmeta.h.
#pragma once

#include <cstdint>
#include <vector>

#include <gst/gst.h>

#include <xcorr/field.hpp>

namespace cudaxcorr::fields {

enum class FieldState { measured, cut, reference, no_reference, unmeasured };

struct FieldResult {
  xcorr::Size frame{};
  GstClockTime pts = GST_CLOCK_TIME_NONE, reference_pts = GST_CLOCK_TIME_NONE;
  std::uint64_t processing_ns = 0;
  xcorr::Backend backend = xcorr::Backend::cpu;
  FieldState state = FieldState::unmeasured;
  bool in_gpu_memory = false;  ///< and read there, not downloaded
  xcorr::Size grid{};
  int window = 0, spacing = 0;  ///< no spacing: windows at places
  /// Of the grid, row by row; those at places are one row.
  std::vector<xcorr::FieldVector> vectors;

  bool has_field() const { return state == FieldState::measured || state == FieldState::cut; }
};

/// Of the windows that were compared the score that half of them have at least; 1 if there are
/// none.
float median_score(const std::vector<xcorr::FieldVector>& vectors);

/// Registers the custom meta.
void register_meta();
/// The buffer must be writable (its memory need not be).
void attach_meta(GstBuffer* buffer, const FieldResult& result);
/// The element message `cudaxcorrfield` for a buffer in that segment: all but the arrays.
GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FieldResult& result);

}  // namespace cudaxcorr::fields
