// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warnings about requests that were refused: the value of a property, a template. In the state NULL
// nobody would receive them: gst-launch-1.0 sets properties before there is a pipeline, and the bus
// of a stopped pipeline drops everything. Warnings of that time are posted at the start.
#pragma once

#include "common/fault.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// Posts at once or, in the state NULL, when the element starts.
void warn_refused(GstCudaXCorr* self, Fault fault);

/// At the start: posts the warnings of the state NULL.
void post_refusals(GstCudaXCorr* self);

}  // namespace cudaxcorr
