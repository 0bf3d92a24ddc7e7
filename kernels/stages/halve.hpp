// SPDX-License-Identifier: LGPL-2.1-or-later
//
// The stage halve: a picture -> the next level of its pyramid, by means of 2 x 2 pixels. Pixel i of
// a level covers pixels 2i and 2i + 1 of the one below, so its centre lies at 2i + 0.5 there.
#pragma once

#include "stages/host_device.hpp"
#include "stages/stage.hpp"

namespace xcorr {

/// The mean of four pixels, rounded to the nearest.
XCORR_HD inline std::uint8_t mean_of_four(int a, int b, int c, int d) {
  return static_cast<std::uint8_t>((a + b + c + d + 2) >> 2);
}

/// Of the next level: an odd last row or column is left out.
constexpr Size half_of(Size size) { return {size.width / 2, size.height / 2}; }

namespace stage {

struct Halve {
  static constexpr const char* name = "halve";

  struct Problem {
    Size half;                    ///< the result's
    std::int64_t pitch = 0;       ///< bytes from row to row of the picture
    std::int64_t half_pitch = 0;  ///< of the result

    constexpr Features features() const { return Feature::u8; }
  };

  struct Buffers : Launch {
    const std::uint8_t* pixels = nullptr;
    std::uint8_t* halved = nullptr;
  };

  template <class Visit>
  static void arguments(const Problem& p, Visit visit) {
    visit("pixels", &Buffers::pixels,
          matrices(ElementType::u8, {2 * p.half.width, 2 * p.half.height}, p.pitch, 0, 1));
    visit("halved", &Buffers::halved, matrices(ElementType::u8, p.half, p.half_pitch, 0, 1));
  }

  using Extra = NoExtra;
};

}  // namespace stage
}  // namespace xcorr
