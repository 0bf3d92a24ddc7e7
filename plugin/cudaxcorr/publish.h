// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What becomes of a frame that has its result: counts, metas and messages.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Attaches metas and posts messages, as the frame's settings say.
void publish(GstCudaXCorr* self, const FrameInFlight& frame);

/// Counts what has become of targets. The object must be locked.
void count(const std::vector<xcorr::TargetEvent>& events, Report& report);

/// Keeps the frame for `capture-template`.
void hold(GstCudaXCorr* self, const FrameInFlight& frame);

}  // namespace cudaxcorr
