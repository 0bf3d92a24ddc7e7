// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How results leave the element: as the custom meta with all fields, as region-of-interest metas
// for elements that know only those, and as the bus message. The fields are documented in
// gstcudaxcorrmeta.h and written in one place, fill().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <gst/gst.h>

#include <xcorr/follower.hpp>

#include "cudaxcorr/label_events.h"
#include "matching/templates.h"

namespace cudaxcorr {

struct FrameResult {
  xcorr::Size frame;
  const std::string& camera;  ///< empty: none
  GstClockTime pts;
  std::optional<GstClockTime> utc;
  std::uint64_t processing_ns;
  xcorr::Backend backend;
  std::string kernel;
  bool analysed;
  const TemplateSet& template_set;
  std::span<const xcorr::Target> targets;
  std::optional<std::span<const LabelEvent>> events;  ///< where they are asked for
};

/// Registers the custom meta.
void register_meta();

/// The buffer must be writable (its memory need not be).
void attach_meta(GstBuffer* buffer, const FrameResult& result);
/// Only of targets detected in this frame: readers of these metas know nothing of lost ones. The
/// number of a meta is that of the target's detection among GstAnalytics metas, if there are any,
/// else that of its track.
void attach_roi_metas(GstBuffer* buffer, const FrameResult& result,
                      std::span<const gint> detections);

/// The element message `cudaxcorr` for a buffer in that segment.
GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result);
/// The element message `cudaxcorr-target`: what has become of a target in that buffer.
GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result, const xcorr::TargetEvent& event);
/// The element message `cudaxcorr-event`: a label has appeared or is gone, as that buffer confirms.
GstMessage* make_message(GstObject* source, const GstSegment& segment, GstBuffer* buffer,
                         const FrameResult& result, const LabelEvent& event);

}  // namespace cudaxcorr
