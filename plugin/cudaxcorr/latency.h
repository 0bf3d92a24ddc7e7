// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long the element holds frames, told to the pipeline, and whether frames of a live source come
// too late to be analysed.
#pragma once

#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Adds the element's own latency to what upstream answered.
void answer_latency(GstCudaXCorr* self, GstQuery* query);
/// Tells the pipeline when the element's latency is another one from now on.
void update_latency(GstCudaXCorr* self);
/// Whether analysis has fallen behind a live source so far that this frame must go without.
bool is_late(GstCudaXCorr* self, GstBuffer* buffer);

}  // namespace cudaxcorr
