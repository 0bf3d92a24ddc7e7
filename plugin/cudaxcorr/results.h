// SPDX-License-Identifier: LGPL-2.1-or-later
//
// From targets to what leaves the element: the custom meta with all of it, region-of-interest metas
// for elements that know only those, and the bus message. The fields are documented in
// gstcudaxcorrmeta.h and written in one place, fill().
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <gst/gst.h>

#include <xcorr/match.hpp>

#include "matching/templates.h"
#include "tracking/tracker.h"

namespace cudaxcorr {

struct FrameResult {
  xcorr::Size frame;
  GstClockTime pts;
  std::uint64_t processing_ns;
  xcorr::Backend backend;
  std::string kernel;
  bool analysed;
  const Bank& bank;
  std::span<const Target> targets;
};

/// Makes the custom meta known to GStreamer.
void register_meta();

/// The buffer must be writable (its memory need not be).
void attach_meta(GstBuffer* buffer, const FrameResult& result);
/// Of what was seen in this frame: readers of these metas know nothing of lost targets.
void attach_roi_metas(GstBuffer* buffer, const FrameResult& result);

/// The element message `cudaxcorr`, for a buffer of that segment.
GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result);

}  // namespace cudaxcorr
