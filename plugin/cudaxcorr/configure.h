// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What is searched for changes with the settings and templates of a frame. A change that cannot be
// done is refused: frames go on by what they were searched by before. Where nothing has worked so
// far they pass unanalysed, since another search than the one asked for would find other things.
#pragma once

#include "cudaxcorr/frame_in_flight.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Whether other frames, settings or templates may do.
bool is_refusal(const xcorr::Status& status);

/// Configures the analyser for a frame with that snapshot. Refusing a change posts a warning, and
/// then the snapshot has what is searched by instead.
xcorr::Status configure(GstCudaXCorr* self, Snapshot& requested);

/// Posts the analyser's warnings.
void post_warnings(GstCudaXCorr* self);

}  // namespace cudaxcorr
