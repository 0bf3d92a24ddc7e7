// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template from a patch of a frame. Only the luma is copied, so the rectangle needs no alignment
// in formats with subsampled chroma.
#pragma once

#include <xcorr/types.hpp>

#include "common/fault.h"
#include "common/sample.h"

namespace cudaxcorr {

/// The patch as a gray image of the frame's luma. Null with `fault` (LIBRARY/SETTINGS) if it is
/// not wholly inside the frame, or is flat.
Sample capture(GstSample* frame, const xcorr::Rect& patch, Fault& fault);

}  // namespace cudaxcorr
