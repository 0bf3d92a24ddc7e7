// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the element's files share: gstcudaxcorr.cpp answers GStreamer and the application,
// process.cpp does the streaming thread's work on frames, latency.cpp is about their times.
// Settings, Report, Latency and the bank of templates pass between threads and are guarded by the
// object lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "analyser.h"
#include "gstcudaxcorr.h"
#include "mapped_frame.h"
#include "object_lock.h"
#include "properties.h"
#include "punctuality.h"
#include "response.h"

GST_DEBUG_CATEGORY_EXTERN(gst_cuda_xcorr_debug);
#define GST_CAT_DEFAULT gst_cuda_xcorr_debug

namespace cudaxcorr {

/// What the properties say, at one moment.
struct Snapshot {
  Settings settings;
  std::shared_ptr<const Bank> bank;
};

using BufferPointer = std::unique_ptr<GstBuffer, decltype(&gst_buffer_unref)>;

/// A frame in the element.
struct FrameInWork {
  explicit FrameInWork(GstBuffer* taken) : buffer(taken, gst_buffer_unref) {}

  BufferPointer buffer;
  Snapshot wanted;                    ///< when it came; without a bank it leaves as it came
  bool due = false;                   ///< it is analysed
  bool in_gpu_memory = false;         ///< and read there
  std::optional<MappedFrame> mapped;  ///< until its analysis is finished
  std::uint64_t processing_ns = 0;
  std::string kernel;
  std::vector<Target> targets;
  BufferPointer picture{nullptr, gst_buffer_unref};  ///< for the pad `response`
};

struct Latency {
  bool live = false;     ///< the source, when the pipeline asked last
  GstClockTime own = 0;  ///< how long a frame is held
};

struct Element {
  // Under the object lock.
  Snapshot shared;  ///< its bank is null while stopped
  Report report;
  Sample last_frame;  ///< with `enable-capture`
  Latency latency;
  // One change of the templates at a time; the object lock is not held while files are read.
  std::mutex changing;
  guint last_template_id = 0;  ///< under that mutex
  // Of the streaming thread.
  GstVideoInfo format{};
  PipelineContext context;  ///< changed under the object lock, since neighbours ask for it
  std::optional<Analyser> analyser;
  Snapshot current;                ///< for the frame that comes
  std::deque<FrameInWork> frames;  ///< oldest first
  Punctuality punctuality;
  guint waited = G_MAXUINT;  ///< frames since the last analysed one began, with it; at first: due
  std::uint64_t number = 0;  ///< of the frame
  ResponsePad response;
  GstPadChainFunction base_chain = nullptr;  ///< the base class's
};

// ---- process.cpp ----------------------------------------------------------------------------

/// Takes the settings of the frame that comes. False when there are no templates.
bool take_settings(GstCudaXCorr* self, GstBuffer* buffer);

/// Takes a frame and begins its analysis if it is due. With templates the buffer must be writable,
/// its memory is only read.
GstFlowReturn accept(GstCudaXCorr* self, GstBuffer* buffer);
/// Gives the oldest frame with its result while as many are held as may be in work, else null.
GstFlowReturn release(GstCudaXCorr* self, GstBuffer** out);
/// Pushes all frames that are held.
void drain(GstCudaXCorr* self);
/// Drops them.
void discard(GstCudaXCorr* self);

// ---- latency.cpp ----------------------------------------------------------------------------

/// Adds the element's own latency to what upstream answered.
void answer_latency(GstCudaXCorr* self, GstQuery* query);
/// Tells the pipeline when the element's latency is another one from now on.
void update_latency(GstCudaXCorr* self);
/// Whether analysis has fallen behind a live source so far that this frame must go without.
bool is_late(GstCudaXCorr* self, GstBuffer* buffer);

}  // namespace cudaxcorr

struct _GstCudaXCorr {
  GstBaseTransform parent;
  cudaxcorr::Element* element;
};
