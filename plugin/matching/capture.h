// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A template from a patch of a frame. Only the luma is taken, so that any rectangle can be, also in
// formats whose colours are of fewer pixels.
#pragma once

#include <xcorr/types.hpp>

#include "common/fault.h"
#include "common/sample.h"

namespace cudaxcorr {

/// The patch as gray, with the frame's luma. Null with `fault` (LIBRARY/SETTINGS) when it does not
/// lie wholly inside the frame, or is flat.
Sample capture(GstSample* frame, const xcorr::Rect& patch, Fault& fault);

}  // namespace cudaxcorr
