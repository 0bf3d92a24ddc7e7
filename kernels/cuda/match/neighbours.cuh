// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the families that refine candidates.
#pragma once

#include "stages/match/peaks.hpp"

namespace xcorr::cuda {

/// Positions per candidate: itself and its eight neighbours.
constexpr int places = 9;

/// Which of a candidate's neighbours in x and in y are needed and exist.
struct Neighbours {
  bool x, y;
  template <class Problem>
  __device__ Neighbours(const Problem& p, const Candidate& c)
      : x(p.subpixel && c.x > 0 && c.x < p.correlate.shifts.width - 1),
        y(p.subpixel && c.y > 0 && c.y < p.correlate.shifts.height - 1) {}
};

}  // namespace xcorr::cuda
