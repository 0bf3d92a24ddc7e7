// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Pictures full of edges.
#pragma once

#include <algorithm>
#include <random>

#include "support.hpp"

namespace api {

/// Blocks and discs of random brightness: outlines at all angles.
inline Image<std::uint8_t> cluttered(Size size, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int count) { return static_cast<int>(random() % count); };
  Image<std::uint8_t> image(size, 128);
  for (int i = 0; i < size.area() / 60; ++i) {
    const int x = below(size.width), y = below(size.height), radius = 2 + below(7);
    const int value = 20 + below(216);
    const bool round = below(2);
    for (int v = std::max(0, y - radius); v < std::min(size.height, y + radius); ++v)
      for (int u = std::max(0, x - radius); u < std::min(size.width, x + radius); ++u)
        if (!round || (u - x) * (u - x) + (v - y) * (v - y) < radius * radius)
          image.at(u, v) = static_cast<std::uint8_t>(value);
  }
  return image;
}

}  // namespace api
