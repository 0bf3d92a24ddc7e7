// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The analysis of one frame by the analyser that there is.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Starts it. Frames in CUDA memory are read in place, in the context that they belong to; all
/// others in host memory.
xcorr::Status start(GstCudaXCorr* self, FrameInFlight& frame);

/// Waits for it, if it is pending. If that fails it stays so.
xcorr::Status finish(GstCudaXCorr* self, FrameInFlight& frame);

/// Waits until nothing reads a finished frame any more.
xcorr::Status release(GstCudaXCorr* self, FrameInFlight& frame);

/// Waits for the analysis of all frames in flight.
xcorr::Status settle(GstCudaXCorr* self);

}  // namespace cudaxcorr
