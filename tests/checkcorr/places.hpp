// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How far apart two right ways to compute a sub-pixel place may come out. The place is a quotient
// whose divisor shrinks where neighbours nearly tie, and which formula applies hangs on signs: a
// fixed number of pixels would be too much for most peaks and too little for some.
#pragma once

#include "stages/score.hpp"

namespace checkcorr {

/// Arguments as those of xcorr::subpixel_offset. `error`: of each score; with 0 the differences of
/// scores are the same too, since all take them in the same order. At most 1 each way, where
/// rounding decides which formula applies.
xcorr::Offset place_bound(const double (&scores)[9], bool whole_x, bool whole_y, bool minimum,
                          double error);

}  // namespace checkcorr
