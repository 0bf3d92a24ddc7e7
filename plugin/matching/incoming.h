// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How the frames that come are read: where they lie, on a GPU or in the host's memory, if the
// element's devices can. The one place that knows the kinds of memory.
#pragma once

#include <memory>
#include <vector>

#include <gst/video/video.h>

#include "common/mapped_frame.h"
#include "matching/devices.h"

namespace cudaxcorr {

struct FrameCaps {
  GstVideoInfo info{};
  bool in_nvmm = false;

  /// False if they are not those of raw video.
  bool set(const GstCaps* caps);
};

struct Incoming {
  std::unique_ptr<MappedFrame> mapped;
  GpuPlace place;  ///< where the GPU reads it; none in the host's memory

  bool on_gpu() const { return place.exists(); }
  xcorr::Memory memory() const { return on_gpu() ? xcorr::Memory::device : xcorr::Memory::host; }
};

/// Maps a frame for the devices. Whether it could be is what it says itself.
Incoming receive(const FrameCaps& caps, GstBuffer* frame,
                 const std::vector<xcorr::Device>& devices);

std::unique_ptr<MappedFrame> map_on_host(const FrameCaps& caps, GstBuffer* frame);

/// Instead of prepare_to_read(), where colour is compared and cannot be read as it lies: what is
/// read is a copy in the host's memory then.
void copy_upper_bytes(Incoming& incoming, const FrameCaps& caps, GstBuffer* frame);

/// Before the mapped frame is read: waits for who writes it, or lets the host's memory be copied
/// fast.
void prepare_to_read(const Incoming& incoming, GstBuffer* frame, const xcorr::Device& device,
                     const PipelineContext& context);

}  // namespace cudaxcorr
