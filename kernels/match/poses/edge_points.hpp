// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Where the edges of a template are, to a part of a pixel: what the stage edge_refine seeks in the
// frame.
#pragma once

#include <vector>

#include "stages/poses/edge_refine.hpp"

namespace xcorr {

struct EdgePoints {
  /// More make a pose no better: then there are about so many.
  static constexpr std::size_t most = 2000;

  std::vector<EdgePoint> points;
  double farthest = 0;     ///< of all from the centre
  double least_found = 0;  ///< of them must be found in a frame
};

/// \param pixels  dense planes of luma or colour, one after the other
/// \param counts  edges are those of pixels that count
EdgePoints edge_points_of(const std::vector<std::uint8_t>& pixels, int planes, Size size,
                          const std::vector<std::uint8_t>& counts, const EdgeRule& rule);

}  // namespace xcorr
