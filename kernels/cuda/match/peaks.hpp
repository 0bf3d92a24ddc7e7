// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Peaks of surfaces of scores on the GPU.
#pragma once

#include "stages/peaks.hpp"

namespace xcorr::cuda {

/// What the stage peaks does, where it can.
Status find_peaks(const stage::Peaks::Problem& p, const Device& device,
                  const stage::Peaks::Buffers& b);
bool can_find_peaks(const stage::Peaks::Problem& p);
std::size_t peaks_workspace(const stage::Peaks::Problem& p);

}  // namespace xcorr::cuda
