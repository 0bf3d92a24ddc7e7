// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Tells the pipeline how long the element holds frames, and whether frames of a live source arrive
// too late to be analysed.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Adds the element's own latency to upstream's answer.
void answer_latency(GstCudaXCorr* self, GstQuery* query);
/// That many frames may be in flight from now on; notifies the pipeline if the latency changes.
void update_latency(GstCudaXCorr* self, unsigned max_in_flight);
/// Whether analysis has fallen so far behind a live source that this frame must be skipped.
bool is_late(GstCudaXCorr* self, const FrameInFlight& frame);

}  // namespace cudaxcorr
