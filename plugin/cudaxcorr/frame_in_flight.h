// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A frame in the element, from its arrival until it leaves. Its settings are taken once, on
// arrival: what the application changes later applies to later frames.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gst/gst.h>

#include <xcorr/device.hpp>
#include <xcorr/follower.hpp>

#include "common/mapped_frame.h"
#include "cudaxcorr/properties.h"
#include "matching/templates.h"

namespace cudaxcorr {

/// The properties at one moment.
struct Snapshot {
  Settings settings;
  std::shared_ptr<const TemplateSet> template_set;  ///< null while the element is stopped

  /// Whether there is anything to look for: templates, or what a detector finds.
  bool has_task() const {
    return template_set && (template_set->size() > 0 || settings.search.tracking.detections);
  }
};

using BufferPointer = std::unique_ptr<GstBuffer, decltype(&gst_buffer_unref)>;

struct FrameInFlight {
  explicit FrameInFlight(Snapshot taken) : requested(std::move(taken)) {}

  /// That the indices of targets are of.
  const std::shared_ptr<const TemplateSet>& template_set() const {
    return labels ? labels : requested.template_set;
  }
  /// That it was begun to be analysed, by an analyser that is gone.
  void forget() {
    pending = false;
    mapped.reset();
  }

  Snapshot requested;                         ///< without a task the frame passes unchanged
  std::shared_ptr<const TemplateSet> labels;  ///< of what a detector has found, or null
  BufferPointer buffer{nullptr, gst_buffer_unref};
  bool due = false;                     ///< to be analysed
  bool in_gpu_memory = false;           ///< and read there, not downloaded
  bool pending = false;                 ///< its analysis is
  std::unique_ptr<MappedFrame> mapped;  ///< while it may still be read
  std::uint64_t processing_ns = 0;
  xcorr::Backend backend = xcorr::Backend::cpu;  ///< where it was analysed last, or the one before
  std::string kernel;
  std::vector<xcorr::Target> targets;
  std::vector<xcorr::TargetEvent> events;          ///< of targets, since the frame before
  BufferPointer image{nullptr, gst_buffer_unref};  ///< for the pad `response`
};

}  // namespace cudaxcorr
