// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage edges: an image of bytes -> two planes, the unit vector of its gradient where that has
// contrast, by one formula for the CPU and the GPU. The gradient is that of the image smoothed by
// binomials, (1 6 15 20 15 6 1) / 64 along the edge and (1 4 6 4 1) / 16 across it, which is a
// Sobel operator of 7 x 7: all of it integers but for the last quotient, whose operations IEEE
// arithmetic rounds alike everywhere.
#pragma once

#include <cmath>
#include <cstdint>

#include "stages/common/host_device.hpp"
#include "stages/common/stage.hpp"
#include "stages/match/score.hpp"

namespace xcorr {

/// How far from a pixel its gradient reaches.
inline constexpr int edge_radius = 3;
/// A gradient of one gray level a pixel.
inline constexpr int edge_unit = 128;

/// Which gradients are edges, and how they are written.
struct EdgeRule {
  std::int32_t least = 1;  ///< square of the shortest gradient that counts, in edge_unit; positive
  /// With twice their angle: the same whichever side is brighter.
  bool doubled = false;
  bool inverted = false;  ///< as of an image of the opposite contrast
};

/// Seven pixels in a row: smoothed, and their slope.
template <class At>
XCORR_HD int edge_smooth(At at) {
  return 20 * at(3) + 15 * (at(2) + at(4)) + 6 * (at(1) + at(5)) + at(0) + at(6);
}
template <class At>
XCORR_HD int edge_slope(At at) {
  return 5 * (at(4) - at(2)) + 4 * (at(5) - at(1)) + at(6) - at(0);
}
/// In edge_unit, at most 10,200; halves are rounded away from 0, so that signs do not matter.
XCORR_HD inline int edge_gradient(int sum) { return (sum + (sum >> 31) + 8) >> 4; }

/// What the planes hold at a pixel: 127 times the vector, and no_edge.
struct Edge {
  std::uint8_t x, y;
};

XCORR_HD inline std::uint8_t edge_byte(float part, float whole) {
  return static_cast<std::uint8_t>(no_edge + static_cast<int>(rintf(127.0f * (part / whole))));
}

XCORR_HD inline Edge edge_of(int x, int y, const EdgeRule& rule) {
  const int squares = x * x + y * y;
  const int sign = rule.inverted ? -1 : 1;
  const auto across = static_cast<float>(sign * (rule.doubled ? x * x - y * y : x));
  const auto down = static_cast<float>(sign * (rule.doubled ? 2 * x * y : y));
  const auto whole = static_cast<float>(squares);
  const float length = rule.doubled ? whole : sqrtf(whole);
  const bool is_edge = squares >= rule.least;
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
    std::int64_t edge_pitch = 0, edge_plane = 0;  ///< from row to row, from plane to plane
    EdgeRule rule = {};
    bool masked = false;

    constexpr Features features() const {
      return Features(Feature::u8).with(Feature::mask, masked);
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
    visit("edge_image", &Buffers::image, matrices(ElementType::u8, p.size, p.pitch, 0, 1));
    visit("edge_mask", &Buffers::mask, elements(ElementType::u8, p.masked ? region.area() : 0));
    visit("edges", &Buffers::edges,
          matrices(ElementType::u8, region, p.edge_pitch, p.edge_plane, edge_planes));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
