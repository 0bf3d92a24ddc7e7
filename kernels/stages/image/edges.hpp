// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage edges: an image of bytes -> two planes, the unit vector of its gradient at its edges,
// by one formula for the CPU and the GPU. Of an image of several planes a pixel's gradient is the
// longest of theirs. The gradient is a Sobel operator of 5 x 5: the image
// smoothed by binomials, (1 4 6 4 1) / 16 along the edge and (1 2 1) / 4 across it. A ridge is a
// pixel whose gradient is no shorter than those of its two neighbours across the edge, and an edge
// is a ridge or one of its four neighbours. All of it is integers but for the last quotient, whose
// operations IEEE arithmetic rounds alike everywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "stages/common/host_device.hpp"
#include "stages/common/stage.hpp"
#include "stages/match/score.hpp"

namespace xcorr {

/// How far from a pixel its gradient reaches, and what tells whether it is an edge.
inline constexpr int gradient_radius = 2, edge_radius = gradient_radius + 2;
/// A gradient of one gray level a pixel.
inline constexpr int edge_unit = 128;

/// Which gradients are edges, and how they are written.
struct EdgeRule {
  std::int32_t least = 1;  ///< square of the shortest gradient that counts, in edge_unit; positive
  /// With twice their angle: the same whichever side is brighter.
  bool doubled = false;
  bool inverted = false;  ///< as of an image of the opposite contrast
};

/// Five pixels in a row: smoothed, and their slope. Both ways a gradient, up to 12,240.
/// \param at  integers, of which unsigned ones may hold two pixels each
template <class At>
XCORR_HD auto edge_smooth(At at) {
  return 6 * at(2) + 4 * (at(1) + at(3)) + at(0) + at(4);
}
template <class At>
XCORR_HD auto edge_slope(At at) {
  return 2 * (at(3) - at(1)) + at(4) - at(0);
}

/// Whether the gradient of the next plane takes a pixel's place; of equal ones the first stays.
XCORR_HD inline bool takes_over(int square, int longest) { return square > longest; }

XCORR_HD inline int larger(int a, int b) { return a > b ? a : b; }

/// Whether a gradient is no shorter than those across the edge, in steps of 45 degrees: the same
/// for an image of the opposite contrast. `square_at(dx, dy)` is the square of a neighbour's.
template <class SquareAt>
XCORR_HD bool is_ridge(int x, int y, const EdgeRule& rule, SquareAt square_at) {
  const int across = x < 0 ? -x : x, down = y < 0 ? -y : y;
  const int beside = larger(square_at(-1, 0), square_at(1, 0));
  const int above = larger(square_at(0, -1), square_at(0, 1));
  const int falling = larger(square_at(-1, -1), square_at(1, 1));
  const int rising = larger(square_at(-1, 1), square_at(1, -1));
  const int diagonal = (x ^ y) >= 0 ? falling : rising;
  const int steep = 5 * across < 2 * down ? above : diagonal;
  const int longest = 5 * down < 2 * across ? beside : steep;
  const int square = x * x + y * y;
  return (square >= longest) & (square >= rule.least);
}

/// Whether a pixel or one of its four neighbours is a ridge. `ridge_at(dx, dy)` tells of each, or
/// of several pixels in an integer.
template <class RidgeAt>
XCORR_HD auto is_near_ridge(RidgeAt ridge_at) {
  return ridge_at(0, 0) | ridge_at(-1, 0) | ridge_at(1, 0) | ridge_at(0, -1) | ridge_at(0, 1);
}

/// What the planes hold at a pixel: 127 times the vector, and no_edge.
struct Edge {
  std::uint8_t x, y;
};

XCORR_HD inline std::uint8_t edge_byte(float part, float whole) {
  return static_cast<std::uint8_t>(no_edge + static_cast<int>(rintf(127.0f * (part / whole))));
}

XCORR_HD inline Edge edge_of(int x, int y, bool near_ridge, const EdgeRule& rule) {
  const int squares = x * x + y * y;
  const int sign = rule.inverted ? -1 : 1;
  const auto across = static_cast<float>(sign * (rule.doubled ? x * x - y * y : x));
  const auto down = static_cast<float>(sign * (rule.doubled ? 2 * x * y : y));
  const auto whole = static_cast<float>(squares);
  const bool is_edge = near_ridge & (squares >= rule.least);
#ifdef __CUDA_ARCH__
  // Of an approximate reciprocal products are off by less than `unsure`: but near the middle of two
  // integers they are rounded to the same one.
  constexpr float unsure = 2e-4f;
  const float root = rsqrtf(whole), factor = 127 * (rule.doubled ? root * root : root);
  const float x_part = across * factor, y_part = down * factor;
  const float x_whole = rintf(x_part), y_whole = rintf(y_part);
  if (!is_edge) return {no_edge, no_edge};
  if (fmaxf(fabsf(x_part - x_whole), fabsf(y_part - y_whole)) < 0.5f - unsure)
    return {static_cast<std::uint8_t>(no_edge + static_cast<int>(x_whole)),
            static_cast<std::uint8_t>(no_edge + static_cast<int>(y_whole))};
#endif
  const float length = rule.doubled ? whole : sqrtf(whole);
  return {is_edge ? edge_byte(across, length) : std::uint8_t{no_edge},
          is_edge ? edge_byte(down, length) : std::uint8_t{no_edge}};
}

namespace stage {

struct Edges {
  static constexpr const char* name = "edges";

  struct Problem {
    Size size;               ///< of the image; past it the pixels of its rim go on
    Rect region;             ///< of it, whose edges are made
    std::int64_t pitch = 0;  ///< bytes from row to row of the image
    int planes = 1;          ///< of the image
    std::int64_t plane = 0;  ///< bytes from one to the next
    std::int64_t edge_pitch = 0, edge_plane = 0;  ///< from row to row, from plane to plane
    EdgeRule rule = {};
    bool masked = false;

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::mask, masked).with(Feature::planes, planes > 1);
    }
  };

  struct Buffers : Launch {
    const std::uint8_t* image = nullptr;
    const std::uint8_t* mask = nullptr;  ///< of the region, dense: no edge where it is 0
    std::uint8_t* edges = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    const Size region = p.region.size();
    visit("edge_image", &Buffers::image,
          matrices(ElementType::u8, p.size, p.pitch, p.plane, p.planes));
    visit("edge_mask", &Buffers::mask, elements(ElementType::u8, p.masked ? region.area() : 0));
    visit("edges", &Buffers::edges,
          matrices(ElementType::u8, region, p.edge_pitch, p.edge_plane, edge_planes));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
