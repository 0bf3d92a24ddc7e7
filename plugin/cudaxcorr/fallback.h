// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Another backend for frames in flight: the CPU after the GPU has failed, and later the GPU again.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// After a failed analysis: if the CPU may take over, it analyses those of the frames in flight
/// that have no result yet, else the failure is returned.
xcorr::Status fall_back(GstCudaXCorr* self, const Settings& settings, const xcorr::Status& failure);

/// While the CPU stands in for the GPU: analyses the frame by the GPU, if it is time to try that.
/// False if the frame must still be analysed: then nothing has changed.
bool try_gpu(GstCudaXCorr* self, FrameInFlight& frame);

}  // namespace cudaxcorr
