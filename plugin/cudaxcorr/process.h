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

/// Whether another frame may be in flight before the oldest must leave.
bool may_hold_more(const GstCudaXCorr* self);
/// Gives the oldest frame in flight, which must exist, with its result.
GstFlowReturn finish_oldest(GstCudaXCorr* self, GstBuffer** out);

/// Finishes and pushes all frames in flight.
void drain(GstCudaXCorr* self);
/// Drops them.
void discard(GstCudaXCorr* self);

}  // namespace cudaxcorr
