// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's state, which its files share: gstcudaxcorr.cpp answers GStreamer and the
// application, template_changes.cpp the signals, process.cpp has the way of a frame in the
// streaming thread, backend.cpp knows where it is analysed, latency.cpp how long it is held.
// Settings, Report, Latency and the template set of templates pass between threads and are guarded
// by the object lock.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include "common/deferred_warnings.h"
#include "common/fault.h"
#include "common/object_lock.h"
#include "common/stopping.h"
#include "cudaxcorr/backend.h"
#include "cudaxcorr/folder_watch.h"
#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"
#include "cudaxcorr/label_events.h"
#include "cudaxcorr/lateness_detector.h"
#include "cudaxcorr/properties.h"
#include "cudaxcorr/response.h"
#include "cudaxcorr/track_times.h"
#include "matching/analyser.h"
#include "matching/incoming.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_xcorr_debug);
#define GST_CAT_DEFAULT gst_cuda_xcorr_debug

namespace cudaxcorr {

struct Latency {
  bool live = false;     ///< whether the source is, by the last query
  GstClockTime own = 0;  ///< how long a frame is held
};

struct Element {
  DeferredWarnings deferred_warnings;
  Stopping stopping;
  // Under the object lock.
  Snapshot shared;
  Report report;
  Sample last_frame;  ///< with `enable-capture`
  Latency latency;
  // Serialises changes of the templates, as the object lock is not held while files are read.
  std::mutex changing;
  guint last_template_id = 0;               ///< under that mutex
  std::vector<std::string> told_of_folder;  ///< so are these: what is wrong in `templates-dir`
  // Of whoever starts, stops or sets `templates-dir`, under a mutex of its own.
  std::mutex watching;
  std::unique_ptr<FolderWatch> folder_watch;
  // Of the streaming thread.
  FrameCaps caps;
  PipelineContext context;  ///< changed under the object lock: neighbours query it
  std::unique_ptr<Analyser> analyser;
  std::optional<CpuFallback> cpu_fallback;
  struct Refused {
    Task task;
    xcorr::Status status;
  };
  std::optional<Refused> refused;  ///< what the analyser refused last, of these caps
  Task working;  ///< the last that frames passed with, until then what the element started with
  std::deque<FrameInFlight> frames;  ///< oldest first
  LatenessDetector lateness;
  TrackTimes times;
  std::optional<LabelEvents> label_events;  ///< with `events`
  bool warned_of_no_templates = false;
  bool warned_of_bad_frame = false;  ///< since the start or the last caps
  guint waited =
      G_MAXUINT;  ///< frames since the last analysed one, inclusive; at first the maximum: due
  std::uint64_t number = 0;  ///< of the latest frame
  ResponsePad response;
  GstPadChainFunction base_chain = nullptr;  ///< the base class's
};

}  // namespace cudaxcorr

struct _GstCudaXCorr {
  GstBaseTransform parent;
  cudaxcorr::Element* element;
};
