// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The streaming thread's work on frames.
#pragma once

#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Takes the settings of the frame that comes. False when there are no templates.
bool take_settings(GstCudaXCorr* self, GstBuffer* buffer);

/// Takes a frame and begins its analysis if it is due. With templates the buffer must be writable,
/// its memory is only read.
GstFlowReturn accept(GstCudaXCorr* self, GstBuffer* buffer);
/// Gives the oldest frame with its result while as many are held as may be in work, else null.
GstFlowReturn release(GstCudaXCorr* self, GstBuffer** out);
/// Pushes all frames that are held.
void drain(GstCudaXCorr* self);
/// Drops them.
void discard(GstCudaXCorr* self);

}  // namespace cudaxcorr
