// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers for elements upstream to fill, in pinned memory: a GPU uploads from it directly, without
// a copy by the CPU, and while it computes. The memory outlives the element if buffers do.
#pragma once

#include <gst/gst.h>

#include <xcorr/device.hpp>

#include "matching/pipeline_context.h"

namespace cudaxcorr {

/// Answers an ALLOCATION query with a pool of such buffers. False if they would be useless: on the
/// CPU, and for frames in GPU memory.
bool propose_pinned_pool(GstQuery* query, const xcorr::Device& device,
                         const PipelineContext& context);

/// Enlarges the proposed pools by the buffers of frames that stay in flight here.
void reserve_buffers(GstQuery* query, guint count);

}  // namespace cudaxcorr
