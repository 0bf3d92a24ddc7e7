// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What kernels of the stage feature_maps tell each other.
#pragma once

#include "stages/tracker/feature_maps.hpp"

namespace xcorr::cuda::tracker {

using namespace xcorr::tracker;

/// What a window is made into on the way.
struct alignas(16) Window {
  static constexpr int values = convolutions[0].in;  ///< of a pixel

  float pixels[window_size * window_size];  ///< luma
  /// What is learned from, as halves: the layers' input.
  alignas(16) std::uint16_t inputs[window_size][window_size][values];
};

}  // namespace xcorr::cuda::tracker
