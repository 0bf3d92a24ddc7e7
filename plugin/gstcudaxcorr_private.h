// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the element's two files share: gstcudaxcorr.cpp answers GStreamer and the application,
// process.cpp does the streaming thread's work. Settings, Report and the bank of templates pass
// between threads and are guarded by the object lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "analyser.h"
#include "gstcudaxcorr.h"
#include "object_lock.h"
#include "properties.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_xcorr_debug);
#define GST_CAT_DEFAULT gst_cuda_xcorr_debug

namespace cudaxcorr {

/// What the properties say, at one moment.
struct Snapshot {
  Settings settings;
  std::shared_ptr<const Bank> bank;
};

struct Element {
  // Under the object lock.
  Snapshot shared;  ///< its bank is null while stopped
  Report report;
  Sample last_frame;  ///< with `enable-capture`
  // One change of the templates at a time; the object lock is not held while files are read.
  std::mutex changing;
  guint last_template_id = 0;  ///< under that mutex
  // Of the streaming thread.
  GstVideoInfo format;
  PipelineContext context;  ///< outlives the analyser
  std::optional<Analyser> analyser;
  Snapshot current;          ///< for the frame in work
  guint waited = G_MAXUINT;  ///< frames since the last analysed one began, with it; at first: due
  std::uint64_t number = 0;  ///< of the frame
  std::vector<Target> targets;
};

/// Takes the settings of the frame that comes. False when there are no templates.
bool take_settings(GstCudaXCorr* self, GstBuffer* buffer);

/// Analyses the frame if it is due and attaches the result. The buffer must be writable, its memory
/// is only read.
GstFlowReturn process(GstCudaXCorr* self, GstBuffer* buffer);

}  // namespace cudaxcorr

struct _GstCudaXCorr {
  GstBaseTransform parent;
  cudaxcorr::Element* element;
};
