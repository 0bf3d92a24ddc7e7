// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The element's state, which its files share: gstcudaxcorr.cpp answers GStreamer and the
// application, template_changes.cpp the signals, process.cpp does the streaming thread's work on
// frames, latency.cpp knows how long they are held. Settings, Report, Latency and the bank of
// templates pass between threads and are guarded by the object lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <gst/video/video.h>

#include <xcorr/match.hpp>

#include "common/mapped_frame.h"
#include "common/object_lock.h"
#include "cudaxcorr/gstcudaxcorr.h"
#include "cudaxcorr/properties.h"
#include "cudaxcorr/punctuality.h"
#include "cudaxcorr/response.h"
#include "matching/analyser.h"

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

}  // namespace cudaxcorr

struct _GstCudaXCorr {
  GstBaseTransform parent;
  cudaxcorr::Element* element;
};
