// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Warped templates on the CPU.
#pragma once

#include <array>

#include "stages/match/score.hpp"
#include "stages/poses/warp_template.hpp"

namespace xcorr::cpu {

/// What is said of an image with these sums over the pixels that count. T: of the pixels.
template <class T>
WarpedTemplateSums warped_sums(std::int64_t counted, SumOf<T> sum, SumOf<T> squares) {
  const auto n2_variance = double(n2_covariance<TermOf<T>>(counted, squares, sum, sum));
  return {{double(sum), double(squares), n2_variance}, double(counted)};
}

/// Makes an image and its mask, of map.width x map.height. T: std::uint8_t, std::uint16_t, float.
/// \param pitch  from row to row of both, in pixels
template <class T>
WarpedTemplateSums warped(const WarpedTemplate<T>& from, const WarpMap& map, std::int64_t pitch,
                          T* image, std::uint8_t* mask);
/// The same of bytes by vectors.
WarpedTemplateSums warped(const WarpedTemplate<std::uint8_t>& from, const WarpMap& map,
                          std::int64_t pitch, std::uint8_t* image, std::uint8_t* mask);

/// Makes the planes of an image's edges, whose pixels all count, and says what is said of each.
/// \param pixels, mask  of the pyramid
std::array<WarpedTemplateSums, edge_planes> warped_edges(const TemplatePyramid& pyramid,
                                                         const std::uint8_t* pixels,
                                                         const std::uint8_t* mask,
                                                         const WarpMap& map, const WarpEdges& edges,
                                                         std::int64_t pitch, std::uint8_t* image);

}  // namespace xcorr::cpu
