// SPDX-License-Identifier: LGPL-2.1-or-later
//
// A square part of a frame at the size that filters work on.
#pragma once

#include <vector>

#include <xcorr/types.hpp>

#include "device/runtime.hpp"

namespace xcorr {

struct Square {
  double x, y;  ///< of its middle, pixels
  double side;
};

/// The luma of that part, resampled to size x size pixels, 0 to 255. Outside the frame its edge
/// pixels are repeated.
Result<std::vector<float>> window_of(const MatrixView& frame, const Runtime& runtime,
                                     const Square& part, int size);

}  // namespace xcorr
