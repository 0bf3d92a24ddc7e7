// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way of a frame through the element, in the streaming thread: arrive(), begin() and, once as
// many are in flight as may be, finish_oldest().
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Takes the settings for a frame whose buffer has come; the caller puts the buffer in later.
FrameInFlight arrive(GstCudaXCorr* self, const GstBuffer* buffer);

/// Accepts the frame and starts its analysis if it is due. If there are templates its buffer must
/// be writable, for the metas; the memory in it is only read.
GstFlowReturn begin(GstCudaXCorr* self, FrameInFlight frame);

/// Gives the oldest frame with its result, or null if more frames may be in flight first.
GstFlowReturn finish_oldest(GstCudaXCorr* self, GstBuffer** out);

/// Finishes and pushes all frames in flight.
void drain(GstCudaXCorr* self);
/// Drops them.
void discard(GstCudaXCorr* self);

}  // namespace cudaxcorr
