// SPDX-License-Identifier: LGPL-2.1-or-later
//
// How far apart two correct computations of a sub-pixel position may be. The position is a quotient
// whose divisor shrinks where neighbours nearly tie, and the choice of formula depends on signs: a
// fixed bound would be too loose for most peaks and too tight for some.
#pragma once

#include "stages/match/score.hpp"

namespace checkcorr {

/// Arguments as for xcorr::subpixel_offset. `error`: of each score; with 0 the differences of
/// scores are the same too, since all take them in the same order. At most 1 each way, where
/// rounding decides which formula applies.
xcorr::Offset place_bound(const double (&scores)[9], bool whole_x, bool whole_y, bool minimum,
                          double error);

}  // namespace checkcorr
