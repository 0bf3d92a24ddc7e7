// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Window sums of bytes by strips, for other families that need those of a whole frame.
#pragma once

#include "stages/match/window_sums.hpp"

namespace xcorr::cuda {

bool supports_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device);

/// What is read together of a window.
struct alignas(8) ScaledSum {
  std::uint32_t sum;
  /// One by the root of pixels * squares - sum^2, by which sums of products become scores; 0 where
  /// all its pixels are alike.
  float scale;
};

/// \param scaled  of each window, instead of the buffers' window_sums, unless null
/// \param wanted  on the device: nothing is done where it is 0, unless null
Status launch_window_sums_strips(const stage::WindowSums::Problem& problem, const Device& device,
                                 const stage::WindowSums::Buffers& buffers, ScaledSum* scaled,
                                 const unsigned* wanted = nullptr);

}  // namespace xcorr::cuda
