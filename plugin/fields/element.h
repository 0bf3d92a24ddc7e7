// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's state, which its files share: gstcudaxcorrfield.cpp answers GStreamer and the
// application, process.cpp does the streaming thread's work on frames, backend.cpp knows where they
// are measured.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include <gst/video/video.h>

#include "common/deferred_warnings.h"
#include "common/object_lock.h"
#include "common/stopping.h"
#include "fields/field_estimator.h"
#include "fields/gstcudaxcorrfield.h"
#include "fields/properties.h"
#include "matching/incoming.h"
#include "matching/luma_image.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_xcorr_field_debug);
#define GST_CAT_DEFAULT gst_cuda_xcorr_field_debug

namespace cudaxcorr::fields {

struct Element {
  DeferredWarnings deferred_warnings;
  Stopping stopping;
  // Under the object lock.
  State state;
  std::optional<Files> files;  ///< those of the settings; none while stopped
  bool asked_for_reference = false;
  // Serialises changes of the settings, as the object lock is not held while files are read.
  std::mutex changing;
  // Of the streaming thread.
  FrameCaps caps;
  PipelineContext context;  ///< changed under the object lock: neighbours query it
  std::unique_ptr<FieldEstimator> estimator;
  Task working;                ///< the last that was possible, at first the defaults
  std::optional<Task> unable;  ///< what is known to be impossible with these caps
  /// The frame that stays the reference, if one does.
  std::optional<LumaImage> kept;
  GstClockTime reference_pts = GST_CLOCK_TIME_NONE;
  bool warned_of_bad_frame = false;  ///< since the start or the last caps
};

}  // namespace cudaxcorr::fields

struct _GstCudaXCorrField {
  GstBaseTransform parent;
  cudaxcorr::fields::Element* element;
};
