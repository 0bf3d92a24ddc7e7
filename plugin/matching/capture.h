// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template from a patch of a frame. The luma is copied, and colour without subsampling if that is
// matched on, so the rectangle needs no alignment in formats with subsampled chroma.
#pragma once

#include <xcorr/types.hpp>

#include "common/fault.h"
#include "common/sample.h"

namespace cudaxcorr {

/// The patch as a gray image of the frame's luma; `in_color`: of its colour, if the frame has any.
/// Null with `fault` (LIBRARY/SETTINGS) if it is not wholly inside the frame, or is flat.
Sample capture(GstSample* frame, const xcorr::Rect& patch, bool in_color, Fault& fault);

}  // namespace cudaxcorr
