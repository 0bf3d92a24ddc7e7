// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Draws a frame: a background, upright or turned textures over it, and what a camera does to them.
#pragma once

#include <vector>

#include "synthetic.hpp"

namespace bench {

Grey texture(Look look, int width, int height, std::uint32_t seed);
/// A texture that resembles another: `part` of it, the rest is of its own.
Grey alike(const Grey& other, double part, Look look, std::uint32_t seed);

struct Sprite {
  const Grey* texture;
  double x, y;      ///< its centre, pixels from the frame's upper left corner
  double turn = 0;  ///< radians
  double scale = 1;
  bool round = false;  ///< only the ellipse in it is there
};

struct Scene {
  int width, height;
  const Grey* background;
  int pan_x = 0, pan_y = 0;  ///< the point of the background at the upper left corner
  std::vector<Sprite> behind{};
  std::vector<Sprite> targets{};
  std::vector<Sprite> others{};  ///< they hide the targets
  double blur = 0;               ///< sigma, pixels
  double gain = 1, offset = 0;   ///< of light
};

/// `number`: of the frame; each has noise of its own.
MadeFrame draw(const Scene& scene, int number);

}  // namespace bench
