// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Comparisons of candidates and of refined peaks, for the stages that make them.
#pragma once

#include "scores.hpp"

namespace checkcorr {

/// Bit for bit.
void compare_candidates(Comparison& comparison, const Truth& t, const Values& got);

/// Peaks of bytes bit for bit. Floating point: scores as scores.hpp says, sub-pixel places as what
/// the errors of nine scores make of the quotient, see place_bound().
void compare_peaks(Comparison& comparison, const Truth& t, const Values& got);

}  // namespace checkcorr
