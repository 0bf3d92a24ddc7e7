// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way of a frame through the element, in the streaming thread: arrive(), begin(), and when as
// many are held as may be in flight, finish_oldest().
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Takes the settings for the frame that this buffer is; the buffer itself is put in later.
FrameInFlight arrive(GstCudaXCorr* self, const GstBuffer* buffer);

/// Takes the frame in and begins its analysis if it is due. With templates its buffer must be
/// writable; the buffer's memory is only read.
GstFlowReturn begin(GstCudaXCorr* self, FrameInFlight frame);

/// Gives the oldest frame with its result, or null while more may be in flight.
GstFlowReturn finish_oldest(GstCudaXCorr* self, GstBuffer** out);

/// Pushes all frames that are held.
void drain(GstCudaXCorr* self);
/// Drops them.
void discard(GstCudaXCorr* self);

}  // namespace cudaxcorr
