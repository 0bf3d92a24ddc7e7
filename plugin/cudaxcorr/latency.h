// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How long the element holds frames, told to the pipeline, and whether frames of a live source come
// too late to be analysed.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Adds the element's own latency to what upstream answered.
void answer_latency(GstCudaXCorr* self, GstQuery* query);
/// So many frames may be in flight from now on: tells the pipeline when that changes the latency.
void update_latency(GstCudaXCorr* self, unsigned max_in_flight);
/// Whether analysis has fallen behind a live source so far that this frame must go without.
bool is_late(GstCudaXCorr* self, const FrameInFlight& frame);

}  // namespace cudaxcorr
