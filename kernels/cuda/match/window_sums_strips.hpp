// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of bytes by strips, for other families that need those of a whole frame.
#pragma once

#include "stages/window_sums.hpp"

namespace xcorr::cuda {

bool supports_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device);

/// \param scales  of each window, too, unless null: one by the root of pixels * squares - sum^2, by
///                which sums of products become scores; 0 where all its pixels are alike
Status launch_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device,
                                 const stage::WindowSums::Buffers& buffers, float* scales);

}  // namespace xcorr::cuda
