// SPDX-License-Identifier: LGPL-2.1-or-later
//
// What the families share on the host side of a launch.
#pragma once

#include "../variant.hpp"
#include "check.hpp"

namespace xcorr::cuda {

template <class A, class B>
constexpr auto ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

inline std::size_t no_workspace(const MatchProblem&, const Device&) { return 0; }

/// The stages after correlate: one left, shifts at which the right lies inside.
inline bool supports_matching(const MatchProblem& p, const Device&) {
  const Problem& c = p.correlate;
  const Rect valid = valid_shifts(c.left, c.right);
  return c.lefts == 1 && c.shifts.x >= 0 && c.shifts.y >= 0 &&
         c.shifts.x + c.shifts.width <= valid.width && c.shifts.y + c.shifts.height <= valid.height;
}

/// Grids have at most 65,535 blocks in y and z; kernels stride over what is beyond.
inline unsigned grid_extent(std::int64_t blocks) {
  return static_cast<unsigned>(blocks < 65535 ? blocks : 65535);
}

}  // namespace xcorr::cuda
