// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of any type, for other families that need those of a whole frame.
#pragma once

#include "stages/match/window_sums.hpp"

namespace xcorr::cuda {

bool supports_window_sums(const stage::WindowSums::Problem& problem, const Device& device);
Status launch_window_sums(const stage::WindowSums::Problem& problem, const Device& device,
                          const stage::WindowSums::Buffers& buffers, PlanState* = nullptr);

}  // namespace xcorr::cuda
