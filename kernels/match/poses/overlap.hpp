// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The overlap of templates at two poses.
#pragma once

#include <xcorr/poses.hpp>

namespace xcorr {

/// Their common area as a share of the smaller one's.
double overlap_of(const Pose& a, const Pose& b);

}  // namespace xcorr
