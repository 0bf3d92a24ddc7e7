// SPDX-License-Identifier: LGPL-2.1-or-later
//
// Shared by the tests of masks: a round part among other things, and its masks.
#pragma once

#include "live_templates.hpp"

/// Of alpha or of a mask's file: `inside` in the largest ellipse that leaves `inset` pixels.
inline Gray disc_of(int width, int height, int inset = 0, std::uint8_t inside = 255,
                    std::uint8_t outside = 0) {
  Gray mask(width, height, outside);
  const double across = width / 2.0 - inset, down = height / 2.0 - inset;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double u = (x + 0.5 - width / 2.0) / across, v = (y + 0.5 - height / 2.0) / down;
      if (u * u + v * v <= 1) mask.at(x, y) = inside;
    }
  return mask;
}

/// Pixels of the image where the mask is not 0.
inline void paste(Gray& onto, const Gray& image, const Gray& mask, int x, int y) {
  for (int j = 0; j < image.height; ++j)
    for (int i = 0; i < image.width; ++i)
      if (mask.at(i, j)) onto.at(x + i, y + j) = image.at(i, j);
}

/// A round part on clutter. The template has been cut where the clutter was another. Elsewhere in
/// the frame are the template's corners round another part.
struct RoundPart {
  static constexpr int size = 24, x = 151, y = 83, decoy_x = 30, decoy_y = 120;

  Gray part = texture(size, size, 50), disc = disc_of(size, size);
  Gray cut = cut_with(51);  ///< the template

  Gray cut_with(unsigned clutter) const {
    Gray image = texture(size, size, clutter);
    paste(image, part, disc, 0, 0);
    return image;
  }
  Gray frame(Place place = {x, y}, unsigned clutter = 1) const {
    Gray image = texture(frame_width, frame_height, clutter);
    Gray decoy = cut;
    paste(decoy, texture(size, size, 52), disc_of(size, size, 7), 0, 0);
    paste(image, decoy, decoy_x, decoy_y);
    paste(image, part, disc, place.x, place.y);
    return image;
  }
};

inline void assert_found_at(const Peak& peak, int x, int y) {
  assert_at(peak, x, y);
  fail_unless(peak.score == 1.0, "score %.17g", peak.score);
}
