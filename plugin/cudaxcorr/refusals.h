// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warnings about what the application asked for and did not get: a property's value, a template.
// While an element is in the state NULL nobody hears it: gst-launch-1.0 sets properties before
// there is a pipeline, and a pipeline's bus drops everything. Such warnings wait for the start.
#pragma once

#include "common/fault.h"
#include "cudaxcorr/gstcudaxcorr.h"

namespace cudaxcorr {

/// At once, or in the state NULL when the element starts.
void warn_refused(GstCudaXCorr* self, Fault fault);

/// At the start: those that have waited.
void post_refusals(GstCudaXCorr* self);

}  // namespace cudaxcorr
