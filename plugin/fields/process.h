// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The way of a frame through the element, in the streaming thread.
#pragma once

#include "fields/gstcudaxcorrfield.h"

namespace cudaxcorr::fields {

/// Measures the frame and attaches the result. Its buffer must be writable; the memory in it is
/// only read.
GstFlowReturn process(GstCudaXCorrField* self, GstBuffer* buffer);

/// The next frame does not follow the last one.
void interrupt(GstCudaXCorrField* self);

/// At the end of the stream: warns if it was a single frame, which has nothing to be compared with.
void check_end(GstCudaXCorrField* self);

}  // namespace cudaxcorr::fields
