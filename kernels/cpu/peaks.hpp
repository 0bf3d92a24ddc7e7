// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peaks of surfaces of scores on the CPU.
#pragma once

#include "stages/peaks.hpp"

namespace xcorr::cpu {

/// What the stage peaks does.
void find_peaks(const stage::Peaks::Problem& problem, const stage::Peaks::Buffers& buffers);
std::size_t peaks_workspace(const stage::Peaks::Problem& problem);

}  // namespace xcorr::cpu
