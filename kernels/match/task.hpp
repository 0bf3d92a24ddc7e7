// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Checks of the arguments of matchers.
#pragma once

#include <xcorr/match.hpp>

namespace xcorr {

/// Of a template.
inline constexpr int most_peaks = 1024;

/// What frames to match, and how. Errors: as of Matcher::prepare(), but for the kernel's name.
Status check_task(ElementType type, Size frame, const MatchSettings& settings);

/// That a frame is of the type and size that were prepared for, and has what is matched on.
Status check_frame(const MatrixView& frame, ElementType type, Size size,
                   MatchOn match_on = MatchOn::luma);

}  // namespace xcorr
