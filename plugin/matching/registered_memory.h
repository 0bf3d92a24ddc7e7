// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Frames in ordinary memory that comes back: cameras, decoders and their pools use the same few
// buffers again and again. Such memory is pinned, so that a GPU copies from it without the CPU.
#pragma once

#include <gst/gst.h>

#include <xcorr/device.hpp>

#include "matching/pipeline_context.h"

namespace cudaxcorr {

/// Call for each frame. Pins the frame's memory when it comes for the second time, if it can be and
/// not too much is; until the memory is freed. Does nothing for the CPU.
void register_memory(GstBuffer* buffer, const xcorr::Device& device,
                     const PipelineContext& context);

}  // namespace cudaxcorr
