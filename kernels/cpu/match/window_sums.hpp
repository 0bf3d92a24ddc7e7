// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Sums over windows, for other stages that need them.
#pragma once

#include "stages/match/window_sums.hpp"

namespace xcorr::cpu {

/// The stage window_sums, by all threads, with a workspace of window_sums_workspace().
Status launch_window_sums(const stage::WindowSums::Problem& problem, const Device& device,
                          const stage::WindowSums::Buffers& buffers, PlanState* state = nullptr);
std::size_t window_sums_workspace(const stage::WindowSums::Problem& problem, const Device& device);

/// The same by the calling thread, of bytes and words of any problem, of floats of one that is no
/// larger than window_tile(). The workspace of one slot suffices: window_sums_slot().
void sum_windows(const stage::WindowSums::Problem& problem,
                 const stage::WindowSums::Buffers& buffers);
std::size_t window_sums_slot(const Problem& p);
/// Shifts that are treated at a time.
Size window_tile(const Problem& p);

}  // namespace xcorr::cpu
