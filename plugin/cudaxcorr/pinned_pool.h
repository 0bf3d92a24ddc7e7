// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Buffers that elements upstream fill: in pinned memory, from which a GPU uploads by itself,
// without a copy by the CPU first, and while it computes. The memory outlives the element if
// buffers do.
#pragma once

#include <gst/gst.h>

#include <xcorr/types.hpp>

#include "matching/pipeline_context.h"

namespace cudaxcorr {

/// Answers an ALLOCATION query by a pool of such buffers. False where they have no use: on the CPU,
/// and for frames in GPU memory.
bool propose_pinned_pool(GstQuery* query, const xcorr::Device& device,
                         const PipelineContext& context);

/// Makes the pools proposed larger, by the buffers of frames that stay here in work.
void reserve_buffers(GstQuery* query, guint count);

}  // namespace cudaxcorr
