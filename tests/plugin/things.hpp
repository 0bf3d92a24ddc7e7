// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Things of one size in a frame, each with a texture and a label of its own: what detectors see in
// tests.
#pragma once

#include <cmath>
#include <initializer_list>

#include "support.hpp"

inline constexpr int frame_width = 320, frame_height = 200, width = 28, height = 36;

struct Thing {
  int x, y;
  unsigned look;  ///< the number of its texture
  const char* label = "car";
};

inline Gray frame_of(std::initializer_list<Thing> things) {
  Gray image = texture(frame_width, frame_height, 1);
  for (const Thing& thing : things)
    paste(image, texture(width, height, thing.look), thing.x, thing.y);
  return image;
}

inline const Peak& at(const Found& found, double x, double y) {
  for (const Peak& peak : found.peaks)
    if (!peak.lost && std::hypot(peak.x - x, peak.y - y) < 6) return peak;
  fail("nothing is at %f,%f", x, y);
  return found.peaks.front();
}
